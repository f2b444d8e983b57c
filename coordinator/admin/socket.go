package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

const socketName = "admin.sock"

// maxPath is the longest unix socket path, in bytes, that works on every system.
const maxPath = 100

// ErrNoServer is returned if no coordinator serves from the state directory.
var ErrNoServer = errors.New("no coordinator serves from this state directory")

// socketPath returns a path to the socket in dir that is short enough for the system. The caller
// must call done afterwards.
func socketPath(dir string) (path string, done func() error, err error) {
	path = filepath.Join(dir, socketName)
	if len(path) <= maxPath {
		return path, func() error { return nil }, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketName), d.Close, nil
}

// Listen creates the socket in a state directory that the caller has locked. It replaces a socket
// that an earlier process left behind. Only the owner can use the socket.
func Listen(dir string) (net.Listener, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done() //nolint:errcheck // only read
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// The path may lead through a file descriptor that is closed before the listener (see
	// socketPath). The listener could then not find the socket to remove it.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return guarded{l}, nil
}

// guarded is a listener that only accepts connections from the same user and from root.
type guarded struct{ net.Listener }

// Accept returns the next connection from a permitted user. It closes all others.
func (g guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g, err := peerOf(c.(*net.UnixConn)); err == nil && (g.uid == os.Getuid() || g.uid == 0) {
			return given{c, g}, nil
		}
		c.Close()
	}
}

// given is a connection that knows the process at the other end.
type given struct {
	net.Conn
	giver giver
}

// withGiver adds the process at the other end of a connection to the contexts of its orders.
func withGiver(ctx context.Context, c net.Conn) context.Context {
	if g, ok := c.(given); ok {
		ctx = context.WithValue(ctx, giverKey{}, g.giver)
	}
	return ctx
}

// dial connects to the coordinator that is running on the state directory. If no coordinator is
// running, the error wraps [ErrNoServer].
func dial(ctx context.Context, dir string) (net.Conn, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done() //nolint:errcheck // only read
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoServer, err)
	}
	return c, err
}
