package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/node/owner"
	"agentlink/node/seal"
	"agentlink/node/store"
)

// root is the repository's folder.
const root = "../.."

// now is the machine's time.
func now() time.Time { return time.Now() }

// programName names a program to measure in place of one that is built here.
const programName = "AGENTLINK_BENCH_PROGRAM"

var (
	buildOnce sync.Once
	buildErr  error
	built     string
)

// program builds the program once: as it is given to people where figures are
// taken, else as the tests' own packages are built, which are at hand.
func program(t testing.TB) string {
	t.Helper()
	buildOnce.Do(func() {
		if built = os.Getenv(programName); built != "" {
			return
		}
		folder, err := os.MkdirTemp("", "alb")
		if err != nil {
			buildErr = err
			return
		}
		built = filepath.Join(folder, "agentlink")
		command := exec.Command("go", "build", "-o", built, "./node/cmd/agentlink")
		if *full {
			command = exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", built, "./node/cmd/agentlink")
			command.Env = append(os.Environ(), "CGO_ENABLED=0")
		}
		command.Dir, command.Stderr = root, os.Stderr
		buildErr = command.Run()
	})
	if buildErr != nil {
		t.Fatalf("build the program: %v", buildErr)
	}
	return built
}

// forgetProgram removes what program has built.
func forgetProgram() {
	if built != "" && os.Getenv(programName) == "" {
		_ = os.RemoveAll(filepath.Dir(built))
	}
}

// process is a node in a process of its own.
type process struct {
	t        *testing.T
	settings config.Config
	given    map[string]string
	command  *exec.Cmd
	exited   chan struct{}
	log      *os.File
	owner    *socket.Client
	info     socket.Info
	started  time.Duration // how long the last start took
}

// newProcess makes a node that does not run yet. Its folder has a short path, as
// a socket's must.
func newProcess(t *testing.T, databaseURL string) *process {
	t.Helper()
	folder, err := os.MkdirTemp("", "alb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	p := &process{t: t, given: map[string]string{
		config.DataDirName: filepath.Join(folder, "data"), config.ListenName: "localhost:" + freePort(t), config.DatabaseURLName: databaseURL,
	}}
	if p.settings, err = config.Load(func(name string) string { return p.given[name] }); err != nil {
		t.Fatal(err)
	}
	if p.log, err = os.Create(filepath.Join(folder, "log")); err != nil {
		t.Fatal(err)
	}
	init := p.prepare(context.Background(), "init", "--name", "Ada", "--password-file", "-")
	init.Stdin = strings.NewReader(nodetest.Password + "\n")
	if output, err := init.CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, output)
	}
	p.owner = socket.Dial(p.settings.SocketPath())
	return p
}

// prepare is the program with the node's settings and nothing of the tests' own.
func (p *process) prepare(ctx context.Context, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program(p.t), arguments...)
	for _, given := range os.Environ() {
		if !strings.HasPrefix(given, "AGENTLINK_") {
			command.Env = append(command.Env, given)
		}
	}
	for name, value := range p.given {
		if value != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	return command
}

// freePort is a port that nobody listens on, for a node that keeps its address
// over restarts.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// start returns when the node says that it is ready. It stops with the test.
func (p *process) start() {
	p.t.Helper()
	p.command = p.prepare(context.Background(), "serve", "--json")
	p.command.Stderr = p.log
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	begun := now()
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.stop)
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	p.started = now().Sub(begun)
	if err == nil {
		err = json.Unmarshal(line, &p.info)
	}
	if err != nil {
		log, _ := os.ReadFile(p.log.Name())
		p.t.Fatalf("the node did not start: %q %v\n%s", line, err, log)
	}
	p.exited = make(chan struct{})
	go func(command *exec.Cmd, exited chan struct{}) {
		_ = command.Wait() // how it ends is tested elsewhere
		close(exited)
	}(p.command, p.exited)
}

// stop ends the node in order. Stopping it twice is fine.
func (p *process) stop() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Signal(os.Interrupt)
	if p.exited != nil {
		<-p.exited
	}
	p.command, p.exited = nil, nil
}

// status is a number of the process's status in bytes: VmRSS, VmHWM.
func (p *process) status(name string) float64 {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "status"))
	if err != nil {
		p.t.Skipf("this system does not tell a process's memory: %v", err)
	}
	_, rest, found := strings.Cut(string(content), name+":")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		p.t.Fatalf("the system does not tell %s", name)
	}
	kibibytes, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return kibibytes * 1024
}

// work is the processor's time that the process has taken.
func (p *process) work() time.Duration {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "stat"))
	if err != nil {
		p.t.Skipf("this system does not tell a process's time: %v", err)
	}
	fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
	var ticks time.Duration
	for _, field := range fields[11:13] { // utime and stime of proc(5), 100 a second
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// disk is how many bytes the node's folder has, without what SQLite has yet to move
// into its file.
func (p *process) disk() (bytes float64) {
	p.t.Helper()
	err := filepath.WalkDir(p.settings.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, "-wal") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += float64(info.Size())
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return bytes
}

// call calls a command of the owner's with the password.
func call[Resp any](p *process, command string, request any) Resp {
	p.t.Helper()
	var response Resp
	if err := p.owner.Call(context.Background(), command, nodetest.Password, request, &response); err != nil {
		p.t.Fatalf("%s: %v", command, err)
	}
	return response
}

// inside is the store of a node that does not run, with what writes to it.
type inside struct {
	store *store.Store
	log   *audit.Log
	owner node.Actor
}

// within opens the node's database while it does not run.
func (p *process) within(use func(in inside)) {
	p.t.Helper()
	master, err := seal.LoadMaster(p.settings.MasterKeyFile, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := store.Open(context.Background(), store.Config{URL: p.settings.Database.Reveal(), Box: seal.NewBox(master.Key(seal.UseRows))})
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	in := inside{store: s, log: audit.New(s, master.Key(seal.UseAudit))}
	err = s.View(context.Background(), func(tx node.Tx) error {
		person, err := owner.New(s, s, in.log, node.RandomIDs{}).Owner(tx)
		in.owner = node.Actor{Kind: node.ActorOwner, OwnerID: person.ID}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	use(in)
}

// write is one transaction.
func (in inside) write(t *testing.T, f func(tx node.Tx) error) {
	t.Helper()
	if err := in.store.InTx(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}
