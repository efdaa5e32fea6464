package socket

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentlink/node"
)

// shortFolder has a path that leaves room for a socket's name.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "alk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func TestListenIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), "owner.sock")
	if err := os.WriteFile(path, nil, 0o644); err != nil { // what a killed node left
		t.Fatal(err)
	}
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("the socket has mode %v", info.Mode())
	}
}

func TestListenRefusesLongPaths(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), strings.Repeat("x", maxPath))
	if listener, err := Listen(path); err == nil {
		listener.Close()
		t.Errorf("listened at a path of %d characters", len(path))
	}
}

func TestCallerIsWhoTheKernelSays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), "owner.sock")
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	got := callerOf(withCaller(t.Context(), accepted))
	if want := (Caller{UID: os.Getuid(), PID: os.Getpid(), known: true}); got != want {
		t.Errorf("caller %+v, want %+v", got, want)
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	s := &Server{Config: Config{UID: 1000}}
	for _, c := range []struct {
		name   string
		caller any
		in     bool
	}{
		{"the node's user", Caller{UID: 1000, PID: 7, known: true}, true},
		{"root", Caller{UID: 0, PID: 7, known: true}, true},
		{"another user", Caller{UID: 1001, PID: 7, known: true}, false},
		{"unknown, which reads as root's number", Caller{}, false},
		{"not asked", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := s.admit(context.WithValue(t.Context(), callerKey{}, c.caller))
			if c.in != (err == nil) {
				t.Errorf("admitted: %v (%v), want %v", err == nil, err, c.in)
			}
			if err != nil && node.CodeOf(err) != node.Unauthorized {
				t.Errorf("code %s, want %s", node.CodeOf(err), node.Unauthorized)
			}
		})
	}
}

func TestShortIDs(t *testing.T) {
	t.Parallel()
	ids := []string{
		"01981111-0000-7000-8000-aaaaaaaaaaaa", "01981111-0000-7000-8000-bbbbbbbbbbbb", "01992222-0000-7000-8000-aaaaaaaacccc",
	}
	walk := func(visit func(string)) error {
		for _, id := range append(ids, ids...) { // seen twice is still one
			visit(id)
		}
		return nil
	}
	for _, c := range []struct {
		name, text, want string
		code             node.Code
	}{
		{"end", "bbbbbbbb", ids[1], ""},
		{"end in capitals", "BBBBBBBB", ids[1], ""},
		{"beginning", "01992222", ids[2], ""},
		{"in full", ids[0], ids[0], ""},
		{"two begin alike", "01981111", "", node.BadRequest},
		{"too short", "bbbbbbb", "", node.BadRequest},
		{"nothing", "", "", node.BadRequest},
		{"none", "dddddddd", "", node.NotFound},
		{"the middle does not count", "0000-7000", "", node.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := short("thing", c.text, walk)
			if got != c.want || (err != nil && node.CodeOf(err) != c.code) || (err == nil) != (c.code == "") {
				t.Errorf("short(%q) = %q, %v; want %q, %q", c.text, got, err, c.want, c.code)
			}
		})
	}
}
