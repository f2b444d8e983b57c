package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedpvi/internal/audit"
)

const rsyslogConfig = `
module(load="imuxsock" SysSock.Use="off")
module(load="imudp")
module(load="imtcp")
input(type="imuxsock" Socket="%[1]s/log" UseSpecialParser="off")
input(type="imudp" address="127.0.0.1" port="%[2]d")
input(type="imtcp" address="127.0.0.1" port="%[2]d")
template(name="whole" type="list") { property(name="jsonmesg") constant(value="\n") }
action(type="omfile" file="%[1]s/messages" template="whole")
`

func TestRsyslogReadsTheAuditLog(t *testing.T) {
	program := "/usr/sbin/rsyslogd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("there is no rsyslogd on this machine: apt-get install rsyslog")
	}
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	check(t, free.Close())
	config := filepath.Join(dir, "rsyslog.conf")
	check(t, os.WriteFile(config, fmt.Appendf(nil, rsyslogConfig, dir, port), 0o600))
	cmd := exec.Command(program, "-n", "-f", config, "-i", filepath.Join(dir, "pid"))
	var said strings.Builder
	cmd.Stderr = &said
	check(t, cmd.Start())
	stopped := make(chan error, 1)
	go func() { stopped <- cmd.Wait() }()
	t.Cleanup(func() {
		check(t, cmd.Process.Signal(syscall.SIGTERM))
		<-stopped
	})
	eventually(t, &said, func() bool {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			c.Close()
		}
		_, missing := os.Stat(filepath.Join(dir, "log"))
		return err == nil && missing == nil
	})
	for n, destination := range []string{"syslog://" + dir + "/log", fmt.Sprint("syslog+udp://127.0.0.1:", port), fmt.Sprint("syslog+tcp://127.0.0.1:", port)} {
		l, err := audit.Open([]string{destination}, audit.Options{Program: "fedpvi-test", Wrote: func(err error) { check(t, err) }})
		check(t, err)
		l.Write(audit.Denial, slog.LevelWarn, slog.String("peer", "north"), slog.String("why", "a\nb"))
		check(t, l.Close())
		var all []string
		eventually(t, &said, func() bool {
			text, err := os.ReadFile(filepath.Join(dir, "messages"))
			all = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			return err == nil && strings.HasSuffix(string(text), "\n") && len(all) == n+1 || err != nil && !errors.Is(err, fs.ErrNotExist)
		})
		var got map[string]any
		check(t, json.Unmarshal([]byte(all[n]), &got))
		for key, want := range map[string]string{"pri": "84", "app-name": "fedpvi-test", "programname": "fedpvi-test", "msgid": "denial", "protocol-version": "1", "procid": fmt.Sprint(os.Getpid())} {
			if got[key] != want {
				t.Errorf("%s: %s is %v, want %s", destination, key, got[key], want)
			}
		}
		var object map[string]any
		check(t, json.Unmarshal([]byte(strings.TrimSpace(got["msg"].(string))), &object))
		if object["event"] != "denial" || object["peer"] != "north" || object["why"] != "a\nb" {
			t.Errorf("%s: the message is %v", destination, object)
		}
	}
}

// eventually waits until done returns true. It fails the test after 20 seconds.
func eventually(t *testing.T, said fmt.Stringer, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); ; {
		select {
		case <-tick.C:
			if done() {
				return
			}
		case <-end:
			t.Fatalf("not in time; rsyslogd says %s", said)
		}
	}
}
