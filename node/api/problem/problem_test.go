package problem_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/api/problem"
)

// TestStatuses compares the table with docs/agent-api.md, for every code.
func TestStatuses(t *testing.T) {
	t.Parallel()
	want := map[node.Code]int{
		node.BadRequest: 400, node.Unauthorized: 401, node.PolicyDenied: 403, node.NotFound: 404, node.Conflict: 409,
		node.TooLarge: 413, node.RateLimited: 429, node.Internal: 500, node.Unavailable: 503,
	}
	seen := map[int]node.Code{}
	for _, code := range node.Codes {
		status := problem.Status(code)
		if status != want[code] {
			t.Errorf("%s: %d, want %d", code, status, want[code])
		}
		if other, ok := seen[status]; ok {
			t.Errorf("%s and %s share %d", code, other, status)
		}
		seen[status] = code
	}
	if len(node.Codes) != len(want) {
		t.Errorf("%d codes, %d in the table", len(node.Codes), len(want))
	}
	if got := problem.Status("made_up"); got != 500 {
		t.Errorf("an unknown code: %d", got)
	}
}

// TestBody: code, message and details as they are, with the reason of a conflict
// among the details; the error itself is left as it was.
func TestBody(t *testing.T) {
	t.Parallel()
	for _, code := range node.Codes {
		if code == node.Internal {
			continue
		}
		e := &node.Error{Code: code, Message: "Say.", Details: map[string]any{"a": 1}, Err: errors.New("the cause")}
		got := string(problem.Of(e, "id").JSON())
		if want := `{"error":{"code":"` + string(code) + `","message":"Say.","details":{"a":1}}}`; got != want {
			t.Errorf("%s", got)
		}
	}
	for _, reason := range node.Reasons {
		e := node.ConflictFor(reason, "No.")
		got := string(problem.Of(e, "id").JSON())
		if !strings.Contains(got, `"details":{"reason":"`+string(reason)+`"}`) || len(e.Details) != 0 {
			t.Errorf("%s, %v", got, e.Details)
		}
	}
}

// TestInternal: nothing but the id leaves.
func TestInternal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		errors.New("secret"), &node.Error{Code: node.Internal, Message: "secret", Details: map[string]any{"secret": 1}},
		&node.Error{Code: "secret", Message: "secret"}, node.Wrap(errors.New("secret"), "secret"),
	} {
		got := string(problem.Of(err, "the-id").JSON())
		if strings.Contains(got, "secret") || !strings.Contains(got, `"details":{"requestId":"the-id"}`) || !strings.Contains(got, `"code":"internal"`) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// TestUnwritableDetails are left out, the code stays.
func TestUnwritableDetails(t *testing.T) {
	t.Parallel()
	for _, value := range []any{math.NaN(), func() {}, "\xff"} {
		got := problem.Of(&node.Error{Code: node.Conflict, Message: "No.", Details: map[string]any{"x": value}}, "").JSON()
		var body problem.Body
		if err := json.Unmarshal(got, &body); err != nil || body.Error.Code != node.Conflict {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	with := func(code node.Code, seconds any) error {
		return &node.Error{Code: code, Details: map[string]any{problem.RetryAfterDetail: seconds}}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{node.Errorf(node.RateLimited, ""), "60"}, {with(node.RateLimited, 7), "7"}, {with(node.RateLimited, int64(8)), "8"},
		{with(node.RateLimited, 0), "1"}, {with(node.RateLimited, -5), "1"}, {with(node.RateLimited, "7"), "60"},
		{node.Errorf(node.Unavailable, ""), ""}, {with(node.Unavailable, 7), "7"}, {with(node.Conflict, 7), ""}, {errors.New("x"), ""},
	} {
		if got := problem.RetryAfter(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
