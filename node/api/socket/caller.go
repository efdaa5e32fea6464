package socket

import (
	"context"
	"fmt"
	"net"
	"os"

	"agentlink/node"
)

// Caller is the process at the other end of the socket, as the kernel tells it.
type Caller struct {
	UID, PID int
	known    bool
}

// String is the form that stands in the audit log.
func (c Caller) String() string { return fmt.Sprintf("uid=%d pid=%d", c.UID, c.PID) }

type callerKey struct{}

func withCaller(ctx context.Context, conn net.Conn) context.Context {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	caller, err := credentials(unixConn)
	if err != nil {
		return ctx
	}
	caller.known = true
	return context.WithValue(ctx, callerKey{}, caller)
}

// callerOf gives the zero Caller, which is refused, where the kernel told nothing.
func callerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// admit lets the node's own user and root in.
func (s *Server) admit(ctx context.Context) error {
	caller := callerOf(ctx)
	if !caller.known || (caller.UID != s.UID && caller.UID != 0) {
		return node.Errorf(node.Unauthorized, "Only the user that runs the node may use its socket.")
	}
	return nil
}

// Listen opens the socket, readable by its user alone. The caller holds the
// lock of the data folder, so that a socket which lies there is a dead one's.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("the path of the owner's socket is longer than %d characters: %s", maxPath, path)
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fmt.Errorf("close the owner's socket to others: %w", err)
	}
	return listener, nil
}

// maxPath is what the shortest sockaddr_un of the supported systems holds.
const maxPath = 103
