package socket

import (
	"net"

	"golang.org/x/sys/unix"
)

// credentials asks the kernel who connected.
func credentials(conn *net.UnixConn) (Caller, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Caller{}, err
	}
	var (
		caller Caller
		credEr error
	)
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, credEr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); credEr != nil {
			return
		}
		caller.UID = int(cred.Uid)
		caller.PID, credEr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err != nil {
		return Caller{}, err
	}
	return caller, credEr
}
