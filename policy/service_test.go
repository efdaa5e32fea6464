package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// bundle is a service with its engine over a fresh database.
type bundle struct {
	*policy.Service
	engine *engine.Engine
	store  *store.Store
	clock  *node.FakeClock
}

const anna = "anna@a.example"

var (
	owner  = node.Actor{Kind: node.ActorOwner, OwnerID: "owner", Via: "uid=1 pid=2"}
	begins = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
)

func setup(t *testing.T) *bundle {
	t.Helper()
	database := storetest.Memory(t)
	clock := node.NewFakeClock(begins)
	database.Clock = clock
	return over(t, database.Open(t), clock)
}

// over is another replica where the store is used before.
func over(t *testing.T, s *store.Store, clock *node.FakeClock) *bundle {
	t.Helper()
	log := audit.New(s, []byte("key"))
	e, err := engine.New(engine.Config{Store: s, IDs: node.RandomIDs{}, Audit: log, Deadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &bundle{policy.New(policy.Config{Store: s, IDs: node.RandomIDs{}, Audit: log, Decider: e, Imaginer: e}), e, s, clock}
}

// in runs f in a transaction that has to commit.
func (b *bundle) in(t *testing.T, f func(tx node.Tx) error) {
	t.Helper()
	if err := b.store.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// refused runs f in a transaction that has to fail with the code, and gives the
// error.
func (b *bundle) refused(t *testing.T, code node.Code, f func(tx node.Tx) error) *node.Error {
	t.Helper()
	err := b.store.InTx(t.Context(), f)
	known, ok := node.AsError(err)
	if !ok || known.Code != code {
		t.Errorf("got %v, want an error with code %s", err, code)
		return &node.Error{}
	}
	return known
}

func (b *bundle) agent(t *testing.T, handle string, mode policy.Mode) (agent policy.Agent, key string) {
	t.Helper()
	b.in(t, func(tx node.Tx) (err error) {
		agent, key, err = b.CreateAgent(tx, owner, policy.NewAgent{Handle: handle, Mode: mode})
		return err
	})
	return agent, key
}

func (b *bundle) set(t *testing.T, grant policy.NewGrant) (set policy.Grant) {
	t.Helper()
	b.in(t, func(tx node.Tx) (err error) {
		set, err = b.SetGrant(tx, owner, grant)
		return err
	})
	return set
}

func (b *bundle) decide(t *testing.T, agentID string, capabilities ...string) (decision policy.Decision) {
	t.Helper()
	b.in(t, func(tx node.Tx) (err error) {
		decision, err = b.engine.Decide(tx, policy.Request{AgentID: agentID, Contact: anna, Connection: "active", Capabilities: capabilities})
		return err
	})
	return decision
}

// logged lists the audit log's rows of a type: actor, subject and data.
func (b *bundle) logged(t *testing.T, what audit.Type) (rows []audit.Row) {
	t.Helper()
	b.in(t, func(tx node.Tx) error {
		all, err := b.store.AuditRows(tx, audit.Filter{Types: []audit.Type{what}})
		rows = all
		return err
	})
	return rows
}

func data(t *testing.T, row audit.Row) (data map[string]any) {
	t.Helper()
	if err := json.Unmarshal(row.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data
}

func wantFields(t *testing.T, err *node.Error, names ...string) {
	t.Helper()
	fields, _ := err.Details["fields"].([]node.Field)
	var got []string
	for _, field := range fields {
		got = append(got, field.Field)
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("fields that were refused (-want +got):\n%s", diff)
	}
}

func TestCreateAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, key := b.agent(t, "ada.scout", "")
	if agent.Mode != policy.Assisted {
		t.Errorf("an agent without a mode is %s, want assisted", agent.Mode)
	}
	if agent.Status != policy.Active || agent.OwnerID != "owner" || agent.KeyGeneration != 1 || agent.RulesRev != 1 || !agent.CreatedAt.Equal(begins) {
		t.Errorf("got %+v", agent)
	}
	if !regexp.MustCompile(`^alk_[A-Za-z0-9_-]{43}$`).MatchString(key) {
		t.Errorf("the key is %q", key)
	}
	rows := b.logged(t, audit.AgentCreated)
	if len(rows) != 1 || rows[0].AgentID != agent.ID || rows[0].ActorKind != node.ActorOwner || rows[0].Via != owner.Via {
		t.Fatalf("the audit log has %+v", rows)
	}
	if diff := cmp.Diff(map[string]any{"handle": "ada.scout", "mode": "assisted"}, data(t, rows[0])); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(fmt.Sprint(agent), key) || strings.Contains(string(rows[0].Data), key) {
		t.Error("the key is kept")
	}
}

func TestCreateAgentRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.agent(t, "ada", "")
	create := func(n policy.NewAgent) func(tx node.Tx) error {
		return func(tx node.Tx) error { _, _, err := b.CreateAgent(tx, owner, n); return err }
	}
	b.refused(t, node.Conflict, create(policy.NewAgent{Handle: "ada"}))
	wantFields(t, b.refused(t, node.BadRequest, create(policy.NewAgent{Handle: "Ada!", Name: strings.Repeat("ä", 121), Mode: "bold"})), "handle", "name", "mode")
	wantFields(t, b.refused(t, node.BadRequest, create(policy.NewAgent{Handle: node.RandomIDs{}.New()})), "handle")
	wantFields(t, b.refused(t, node.BadRequest, create(policy.NewAgent{Handle: "x", Name: "\xff"})), "name")
	b.in(t, create(policy.NewAgent{Handle: "long", Name: strings.Repeat("ä", 120)}))
}

func TestSetMode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Manual)
	b.in(t, func(tx node.Tx) error {
		changed, err := b.SetMode(tx, owner, agent.ID, policy.Autonomous)
		if changed.Mode != policy.Autonomous || changed.RulesRev <= agent.RulesRev {
			t.Errorf("got %+v", changed)
		}
		return err
	})
	b.in(t, func(tx node.Tx) error {
		_, err := b.SetMode(tx, owner, agent.ID, policy.Autonomous) // again: nothing changes
		stored, err2 := b.Agent(tx, agent.ID)
		if stored.Mode != policy.Autonomous {
			t.Errorf("stored %s", stored.Mode)
		}
		return errors.Join(err, err2)
	})
	rows := b.logged(t, audit.AgentModeChanged)
	if len(rows) != 1 || rows[0].AgentID != agent.ID {
		t.Fatalf("the audit log has %d rows, want one", len(rows))
	}
	if diff := cmp.Diff(map[string]any{"old": "manual", "new": "autonomous"}, data(t, rows[0])); diff != "" {
		t.Error(diff)
	}
	wantFields(t, b.refused(t, node.BadRequest, func(tx node.Tx) error { _, err := b.SetMode(tx, owner, agent.ID, "bold"); return err }), "mode")
}

func TestSetStatus(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, key := b.agent(t, "ada", policy.Assisted)
	set := func(status policy.Status) {
		b.in(t, func(tx node.Tx) error { _, err := b.SetStatus(tx, owner, agent.ID, status); return err })
	}
	if got := b.decide(t, agent.ID, "message.send").Outcome; got != policy.Allowed {
		t.Fatalf("got %s before", got)
	}
	set(policy.Disabled)
	if got := b.decide(t, agent.ID, "message.send").Answers[0].Reason; got != policy.AgentDisabled {
		t.Errorf("got %s for a disabled agent", got)
	}
	b.refused(t, node.Unauthorized, func(tx node.Tx) error { _, err := b.Authenticate(tx, "ada", key); return err })
	set(policy.Active)
	b.in(t, func(tx node.Tx) error { _, err := b.Authenticate(tx, "ada", key); return err })
	rows := b.logged(t, audit.AgentStatusChanged)
	if len(rows) != 2 {
		t.Fatalf("the audit log has %d rows, want 2", len(rows))
	}
	if diff := cmp.Diff(map[string]any{"old": "active", "new": "disabled"}, data(t, rows[0])); diff != "" {
		t.Error(diff)
	}
	wantFields(t, b.refused(t, node.BadRequest, func(tx node.Tx) error { _, err := b.SetStatus(tx, owner, agent.ID, "asleep"); return err }), "status")
}

// TestAuthenticate: unknown, wrong and disabled get the very same answer.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, adaKey := b.agent(t, "ada", "")
	ben, benKey := b.agent(t, "ben", "")
	b.in(t, func(tx node.Tx) error { _, err := b.SetStatus(tx, owner, ben.ID, policy.Disabled); return err })
	for _, client := range []string{"ada", ada.ID} {
		b.in(t, func(tx node.Tx) error {
			got, err := b.Authenticate(tx, client, adaKey)
			if got.ID != ada.ID {
				t.Errorf("%s is %+v", client, got)
			}
			return err
		})
	}
	var answers []*node.Error
	for name, try := range map[string][2]string{
		"unknown": {"eve", adaKey}, "wrong": {"ada", benKey}, "empty": {"ada", ""}, "disabled": {"ben", benKey},
		"another's": {ben.ID, adaKey}, "no text": {"a\x00\xff", adaKey}, "hash": {"ada", ada.KeyHash}, "nobody": {"", ""},
	} {
		err := b.refused(t, node.Unauthorized, func(tx node.Tx) error { _, err := b.Authenticate(tx, try[0], try[1]); return err })
		answers = append(answers, err)
		if diff := cmp.Diff(*answers[0], *err); diff != "" {
			t.Errorf("%s: answered differently:\n%s", name, diff)
		}
	}
}

func TestReplaceKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, old := b.agent(t, "ada", "")
	var fresh string
	b.in(t, func(tx node.Tx) error {
		changed, key, err := b.ReplaceKey(tx, owner, agent.ID)
		fresh = key
		if changed.KeyGeneration != 2 || changed.KeyHash == agent.KeyHash {
			t.Errorf("got %+v", changed)
		}
		return err
	})
	b.refused(t, node.Unauthorized, func(tx node.Tx) error { _, err := b.Authenticate(tx, "ada", old); return err })
	b.in(t, func(tx node.Tx) error { _, err := b.Authenticate(tx, "ada", fresh); return err })
	if rows := b.logged(t, audit.AgentKeyChanged); len(rows) != 1 || strings.Contains(string(rows[0].Data), fresh[4:]) {
		t.Errorf("the audit log has %+v", rows)
	}
}

// TestOnlyTheOwnerChangesRules: an agent cannot change its own mode or grants, nor
// a peer or another owner, by whatever door they come.
func TestOnlyTheOwnerChangesRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Manual)
	grant := b.set(t, policy.NewGrant{AgentID: agent.ID, Capability: "disclose.*", Mode: policy.Ask})
	changes := map[string]func(tx node.Tx, actor node.Actor) error{
		"mode": func(tx node.Tx, by node.Actor) error {
			_, err := b.SetMode(tx, by, agent.ID, policy.Autonomous)
			return err
		},
		"status": func(tx node.Tx, by node.Actor) error {
			_, err := b.SetStatus(tx, by, agent.ID, policy.Disabled)
			return err
		},
		"key":          func(tx node.Tx, by node.Actor) error { _, _, err := b.ReplaceKey(tx, by, agent.ID); return err },
		"remove grant": func(tx node.Tx, by node.Actor) error { _, err := b.RemoveGrant(tx, by, grant.ID); return err },
		"grant": func(tx node.Tx, by node.Actor) error {
			_, err := b.SetGrant(tx, by, policy.NewGrant{AgentID: agent.ID, Capability: "disclose.*", Mode: policy.Allow})
			return err
		},
	}
	for name, change := range changes {
		for _, kind := range []node.ActorKind{node.ActorAgent, node.ActorPeer, node.ActorNode} {
			by := node.Actor{Kind: kind, OwnerID: "owner", AgentID: agent.ID}
			if err := b.refused(t, node.PolicyDenied, func(tx node.Tx) error { return change(tx, by) }); err.Code == "" {
				t.Errorf("%s by %s", name, kind)
			}
		}
		other := node.Actor{Kind: node.ActorOwner, OwnerID: "other"}
		b.refused(t, node.NotFound, func(tx node.Tx) error { return change(tx, other) })
	}
	b.refused(t, node.PolicyDenied, func(tx node.Tx) error {
		_, _, err := b.CreateAgent(tx, node.Actor{Kind: node.ActorAgent, OwnerID: "owner"}, policy.NewAgent{Handle: "eve"})
		return err
	})
	b.in(t, func(tx node.Tx) error {
		stored, err := b.Agent(tx, agent.ID)
		list, err2 := b.Grants(tx, agent.ID, nil)
		if stored.Mode != policy.Manual || stored.Status != policy.Active || stored.KeyGeneration != 1 || len(list) != 1 || list[0].Mode != policy.Ask {
			t.Errorf("something changed: %+v, %+v", stored, list)
		}
		return errors.Join(err, err2)
	})
}

func TestUnknownAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, f := range map[string]func(tx node.Tx) error{
		"mode":     func(tx node.Tx) error { _, err := b.SetMode(tx, owner, "none", policy.Manual); return err },
		"status":   func(tx node.Tx) error { _, err := b.SetStatus(tx, owner, "none", policy.Active); return err },
		"key":      func(tx node.Tx) error { _, _, err := b.ReplaceKey(tx, owner, "none"); return err },
		"remove":   func(tx node.Tx) error { _, err := b.RemoveGrant(tx, owner, "none"); return err },
		"find":     func(tx node.Tx) error { _, err := b.Agent(tx, "none"); return err },
		"handle":   func(tx node.Tx) error { _, err := b.AgentByHandle(tx, "none"); return err },
		"bump":     func(tx node.Tx) error { return b.BumpRules(tx, "none") },
		"defaults": func(tx node.Tx) error { return b.DefaultGrants(tx, owner, "none", anna) },
		"grant": func(tx node.Tx) error {
			_, err := b.SetGrant(tx, owner, policy.NewGrant{AgentID: "none", Capability: "disclose.*", Mode: policy.Ask})
			return err
		},
		"decide": func(tx node.Tx) error {
			_, err := b.engine.Decide(tx, policy.Request{AgentID: "none", Capabilities: []string{"message.send"}})
			return err
		},
	} {
		if err := b.refused(t, node.NotFound, f); err.Code == "" {
			t.Errorf("%s of an unknown agent", name)
		}
	}
}
