package daemon

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fedpvi/coordinator/admin"
	"fedpvi/crypto/channel"
	"fedpvi/internal/audit"
	"fedpvi/internal/testing/auditlog"
	"fedpvi/transport"
)

func textOf(lines *auditlog.Lines) (all []string) {
	for _, l := range lines.All() {
		text := l.Event
		for _, a := range l.Attrs {
			text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		}
		all = append(all, text)
	}
	return all
}

// find returns the index of the first line with the event that contains every string in parts, or
// −1.
func find(lines []string, event string, parts ...string) int {
	return slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, event+" ") && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	})
}

// The audit log of a daemon must show the configuration, each order and its user, the handshake and
// its address, the refusal of a wrong token, and the end. It must not show any token.
func TestAuditLogOfADaemon(t *testing.T) {
	lines := &auditlog.Lines{}
	r := start(t, Config{AuditTo: []audit.Sink{lines}})
	guest, invited := r.guest(t)
	if _, err := guest.Join(t.Context(), transport.JoinRequest{Token: []byte("t"), Entry: []byte("e"), Request: []byte("r")}); err == nil {
		t.Error("a guest joined with nothing")
	}
	check(t, guest.Close())
	orders, err := admin.Dial(t.Context(), r.dir)
	check(t, err)
	check(t, orders.Abort(t.Context(), "", "a drill"))
	if err := orders.Abort(t.Context(), "", "again"); err == nil {
		t.Error("a study was aborted twice")
	}
	check(t, r.stop())
	all := textOf(lines)
	own := fmt.Sprintf("uid=%d pid=%d", os.Getuid(), os.Getpid())
	for _, want := range [][]string{
		{audit.Configuration, "listen=" + r.clients, "metrics=127.0.0.1:0", "version=", "coordinator="},
		{audit.Order, own, "order=init", "clients=secretive-clinic"},
		{audit.Study, "study=plane", "state=added"},
		{audit.Handshake, "address=127.0.0.1:", "peer=guest", "study=plane", "outcome=ok"},
		{audit.Denial, "address=127.0.0.1:", "peer=guest", "method=Join", "reason=malformed"},
		{audit.Order, own, "order=abort", "reason=a drill"},
		{audit.Study, "state=aborted", "by=coordinator"},
		{audit.OrderFailed, own, "order=abort", "reason=again", "error=study plane is over already"},
	} {
		if find(all, want[0], want[1:]...) < 0 {
			t.Errorf("no line has %v", want)
		}
	}
	if find(all, audit.Order, "order=abort") > find(all, audit.Study, "state=aborted") {
		t.Error("an order was written after it was carried out")
	}
	if text := strings.Join(all, "\n"); strings.Contains(text, invited) || all[len(all)-1] != audit.Stop {
		t.Errorf("the log is\n%s", text)
	}
}

// The daemon must accept a PROXY protocol header, version 1 or 2, only from a load balancer. The
// audit log must show the right address each time.
func TestAddressBehindALoadBalancer(t *testing.T) {
	v2 := "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + "\xc0\x00\x02\x07" + "\x7f\x00\x00\x01" + "\x10\x00" + "\x1d\x13" // 192.0.2.7:4096
	for name, c := range map[string]struct {
		from, header, address string
		ok                    bool
	}{
		"version 1":   {"127.0.0.0/8", "PROXY TCP4 192.0.2.8 127.0.0.1 4097 7443\r\n", "192.0.2.8:4097", true},
		"version 2":   {"127.0.0.0/8", v2, "192.0.2.7:4096", true},
		"no header":   {"127.0.0.0/8", "", "127.0.0.1:", false},
		"an impostor": {"10.0.0.0/8", "PROXY TCP4 192.0.2.8 127.0.0.1 4097 7443\r\n", "127.0.0.1:", false},
	} {
		lines := &auditlog.Lines{}
		r := start(t, Config{
			AuditTo: []audit.Sink{lines}, RoundDeadline: 2 * time.Second,
			Balancers: []netip.Prefix{netip.MustParsePrefix(c.from)},
		})
		i, _ := r.found(t)
		config := channel.Join(i.Study, i.Pin, time.Now)
		config.NextProtos = []string{"h2"}
		raw, err := net.Dial("tcp", r.clients)
		check(t, err)
		_, err = raw.Write([]byte(c.header))
		check(t, err)
		err = tls.Client(raw, config).HandshakeContext(t.Context())
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		raw.Close()
		check(t, r.stop())
		all := textOf(lines)
		if ok := find(all, audit.Handshake, "address="+c.address, "outcome=ok") >= 0; ok != c.ok || find(all, audit.Handshake, "address="+c.address) < 0 {
			t.Errorf("%s: %q", name, all)
		}
	}
}
