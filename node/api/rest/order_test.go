package rest

import (
	"testing"

	"agentlink/coordination"
	"agentlink/node"
)

// TestOrderOfChecks: a request that is wrong in several ways is told the first
// of them: token, agent, idempotency, schema, object, state, policy.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	const (
		good    = `{"connectionId":"` + connectionID + `","text":"Good evening"}`
		bad     = `{"text":""}`
		foreign = `{"connectionId":"` + nobodyID + `","text":"Good evening"}`
	)
	refusal := &node.Error{Code: node.PolicyDenied, Message: "no"}
	stale := node.ConflictFor(node.ReasonTaskEnded, "ended")
	cases := []struct {
		name, agent, body string
		reused            bool // the Idempotency-Key was used for another request
		badKey            bool
		state             error
		refusal           *node.Error
		want              node.Code
	}{
		{"token before all", "", bad, true, false, stale, refusal, node.Unauthorized},
		{"token before the key's form", "", bad, false, true, nil, nil, node.Unauthorized},
		{"agent before all", offID, bad, true, false, stale, refusal, node.Unauthorized},
		{"idempotency before schema", adaID, bad, true, false, stale, refusal, node.Conflict},
		{"idempotency before object", adaID, foreign, true, false, stale, refusal, node.Conflict},
		{"schema before object, state and policy", adaID, bad, false, false, stale, refusal, node.BadRequest},
		{"object before state and policy", adaID, foreign, false, false, stale, refusal, node.NotFound},
		{"state before policy", adaID, good, false, false, stale, refusal, node.Conflict},
		{"policy", adaID, good, false, false, nil, refusal, node.PolicyDenied},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			key := "key"
			if c.reused {
				if a := w.ask("POST", "/v1/agent/messages", message1(`"before"`), "Idempotency-Key", key); a.status != 201 {
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
			if c.badKey {
				key = "no key"
			}
			w.behind.fail["SendMessage Good evening"], w.behind.refusal = c.state, c.refusal
			authorization := "Bearer x"
			if c.agent != "" {
				authorization = w.bearer(c.agent)
			}
			if c.agent == offID && c.reused {
				w.db.kept[offID+" "+key] = kept{hash: "another"}
			}
			a := w.askAs(authorization, "POST", "/v1/agent/messages", c.body, "Idempotency-Key", key)
			if a.code(t) != c.want {
				t.Errorf("%d %s, want %s", a.status, a.body, c.want)
			}
		})
	}
}

// TestConnectLooksLast: nothing is looked up at another node before token, key
// and request are known to be good, nor where the policy says no.
func TestConnectLooksLast(t *testing.T) {
	t.Parallel()
	const good = `{"address":"eve@away.example"}`
	cases := []struct {
		name, authorization, body, key string
		refusal                        *node.Error
		status                         int
		looks                          bool
	}{
		{"no token", "Bearer x", good, "", nil, 401, false},
		{"no schema", "", `{"address":7}`, "", nil, 400, false},
		{"bad key", "", good, "a b", nil, 400, false},
		{"used key", "", good, "used", nil, 409, false},
		{"policy", "", good, "", &node.Error{Code: node.PolicyDenied, Message: "no"}, 403, false},
		{"good", "", good, "fresh", nil, 201, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.db.kept[adaID+" used"] = kept{hash: "of another request"}
			w.behind.refusal = c.refusal
			if c.authorization == "" {
				c.authorization = w.bearer(adaID)
			}
			var header []string
			if c.key != "" {
				header = []string{"Idempotency-Key", c.key}
			}
			a := w.askAs(c.authorization, "POST", "/v1/agent/connections", c.body, header...)
			if a.status != c.status {
				t.Errorf("%d %s", a.status, a.body)
			}
			looked := false
			for _, name := range w.behind.called {
				looked = looked || name == "Lookup"
			}
			if looked != c.looks {
				t.Errorf("looked up: %v", w.behind.called)
			}
		})
	}
}

// TestTokenEnds: a token ends with the agent's status and with its key, on the
// very next request, and with its time.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bearer := w.bearer(adaID)
	is := func(want int) {
		t.Helper()
		if a := w.askAs(bearer, "GET", "/v1/agent/me", ""); a.status != want {
			t.Errorf("%d %s, want %d", a.status, a.body, want)
		}
	}
	is(200)
	w.behind.setStatus(adaID, "disabled")
	is(401)
	w.behind.setStatus(adaID, "active")
	is(200)
	agent := w.behind.agents[adaID]
	agent.KeyGeneration = 2
	w.behind.agents[adaID] = agent
	is(401)
	agent.KeyGeneration = 1
	w.behind.agents[adaID] = agent
	w.clock.Advance(15*60e9 - 1e9)
	is(200)
	w.clock.Advance(1e9)
	is(401)
}

// TestHeldAndSent: 201 for what was sent, 202 for what is held, with the approval.
func TestHeldAndSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result coordination.Result
		status int
	}{
		{coordination.Result{Status: coordination.StatusQueued, ID: messageID}, 201},
		{coordination.Result{Status: coordination.StatusPendingApproval, ID: messageID, ApprovalID: approvalID}, 202},
		{coordination.Result{Status: coordination.StatusPendingOwner, ID: connectionID, ApprovalID: approvalID}, 202},
	} {
		w := newWorld(t)
		w.behind.result = c.result
		path, body := "/v1/agent/messages", message1(`"a"`)
		if c.result.Status == coordination.StatusPendingOwner {
			path, body = "/v1/agent/connections", `{"address":"eve@away.example"}`
		}
		a := w.ask("POST", path, body)
		if a.status != c.status || a.member(t, "status") != c.result.Status {
			t.Errorf("%v: %d %s", c.result, a.status, a.body)
		}
		if got, _ := a.member(t, "approvalId").(string); got != c.result.ApprovalID {
			t.Errorf("%v: %s", c.result, a.body)
		}
	}
}
