package durability

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// readyWithin is how soon a node has to be ready again after it was killed.
const readyWithin = 5 * time.Second

// victim is a node in a process of its own, which can be killed.
type victim struct {
	t        testing.TB
	settings map[string]string
	owner    *socket.Client
	agentID  string
	key      string // of the agent
	token    string
	address  string // of the agent
	url      string
	clock    *shifted
	probe    string // what tells that it is ready; a node without an owner only serves

	complaints *complaints
	process    *exec.Cmd
	orders     io.WriteCloser
	replies    *bufio.Reader
	exited     chan error
	info       socket.Info
	slowest    time.Duration // from the start of a process to its readiness
	deaths     int
}

// newVictim makes a node with one agent and starts it. databaseURL "" is SQLite.
func newVictim(t testing.TB, databaseURL string, clock *shifted, further ...string) *victim {
	t.Helper()
	folder, err := os.MkdirTemp("", "alk") // short, as the path of a socket must be
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return newVictimIn(t, folder, databaseURL, clock, further...)
}

func newVictimIn(t testing.TB, folder, databaseURL string, clock *shifted, further ...string) *victim {
	t.Helper()
	v := &victim{t: t, clock: clock, probe: "/readyz", complaints: &complaints{}, settings: map[string]string{
		childName: "1", journalName: filepath.Join(folder, "journal"), config.DataDirName: filepath.Join(folder, "data"),
		config.ListenName: "localhost:" + freePort(t), config.DatabaseURLName: databaseURL,
	}}
	for _, setting := range further {
		name, value, _ := strings.Cut(setting, "=")
		v.settings[name] = value
	}
	settings, err := config.Load(func(name string) string { return v.settings[name] })
	must(t, err)
	made, err := app.Init(t.Context(), settings, app.Setup{OwnerName: "Ada", Password: nodetest.Password, Handle: "scout", Mode: policy.Autonomous}, app.Options{Clock: clock})
	must(t, err)
	v.agentID, v.key = made.Agent.ID, made.Agent.Key
	v.owner = socket.Dial(settings.SocketPath())
	t.Cleanup(func() { v.stop(); v.complaints.show(t) })
	v.start()
	v.address = node.Address{Handle: "scout", Host: v.info.Host}.String()
	return v
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// bareVictim is a node that was never started.
func bareVictim(t testing.TB) *victim {
	t.Helper()
	folder, err := os.MkdirTemp("", "alk")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	v := &victim{t: t, clock: &shifted{}, probe: "/healthz", complaints: &complaints{}, settings: map[string]string{
		childName: "1", config.DataDirName: filepath.Join(folder, "data"), config.ListenName: "localhost:" + freePort(t),
	}}
	t.Cleanup(func() { v.stop(); v.complaints.show(t) })
	return v
}

// start runs the process until it is ready; further are settings of this run.
func (v *victim) start(further ...string) {
	v.t.Helper()
	if err := v.launch(further...); err != nil {
		v.t.Fatalf("the node does not start: %v", err)
	}
}

// launch is start for a process that may die of it.
func (v *victim) launch(further ...string) error {
	v.t.Helper()
	self, err := os.Executable()
	must(v.t, err)
	v.process = exec.Command(self) //nolint:noctx // it is killed, and ends with the test
	v.process.Env = append(os.Environ(), offsetName+"="+fmt.Sprint(v.clock.ahead.Load()))
	for name, value := range v.settings {
		v.process.Env = append(v.process.Env, name+"="+value)
	}
	v.process.Env = append(v.process.Env, further...)
	v.process.Stderr = v.complaints
	v.orders, err = v.process.StdinPipe()
	must(v.t, err)
	output, err := v.process.StdoutPipe()
	must(v.t, err)
	v.replies = bufio.NewReader(output)
	began := node.SystemClock{}.Now()
	must(v.t, v.process.Start())
	v.exited = make(chan error, 1)
	line, readErr := v.replies.ReadBytes('\n')
	process, exited := v.process, v.exited
	go func() { exited <- process.Wait() }()
	if readErr != nil {
		return fmt.Errorf("it ended: %w", <-exited)
	}
	must(v.t, json.Unmarshal(line, &v.info))
	if v.url == "" { // a restart finds the node where it was
		v.url = v.info.AgentsURL
	}
	for {
		if status, _, _ := v.ask(http.MethodGet, v.probe, "", nil); status == http.StatusOK {
			break
		}
		select {
		case err := <-exited:
			return fmt.Errorf("it ended before it was ready: %w", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
	v.slowest = max(v.slowest, node.SystemClock{}.Now().Sub(began))
	return nil
}

// order tells the node something.
func (v *victim) order(format string, args ...any) {
	v.t.Helper()
	_, err := fmt.Fprintf(v.orders, format+"\n", args...)
	must(v.t, err)
	_, err = v.replies.ReadString('\n')
	must(v.t, err)
}

func (v *victim) stop() {
	if v.process == nil {
		return
	}
	_ = v.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-v.exited:
	case <-time.After(15 * time.Second):
		_ = v.process.Process.Kill()
		<-v.exited
	}
	v.process = nil
}

// revive starts the node again where it has died, and says whether it had.
func (v *victim) revive() bool {
	v.t.Helper()
	select {
	case err := <-v.exited:
		v.exited <- err
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			v.t.Fatalf("the node ended by itself: %v", err)
		}
	case <-time.After(20 * time.Millisecond):
		return false
	}
	v.deaths++
	v.start()
	return true
}

// client keeps a connection for each of many that ask at once.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: uses}}

// ask is one request to the node, with a bearer where there is one.
func (v *victim) ask(method, path, key string, body any) (status int, content []byte, err error) {
	raw := []byte(nil)
	if body != nil {
		if raw, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, v.url+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if v.token != "" {
		r.Header.Set("Authorization", "Bearer "+v.token)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err = io.ReadAll(response.Body)
	return response.StatusCode, content, err
}

// log in gets an access token.
func (v *victim) login() error {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {v.agentID}, "client_secret": {v.key}}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		return fmt.Errorf("status %d: %w", response.StatusCode, err)
	}
	v.token = answer.AccessToken
	return nil
}

// insist repeats something until it succeeds, over the deaths of the node.
func (v *victim) insist(what string, f func() error) {
	v.t.Helper()
	var err error
	for range 600 {
		if err = f(); err == nil {
			return
		}
		v.revive()
	}
	v.t.Fatalf("%s: %v", what, err)
}

// agent sends a request of the agent's with an idempotency key until it succeeds.
func (v *victim) agent(method, path, key string, body any) (answer answer) {
	v.t.Helper()
	v.insist(method+" "+path, func() error {
		status, content, err := v.ask(method, "/v1/agent"+path, key, body)
		switch {
		case err != nil:
			return err
		case status == http.StatusUnauthorized:
			return errors.Join(errors.New("the token is over"), v.login())
		case status >= 500 && status != http.StatusServiceUnavailable:
			v.t.Errorf("%s %s: %d %s", method, path, status, content)
		}
		answer.status, answer.body = status, string(content)
		return answer.failed()
	})
	return answer
}

// command calls one of the owner's commands until it succeeds, or is a conflict
// because it was done before.
func command[Resp any](v *victim, name string, request any) (response Resp) {
	v.t.Helper()
	v.insist(name, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err := v.owner.Call(ctx, name, nodetest.Password, request, &response)
		if node.CodeOf(err) == node.Conflict {
			return nil
		}
		return err
	})
	return response
}

// complaints are what a process complained of last; a test that fails shows them.
type complaints struct {
	mu    sync.Mutex
	lines [][]byte
}

// Write implements io.Writer.
func (c *complaints) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines[max(0, len(c.lines)-20):], bytes.Clone(line))
	return len(line), nil
}

func (c *complaints) show(t testing.TB) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.Failed() {
		t.Logf("the node's last complaints:\n%s", bytes.Join(c.lines, nil))
	}
}
