package admin

import (
	"net"

	"golang.org/x/sys/unix"
)

// userOf returns the user ID of the process at the other end of the connection.
func userOf(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return int(cred.Uid), nil
}
