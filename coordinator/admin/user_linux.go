package admin

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf returns the process at the other end of the connection.
func peerOf(c *net.UnixConn) (giver, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return giver{}, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return giver{}, err
	}
	if failed != nil {
		return giver{}, failed
	}
	return giver{int(cred.Uid), int(cred.Pid)}, nil
}
