//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// What a person types for a password is not shown on their terminal.
func TestPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	n.CreateAgent("scout", policy.Assisted)
	person := atTerminal(t, "agentlink", "agent", "mode", "scout", "manual", "--data", n.DataDir())
	person.waitFor("Owner's password: ")
	person.types(nodetest.Password + "\n")
	if code := person.end(); code != exitOK {
		t.Errorf("exit code %d: %s", code, person.seen())
	}
	if strings.Contains(person.seen(), nodetest.Password) {
		t.Errorf("the password was shown: %q", person.seen())
	}
	if agents := nodetest.Owner[[]socket.Agent](n, socket.AgentList, nil); agents[0].Mode != policy.Manual {
		t.Errorf("mode %s, want manual", agents[0].Mode)
	}
}

// terminal is a program with a person in front of it.
type terminal struct {
	t       *testing.T
	command *exec.Cmd
	master  *os.File

	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{}
}

// atTerminal starts a program whose standard streams and controlling terminal are
// a new pseudo-terminal.
func atTerminal(t *testing.T, name string, arguments ...string) *terminal {
	t.Helper()
	master, slave := openTerminal(t)
	defer slave.Close()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Stdin, command.Stdout, command.Stderr = slave, slave, slave
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &terminal{t: t, command: command, master: master, done: make(chan struct{})}
	go p.read()
	return p
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// read collects what is shown until the program has gone.
func (p *terminal) read() {
	defer close(p.done)
	chunk := make([]byte, 1024)
	for {
		size, err := p.master.Read(chunk)
		p.mu.Lock()
		p.text.Write(chunk[:size])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *terminal) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// waitFor waits until the program has shown a text, and a moment longer for it to
// stop echoing what is typed.
func (p *terminal) waitFor(text string) {
	p.t.Helper()
	nodetest.Eventually(p.t, "the terminal shows "+text, func() bool { return strings.Contains(p.seen(), text) })
	time.Sleep(200 * time.Millisecond)
}

func (p *terminal) types(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// end waits for the program and gives its exit code.
func (p *terminal) end() int {
	p.t.Helper()
	_ = p.command.Wait() // the exit code says it
	<-p.done
	return p.command.ProcessState.ExitCode()
}
