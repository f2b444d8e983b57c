package daemon

import (
	"net"
	"os"
)

// notify sends the daemon's state, "READY=1" or "STOPPING=1", to the service manager at the socket
// NOTIFY_SOCKET, if this is set. See sd_notify(3) of systemd.
func notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if path[0] == '@' {
		path = "\x00" + path[1:] // a leading @ means a socket in the abstract namespace of Linux
	}
	c, err := net.Dial("unixgram", path)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
