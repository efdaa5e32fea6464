package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentlink/node"
)

var agents = http.Client{Timeout: 90 * time.Second}

// rest calls the API as an agent does: with its key it gets a token, with the
// token it calls.
func (n *nodes) rest(ts *testscript.TestScript, args []string) {
	if len(args) < 4 || len(args) > 5 {
		ts.Fatalf("usage: rest STATUS NAME METHOD PATH [BODY]")
	}
	body := ""
	if len(args) == 5 {
		body = args[4]
	}
	status, answer := n.call(ts, args[1], args[2], args[3], body)
	_, err := ts.Stdout().Write(append(answer, '\n'))
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("status %d: %s", status, answer)
	}
}

func (n *nodes) call(ts *testscript.TestScript, name, method, path, body string) (int, []byte) {
	r, err := http.NewRequest(method, ts.Getenv(name+"_url")+path, strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+n.token(ts, name))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	status, answer, err := do(r)
	ts.Check(err)
	return status, answer
}

func (n *nodes) token(ts *testscript.TestScript, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := ts.Getenv(name + "_key")
	if n.tokens[key] != "" {
		return n.tokens[key]
	}
	form := url.Values{"grant_type": {"client_credentials"}}.Encode()
	r, err := http.NewRequest(http.MethodPost, ts.Getenv(name+"_url")+"/oauth/token", strings.NewReader(form))
	ts.Check(err)
	r.SetBasicAuth(ts.Getenv(name+"_id"), key)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, answer, err := do(r)
	ts.Check(err)
	var granted struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(answer, &granted); err != nil || status != http.StatusOK {
		ts.Fatalf("no token: %d %s", status, answer)
	}
	n.tokens[key] = granted.AccessToken
	return granted.AccessToken
}

func do(r *http.Request) (int, []byte, error) {
	answer, err := agents.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, content, err
}

// patience is how long a script waits for something: longer than the lease of an
// envelope that a killed node was sending.
const patience = 90 * time.Second

func (n *nodes) until(ts *testscript.TestScript, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: until NAME PATH MEMBER VALUE")
	}
	clock := node.SystemClock{}
	var last []byte
	for end := clock.Now().Add(patience); clock.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_, last = n.call(ts, args[0], http.MethodGet, args[1], "")
		if value, found := member(last, args[2]); found && value == args[3] {
			return
		}
	}
	ts.Fatalf("%s of %s did not become %q: %s", args[2], args[1], args[3], last)
}

func get(ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: get VARIABLE MEMBER")
	}
	output := ts.ReadFile("stdout")
	value, found := member([]byte(output), args[1])
	if !found {
		ts.Fatalf("there is no %s in %s", args[1], output)
	}
	ts.Setenv(args[0], value)
}

// member finds a member of a JSON document by its dotted path, as text.
func member(document []byte, path string) (string, bool) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", false
	}
	for step := range strings.SplitSeq(path, ".") {
		switch at := value.(type) {
		case map[string]any:
			value = at[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index < 0 || index >= len(at) {
				return "", false
			}
			value = at[index]
		default:
			return "", false
		}
	}
	return fmt.Sprint(value), value != nil
}
