package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentlink/node/api/socket"
)

// nodes are the processes that a script has started. Its commands:
//
//	serve NAME [FLAG…]       start agentlink serve on the folder NAME; wait until it is ready
//	kill9 NAME               end it as a power cut does
//	stop NAME                end it with SIGTERM; it has to end with exit code 0
//	setup NAME VARIABLE      put the link into a variable that a new node has printed
//	rest STATUS NAME METHOD PATH [BODY]
//	                         call the REST API as the agent of $NAME_id and $NAME_key; the
//	                         answer has to have the status, and is the script's stdout
//	until NAME PATH MEMBER VALUE
//	                         get PATH until the member of the answer has the value
//	says TEXT ARG…           run agentlink until its stdout has the text
//	exits CODE PROGRAM ARG…  run a program that has to end with the code; stdout and stderr are its
//	sentence                 stderr has to be one sentence of agentlink's
//	secret TEXT FILE         write a text to a file that only its user may read
//	get VARIABLE MEMBER      put a member of the last JSON output into a variable
//
// A member is a dotted path: error.details.reason, or items.0.id.
type nodes struct {
	mu      sync.Mutex
	running map[string]*process
	tokens  map[string]string
}

type process struct {
	command *exec.Cmd
	info    socket.Info
	stdout  *bufio.Reader
	log     *os.File
}

func newNodes() *nodes { return &nodes{running: map[string]*process{}, tokens: map[string]string{}} }

func (n *nodes) commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"serve": positive(n.serve), "kill9": positive(n.kill9), "stop": positive(n.stop), "setup": positive(n.setup),
		"rest": positive(n.rest), "until": positive(n.until), "get": positive(get),
		"secret": positive(secret), "says": positive(says),
		"exits": positive(exits), "sentence": positive(sentenceOnly),
	}
}

func says(ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: says TEXT ARG…")
	}
	for range 300 {
		if ts.Exec("agentlink", args[1:]...) == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("agentlink %s does not say %q", strings.Join(args[1:], " "), args[0])
}

// positive refuses a command that is negated with !, which would prove nothing.
func positive(f func(*testscript.TestScript, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, negated bool, args []string) {
		if negated {
			ts.Fatalf("this command cannot be negated")
		}
		f(ts, args)
	}
}

// serve starts a node. One that ran before comes back on its old address.
func (n *nodes) serve(ts *testscript.TestScript, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: serve NAME [FLAG…]")
	}
	name := args[0]
	address := "localhost:0"
	if before := n.running[name]; before != nil {
		address = strings.TrimPrefix(before.info.AgentsURL, "http://")
	}
	arguments := append([]string{"serve", "--json", "--data", ts.MkAbs(name), "--listen", address}, args[1:]...)
	p, err := start(ts, name, arguments)
	ts.Check(err)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running[name] = p
	ts.Setenv(name+"_url", p.info.AgentsURL)
	ts.Setenv(name+"_host", p.info.Host)
}

func start(ts *testscript.TestScript, name string, arguments []string) (*process, error) {
	log, err := os.OpenFile(ts.MkAbs(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	command := exec.Command("agentlink", arguments...)
	command.Dir, command.Stderr = ts.Getenv("WORK"), log
	command.Env = append(os.Environ(), "HOME="+ts.Getenv("WORK"), "TZ=UTC")
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{command: command, log: log, stdout: bufio.NewReader(stdout)}
	line, err := p.stdout.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.info)
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("%s did not become ready: %w\n%s", name, err, ts.ReadFile(name+".log"))
	}
	return p, nil
}

// kill ends the process at once; nothing of it gets to clean up.
func (p *process) kill() {
	_ = p.command.Process.Signal(syscall.SIGKILL)
	_ = p.command.Wait() // tells that it was killed
	_ = p.log.Close()
}

func (n *nodes) find(ts *testscript.TestScript, name string) *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.running[name]
	if p == nil {
		ts.Fatalf("no node %q was started", name)
	}
	return p
}

func (n *nodes) setup(ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: setup NAME VARIABLE")
	}
	line, err := n.find(ts, args[0]).stdout.ReadBytes('\n')
	ts.Check(err)
	var printed struct {
		SetUpURL string `json:"setUpUrl"`
	}
	ts.Check(json.Unmarshal(line, &printed))
	ts.Setenv(args[1], printed.SetUpURL)
}

func (n *nodes) kill9(ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: kill9 NAME")
	}
	n.find(ts, args[0]).kill()
}

func (n *nodes) stop(ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: stop NAME")
	}
	p := n.find(ts, args[0])
	ts.Check(p.command.Process.Signal(syscall.SIGTERM))
	ts.Check(p.command.Wait())
	ts.Check(p.log.Close())
}

func (n *nodes) killAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.running {
		if p.command.ProcessState == nil {
			p.kill()
		}
	}
}

func exits(ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s\n%s%s", code, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func sentenceOnly(ts *testscript.TestScript, args []string) {
	if text := ts.ReadFile("stderr"); !oneSentence.MatchString(text) {
		ts.Fatalf("this is not one sentence: %q", text)
	}
}

var oneSentence = regexp.MustCompile(`\Aagentlink: [A-Z][^\n]+\n\z`)

func secret(ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: secret TEXT FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(args[0]+"\n"), 0o600))
}
