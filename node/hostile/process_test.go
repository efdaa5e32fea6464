package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// process is a node in a process of its own, with one agent and its owner's
// browser.
type process struct {
	t       *testing.T
	command *exec.Cmd
	info    socket.Info
	owner   *socket.Client
	visitor *nodetest.Visitor
	agentID string
	key     string
	address string // of its listener
	bearer  string // of its agent
}

func newProcess(t *testing.T) *process {
	t.Helper()
	folder, err := os.MkdirTemp("", "alk") // short, as the path of a socket must be
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	given := map[string]string{config.DataDirName: filepath.Join(folder, "data"), config.ListenName: "localhost:0"}
	settings, err := config.Load(func(name string) string { return given[name] })
	must(t, err)
	made, err := app.Init(t.Context(), settings, app.Setup{
		OwnerName: "Ada", Password: nodetest.Password, Handle: "scout", Mode: policy.Autonomous,
	}, app.Options{})
	must(t, err)
	p := &process{t: t, agentID: made.Agent.ID, key: made.Agent.Key, owner: socket.Dial(settings.SocketPath())}
	p.start(given)
	p.visitor = nodetest.NewVisitor(t, "http://"+p.address)
	var link socket.SignInLink
	must(t, p.owner.Call(t.Context(), socket.OwnerLink, nodetest.Password, nil, &link))
	p.visitor.Open(link.URL)
	p.bearer = p.login()
	return p
}

func (p *process) start(given map[string]string) {
	p.t.Helper()
	self, err := os.Executable()
	must(p.t, err)
	p.command = exec.Command(self) //nolint:noctx // it is stopped, and ends with the test
	p.command.Env = append(os.Environ(), childName+"=1")
	for name, value := range given {
		p.command.Env = append(p.command.Env, name+"="+value)
	}
	complaints := &bytes.Buffer{}
	p.command.Stderr = complaints
	output, err := p.command.StdoutPipe()
	must(p.t, err)
	must(p.t, p.command.Start())
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("the node does not start: %v: %s", p.command.Wait(), complaints)
	}
	p.t.Cleanup(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		if err := p.command.Wait(); err != nil {
			p.t.Errorf("the node ended with %v", err)
		}
		if strings.Contains(complaints.String(), "panic") || p.t.Failed() {
			p.t.Errorf("the node complained: %.4000s", complaints)
		}
	})
	must(p.t, json.Unmarshal(line, &p.info))
	_, p.address, _ = strings.Cut(p.info.AgentsURL, "://")
}

// login gets an access token for the agent.
func (p *process) login() string {
	p.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {p.agentID}, "client_secret": {p.key}}
	status, _, body := p.send("POST", "/oauth/token", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte(form.Encode()))
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.AccessToken == "" {
		p.t.Fatalf("no token: %d %s", status, body)
	}
	return answer.AccessToken
}

// send is one request by a client that asks for nothing to be compressed.
func (p *process) send(method, path string, header http.Header, body []byte) (int, http.Header, []byte) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.info.AgentsURL+path, bytes.NewReader(body))
	must(p.t, err)
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
		return 0, nil, nil
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	must(p.t, err)
	return response.StatusCode, response.Header, content
}

// memory is how much memory the process has at most had so far, in MiB.
func (p *process) memory() (peak int) {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	must(p.t, err)
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			_, err = fmt.Sscan(value, &peak)
			must(p.t, err)
		}
	}
	return peak >> 10
}
