package socket

import (
	"net"
	"syscall"
)

// credentials asks the kernel who connected.
func credentials(conn *net.UnixConn) (Caller, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Caller{}, err
	}
	var (
		cred   *syscall.Ucred
		credEr error
	)
	err = raw.Control(func(fd uintptr) {
		cred, credEr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return Caller{}, err
	}
	if credEr != nil {
		return Caller{}, credEr
	}
	return Caller{UID: int(cred.Uid), PID: int(cred.Pid)}, nil
}
