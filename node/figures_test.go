package node_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The figures that the built program has to keep. `make bench` measures them;
// the policy's own are measured in policy/engine.
const (
	mostStart  = 500 * time.Millisecond
	mostMemory = 60 << 20
	mostBinary = 45_000_000
)

// BenchmarkBinarySize measures the program as `make build` makes it.
func BenchmarkBinarySize(b *testing.B) {
	info, err := os.Stat(buildProgram(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_ = info.Size()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	if info.Size() > mostBinary {
		b.Errorf("the program has %d bytes, more than %d", info.Size(), mostBinary)
	}
}

// BenchmarkStart measures from the start of the process to the line that says
// that the node is ready, on SQLite, with a node that is there already.
func BenchmarkStart(b *testing.B) {
	program, data := buildProgram(b), newNode(b)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		running := start(b, program, data)
		took = append(took, time.Since(begin))
		b.StopTimer()
		running.stop()
		b.StartTimer()
	}
	slices.Sort(took)
	median := took[len(took)/2]
	b.ReportMetric(float64(median.Milliseconds()), "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "longest-ms")
	if median > mostStart {
		b.Errorf("a start takes %v, more than %v", median, mostStart)
	}
}

// BenchmarkIdleMemory measures the resident memory of a node that has nothing
// to do, two seconds after its start.
func BenchmarkIdleMemory(b *testing.B) {
	program, data := buildProgram(b), newNode(b)
	running := start(b, program, data)
	defer running.stop()
	time.Sleep(2 * time.Second)
	resident := residentMemory(b, running.command.Process.Pid)
	for b.Loop() {
		_ = resident
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(resident)/(1<<20), "MiB")
	if resident > mostMemory {
		b.Errorf("an idle node takes %d bytes, more than %d", resident, mostMemory)
	}
}

// buildProgram builds the program as it is given to people.
func buildProgram(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "agentlink")
	command := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./node/cmd/agentlink")
	command.Dir = root(b)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, output)
	}
	return program
}

// newNode makes a node's data folder.
func newNode(b *testing.B) string {
	b.Helper()
	data := filepath.Join(b.TempDir(), "data")
	command := exec.CommandContext(b.Context(), buildProgram(b), "init", "--name", "Ada", "--password-file", "-")
	command.Env = environment(data)
	command.Stdin = strings.NewReader("correct horse battery staple\n")
	if output, err := command.CombinedOutput(); err != nil {
		b.Fatalf("init: %v\n%s", err, output)
	}
	return data
}

func environment(data string) []string {
	return append(os.Environ(), "AGENTLINK_DATA_DIR="+data, "AGENTLINK_LISTEN=localhost:0")
}

type runningNode struct {
	command *exec.Cmd
	stdout  io.Reader
	stderr  *bytes.Buffer
}

// start starts a node and returns when it says that it is ready.
func start(b *testing.B, program, data string) *runningNode {
	b.Helper()
	node := &runningNode{command: exec.CommandContext(b.Context(), program, "serve"), stderr: &bytes.Buffer{}}
	node.command.Env = environment(data)
	node.command.Stderr = node.stderr
	stdout, err := node.command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	node.stdout = stdout
	if err := node.command.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.Contains(line, "ready") {
		node.stop()
		b.Fatalf("the node did not start: %q %v\n%s", line, err, node.stderr)
	}
	return node
}

func (n *runningNode) stop() {
	_ = n.command.Process.Signal(os.Interrupt)
	_, _ = io.Copy(io.Discard, n.stdout)
	_ = n.command.Wait() // how it ends is tested elsewhere
}

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

func residentMemory(b *testing.B, pid int) int64 {
	b.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		b.Skipf("this system does not tell a process's memory: %v", err)
	}
	match := residentLine.FindSubmatch(status)
	if match == nil {
		b.Fatal("the system does not tell VmRSS")
	}
	kilobytes, err := strconv.ParseInt(string(match[1]), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes << 10
}
