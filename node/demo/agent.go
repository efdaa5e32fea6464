package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// agent is a small program that knows an address and a key, and uses nothing but
// the REST API.
type agent struct {
	handle, mode  string
	base, id, key string
	token         string
	connection    string // id of its connection with the other agent
	task          string // uid
}

// answer is what the REST API said.
type answer struct {
	status int
	body   map[string]any
}

var client = http.Client{Timeout: patience}

func (a *agent) get(ctx context.Context, path string) (answer, error) {
	return a.call(ctx, http.MethodGet, path, nil)
}

func (a *agent) post(ctx context.Context, path string, body map[string]any) (answer, error) {
	return a.call(ctx, http.MethodPost, path, body)
}

func (a *agent) call(ctx context.Context, method, path string, body map[string]any) (answer, error) {
	if a.token == "" {
		if err := a.login(ctx); err != nil {
			return answer{}, err
		}
	}
	content := []byte{}
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return answer{}, fmt.Errorf("write a request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(content))
	if err != nil {
		return answer{}, fmt.Errorf("write a request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return send(r)
}

// login trades the key for a token of 15 minutes.
func (a *agent) login(ctx context.Context) error {
	form := strings.NewReader(url.Values{"grant_type": {"client_credentials"}}.Encode())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/oauth/token", form)
	if err != nil {
		return fmt.Errorf("write a request: %w", err)
	}
	r.SetBasicAuth(a.id, a.key)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := send(r)
	if err != nil {
		return err
	}
	if a.token = got.text("access_token"); a.token == "" {
		return fmt.Errorf("%s got no token: status %d", a.handle, got.status)
	}
	return nil
}

func send(r *http.Request) (answer, error) {
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	got := answer{status: response.StatusCode}
	if err := json.NewDecoder(response.Body).Decode(&got.body); err != nil {
		return got, fmt.Errorf("%s %s answered %d and no JSON: %w", r.Method, r.URL.Path, response.StatusCode, err)
	}
	return got, nil
}

// value finds a member by its dotted path; numbers index lists. nil: not there.
func (a answer) value(path string) any {
	var value any = a.body
	for name := range strings.SplitSeq(path, ".") {
		switch container := value.(type) {
		case map[string]any:
			value = container[name]
		case []any:
			var index int
			if _, err := fmt.Sscan(name, &index); err != nil || index >= len(container) {
				return nil
			}
			value = container[index]
		default:
			return nil
		}
	}
	return value
}

func (a answer) text(path string) string {
	text, _ := a.value(path).(string)
	return text
}

// want checks the status.
func (a answer) want(status int) error {
	if a.status == status {
		return nil
	}
	raw, _ := json.Marshal(a.body)
	return fmt.Errorf("answered %d, not %d: %s", a.status, status, raw)
}

// until reads a path until it says one of what is wanted.
func (a *agent) until(ctx context.Context, path, member string, wanted ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		got, err := a.get(ctx, path)
		if err != nil {
			return got, err
		}
		if slices.Contains(wanted, got.text(member)) {
			return got, nil
		}
		select {
		case <-ctx.Done():
			return got, fmt.Errorf("%s: %s stayed %q and did not become %s", path, member, got.text(member), strings.Join(wanted, " or "))
		case <-time.After(25 * time.Millisecond):
		}
	}
}
