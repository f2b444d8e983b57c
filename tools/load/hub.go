package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
)

// A hub is a coordinator that runs in a separate process.
type hub struct {
	dir, address string
	metrics      string // address for the coordinator's metrics
	process      *exec.Cmd
	empty        usage // memory and CPU time before the first client joins
}

// found chooses an address for a coordinator and creates its studies, each with the given number of
// clients. It returns the invitations for each study. It does not start the coordinator.
func found(ctx context.Context, o options, documents [][]byte, clients int) (*hub, [][]coordinator.Invited, error) {
	h := &hub{dir: filepath.Join(o.dir, "hub")}
	for _, a := range []*string{&h.address, &h.metrics} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		defer l.Close()
		*a = l.Addr().String()
	}
	all, err := h.found(ctx, documents, clients)
	return h, all, err
}

// found creates the studies in the coordinator's state and returns the invitations for each study.
func (h *hub) found(ctx context.Context, documents [][]byte, clients int) ([][]coordinator.Invited, error) {
	state, err := coordinator.Open(h.dir, coordinator.Options{})
	if err != nil {
		return nil, err
	}
	defer state.Close()
	var names []identity.Name
	for m := range clients {
		names = append(names, identity.Name(fmt.Sprintf("x%dx", m)))
	}
	var all [][]coordinator.Invited
	for i, d := range documents {
		f, err := admin.Local{Hub: state}.Found(ctx, admin.Founding{
			File: fmt.Sprintf("load-%d.toml", i), Document: d, Addresses: []string{h.address}, Clients: names, Valid: 24 * time.Hour,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, f.Invited)
	}
	return all, nil
}

// bare measures a coordinator whose only study is tiny and has no clients, as a baseline.
func bare(ctx context.Context, o options) (u usage, err error) {
	o.dir = filepath.Join(o.dir, "bare")
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return u, err
	}
	h, _, err := found(ctx, o, [][]byte{document("bare", 1, 1, options{})}, 1)
	if err != nil {
		return u, err
	}
	if err := h.serve(ctx, o); err != nil {
		return u, err
	}
	u, err = h.usage()
	return u, errors.Join(err, h.stop())
}

// serve starts the coordinator's process, and waits until it accepts connections.
func (h *hub) serve(ctx context.Context, o options) error {
	log, err := os.Create(filepath.Join(o.dir, "hub.log"))
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy of the file
	h.process = exec.Command(o.program, "--state", h.dir, "serve", "--listen", h.address, "--metrics", h.metrics, "--round-deadline", "1h", "--log", "json")
	h.process.Stderr = log
	if err := h.process.Start(); err != nil {
		return fmt.Errorf("%w: make build makes the program", err)
	}
	for range 600 {
		if c, err := new(net.Dialer).DialContext(ctx, "tcp", h.address); err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("the coordinator does not serve: see its log")
}

func (h *hub) stop() error {
	if err := h.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return h.process.Wait()
}

// A usage is the memory and the CPU time that a process uses.
type usage struct {
	// memory in bytes: all resident memory, the part of it without mapped files, and the maximum of
	// resident so far
	resident, private, peak int64
	file                    int64         // size of the state file in bytes
	processor               time.Duration // CPU time since the start
}

// tick is the unit of CPU time in /proc on Linux.
const tick = 10 * time.Millisecond

func (h *hub) usage() (usage, error) {
	var u usage
	folder := filepath.Join("/proc", strconv.Itoa(h.process.Process.Pid))
	f, err := os.Open(filepath.Join(folder, "status"))
	if err != nil {
		return u, err
	}
	defer f.Close()
	want := map[string]*int64{"VmRSS:": &u.resident, "RssAnon:": &u.private, "VmHWM:": &u.peak}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && want[words[0]] != nil {
			n, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return u, err
			}
			*want[words[0]] = n << 10
		}
	}
	state, err := os.Stat(store.Path(h.dir))
	if err != nil {
		return u, err
	}
	u.file = state.Size()
	b, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	words := strings.Fields(rest)
	for _, at := range []int{11, 12} { // indices of the fields for user time and system time
		n, err := strconv.ParseInt(words[at], 10, 64)
		if err != nil {
			return u, err
		}
		u.processor += time.Duration(n) * tick
	}
	return u, nil
}

// live returns how many bytes of the process's heap were in use at the last garbage collection.
func (h *hub) live(ctx context.Context) (float64, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	a, err := http.DefaultClient.Do(ask)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	for lines := bufio.NewScanner(a.Body); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "go_gc_heap_live_bytes "); ok {
			return strconv.ParseFloat(n, 64)
		}
	}
	return 0, errors.New("the coordinator's metrics lack the heap in use")
}

// most samples the process's private memory in the background. stop ends the sampling and returns
// the largest sample in bytes.
func (h *hub) most() (stop func() int64) {
	done, said := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for {
			if u, err := h.usage(); err == nil {
				most = max(most, u.private)
			}
			select {
			case <-look.C:
			case <-done:
				said <- most
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-said
	}
}

// processors returns the CPU time that this process has used, including all its clients.
func processors() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// connections returns how many sockets the process has open, including listeners.
func (h *hub) connections() (n int, err error) {
	folder := filepath.Join("/proc", strconv.Itoa(h.process.Process.Pid), "fd")
	files, err := os.ReadDir(folder)
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(folder, f.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n, err
}
