package daemon

import (
	"net"
	"os"
)

// notify tells the service manager how things stand, if one asked to be told
// (sd_notify(3) of systemd): "READY=1" or "STOPPING=1".
func notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if path[0] == '@' {
		path = "\x00" + path[1:] // in the abstract namespace
	}
	c, err := net.Dial("unixgram", path)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
