package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agentlink/node/nodetest"
	"agentlink/policy"
)

// suite is the conformance suite's program.
const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// unscored are the scenarios of an extension that we do not serve; the suite does
// not score them.
var unscored = []string{
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
	"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error", "tasks-mrtr-composition",
}

// TestConformance runs the suite against our server with the suite's fixtures
// added. The suite ends well too where it has skipped everything, so what has
// passed is counted.
func TestConformance(t *testing.T) {
	t.Parallel()
	javaScript(t)
	address := startProfile(t)
	for revision, least := range map[string]int{"2025-11-25": 82, "2026-07-28": 153} {
		t.Run(revision, func(t *testing.T) {
			stdout, stderr, code := output(t, javaScript(t, suite, "server", "--url", address, "--requirements", revision, "--timeout", "20000", "-o", t.TempDir()))
			passed := 0
			for _, s := range scenarios(t, stdout) {
				if slices.Contains(unscored, s.name) {
					continue
				}
				passed += s.passed
				if s.failed > 0 {
					t.Errorf("%s: %d checks failed", s.name, s.failed)
				}
			}
			if code != 0 || passed < least {
				t.Errorf("exit code %d; %d checks passed, want %d\n%s\n%s", code, passed, least, stdout, stderr)
			}
			t.Logf("%d checks passed", passed)
		})
	}
}

type scenario struct {
	name           string
	passed, failed int
}

var scenarioLine = regexp.MustCompile(`(?m)^[✓✗] ([a-z0-9-]+): ([0-9]+) passed, ([0-9]+) failed$`)

// scenarios reads the suite's summary.
func scenarios(t *testing.T, summary string) (list []scenario) {
	t.Helper()
	for _, line := range scenarioLine.FindAllStringSubmatch(summary, -1) {
		passed, errPassed := strconv.Atoi(line[2])
		failed, errFailed := strconv.Atoi(line[3])
		if errPassed != nil || errFailed != nil {
			t.Fatalf("%q", line[0])
		}
		list = append(list, scenario{line[1], passed, failed})
	}
	return list
}

// startProfile builds this package's tests together with the SDK's
// everything-server, which has the fixtures, and starts the server of both. The
// fixtures are compiled from the SDK's own source, so they are of its version.
func startProfile(t *testing.T) (address string) {
	t.Helper()
	folder := t.TempDir()
	program := filepath.Join(folder, "profile.test")
	build(t, "test", "-c", "-overlay", overlay(t, folder), "-o", program, ".")
	command := exec.CommandContext(t.Context(), program, "-test.run", "^TestServe$", "-test.timeout", "10m")
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server with the fixtures did not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// overlay lays the everything-server into this package, for one build.
func overlay(t *testing.T, folder string) (file string) {
	t.Helper()
	found, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(found)), "conformance", "everything-server", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	fixtures := filepath.Join(folder, "fixtures.go")
	ours := strings.Replace(string(source), "\npackage main\n", "\npackage mcp_test\n", 1)
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(here, "everything_test.go"):       fixtures,
		filepath.Join(here, "everything_serve_test.go"): filepath.Join(here, "testdata", "everything", "serve.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(folder, "overlay.json")
	for name, content := range map[string][]byte{fixtures: []byte(ours), file: replace} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// TestConformanceOfANode runs those scenarios that need no fixtures against a
// real node with its own tools.
func TestConformanceOfANode(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	address := bearingProxy(t, n, n.CreateAgent("scout", policy.Assisted).Key)
	for _, c := range []struct {
		version, name string
		passes        int
	}{
		{"2025-11-25", "server-initialize", 3}, {"2025-11-25", "ping", 2}, {"2025-11-25", "tools-list", 3},
		{"2025-11-25", "resources-list", 2}, {"2025-11-25", "prompts-list", 2}, {"2025-11-25", "server-session-lifecycle", 3},
		{"2025-11-25", "dns-rebinding-protection", 2}, {"2025-11-25", "server-sse-multiple-streams", 2},
		{"2026-07-28", "tools-list", 3}, {"2026-07-28", "resources-list", 2}, {"2026-07-28", "prompts-list", 2},
		{"2026-07-28", "http-header-validation", 14}, {"2026-07-28", "caching", 8}, {"2026-07-28", "dns-rebinding-protection", 2},
		{"2026-07-28", "server-sse-multiple-streams", 2}, {"2026-07-28", "sep-2164-resource-not-found", 4},
	} {
		t.Run(c.version+" "+c.name, func(t *testing.T) {
			folder := t.TempDir()
			stdout, stderr, code := output(t, javaScript(t, suite, "server", "--url", address, "--scenario", c.name, "--spec-version", c.version, "--timeout", "20000", "-o", folder))
			if passed := successes(t, folder); code != 0 || passed < c.passes {
				t.Errorf("exit code %d; %d checks passed, want %d\n%s\n%s", code, passed, c.passes, stdout, stderr)
			}
		})
	}
}

// successes counts the checks that passed in what the suite has written.
func successes(t *testing.T, folder string) (count int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct{ ID, Status string }
	if err := json.Unmarshal(raw, &checks); err != nil {
		t.Fatal(err)
	}
	for _, check := range checks {
		if check.Status == "SUCCESS" {
			count++
		}
	}
	return count
}

// bearingProxy stands before a node's server and adds a bearer, for programs that
// know none; everything else passes as it comes, the host too.
func bearingProxy(t *testing.T, n *nodetest.Node, bearer string) (address string) {
	t.Helper()
	to, err := url.Parse(n.Info.AgentsURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+bearer)
	}}
	server := httptest.NewServer(http.Handler(proxy))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL + "/mcp"
}
