package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// memoryStore keeps the rules of agents and what was decided. It also keeps the
// audit log, of which it counts the rows.
type memoryStore struct {
	rules     map[string]policy.Rules
	decisions map[string]policy.Record
	overlays  map[string]string // text by version
	rows      []audit.Row
	loads     int  // how often whole rules were read
	forget    bool // keep no decisions and rows
	failing   error
}

func newMemoryStore() *memoryStore {
	return &memoryStore{rules: map[string]policy.Rules{}, decisions: map[string]policy.Record{}, overlays: map[string]string{}}
}

func (s *memoryStore) Standing(_ node.Tx, agentID string) (policy.Standing, error) {
	if s.failing != nil {
		return policy.Standing{}, s.failing
	}
	rules, found := s.rules[agentID]
	if !found {
		return policy.Standing{}, node.Errorf(node.NotFound, "no such agent")
	}
	return rules.Standing, nil
}

func (s *memoryStore) Rules(_ node.Tx, agentID string) (policy.Rules, error) {
	s.loads++
	return s.rules[agentID], nil
}

func (s *memoryStore) ContactKey(contact string) string {
	if contact == "" {
		return ""
	}
	return "key of " + contact
}

func (s *memoryStore) OverlaySource(_ node.Tx, _, version string) (string, error) {
	source, found := s.overlays[version]
	if !found {
		return "", node.Errorf(node.NotFound, "no such overlay")
	}
	return source, nil
}

func (s *memoryStore) InsertDecision(_ node.Tx, record policy.Record) error {
	if !s.forget {
		s.decisions[record.ID] = record
	}
	return nil
}

func (s *memoryStore) DecisionRecord(_ node.Tx, id string) (policy.Record, error) {
	record, found := s.decisions[id]
	if !found {
		return policy.Record{}, node.Errorf(node.NotFound, "no such decision")
	}
	return record, nil
}

func (s *memoryStore) LockHead(node.Tx) (audit.Head, error) {
	if len(s.rows) == 0 {
		return audit.Head{Hash: audit.GenesisHash}, nil
	}
	last := s.rows[len(s.rows)-1]
	return audit.Head{Position: last.Position, Hash: last.Hash}, nil
}

// KeepAudit writes at once.
func (s *memoryStore) KeepAudit(_ node.Tx, row audit.Row, write func([]audit.Row) error) (int64, error) {
	return 0, write([]audit.Row{row})
}

func (s *memoryStore) AppendAudit(_ node.Tx, rows []audit.Row, _ audit.Head) error {
	if s.forget {
		s.rows = s.rows[:0]
	}
	s.rows = append(s.rows, rows...)
	return nil
}

func (s *memoryStore) AuditRows(node.Tx, audit.Filter) ([]audit.Row, error) { return s.rows, nil }
func (s *memoryStore) AuditHead(tx node.Tx) (audit.Head, error)             { return s.LockHead(tx) }

// tx is a transaction of nothing but a time.
type tx struct {
	now time.Time
	ctx context.Context
}

func (t tx) Now() time.Time           { return t.now }
func (t tx) OnCommit(func())          {}
func (t tx) Context() context.Context { return t.ctx }

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func at(now time.Time) node.Tx { return tx{now: now, ctx: context.Background()} }

type counter struct{ n int }

func (c *counter) New() string {
	c.n++
	return fmt.Sprintf("01900000-0000-7000-8000-%012d", c.n)
}

// bench is an engine with its store. Each is used by one test alone.
type bench struct {
	*Engine
	store *memoryStore
	revs  int64
	own   string // version of the overlay that holds
}

func newBench(t testing.TB) *bench {
	t.Helper()
	store := newMemoryStore()
	e, err := New(Config{Store: store, IDs: &counter{}, Audit: audit.New(store, []byte("key")), Deadline: time.Minute, OverlayDeadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Engine: e, store: store}
}

const agentID = "agent"

// setRules gives the agent another revision of its rules.
func (b *bench) setRules(mode policy.Mode, grants ...policy.Grant) {
	b.setRulesOf(agentID, mode, policy.Active, grants)
}

func (b *bench) setRulesOf(id string, mode policy.Mode, status policy.Status, grants []policy.Grant) {
	b.revs++
	rules := policy.Rules{Standing: policy.Standing{
		AgentID: id, OwnerID: "owner", Mode: mode, Status: status, RulesRev: b.revs, RulesStamp: fmt.Sprint("stamp ", b.revs), Handle: "dinner", Overlay: b.own,
	}}
	for _, g := range grants {
		rules.Grants = append(rules.Grants, policy.Rule{
			GrantID: g.ID, ContactKey: b.store.ContactKey(g.Contact), Capability: g.Capability, Mode: g.Mode,
			Constraints: g.Constraints, ExpiresAt: g.ExpiresAt,
		})
	}
	b.store.rules[id] = rules
}

func (b *bench) decide(t testing.TB, request policy.Request) policy.Decision {
	t.Helper()
	if request.AgentID == "" {
		request.AgentID = agentID
	}
	decision, err := b.Decide(at(noon), request)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

// grant makes one whose id tells what it is: "anna disclose.* ask".
func grant(contact, capability string, mode policy.GrantMode, constraints ...policy.Constraints) policy.Grant {
	g := policy.Grant{ID: fmt.Sprintf("%s %s %s", contact, capability, mode), Contact: contact, Capability: capability, Mode: mode}
	if contact == "" {
		g.ID = fmt.Sprintf("agent %s %s", capability, mode)
	}
	if len(constraints) > 0 {
		g.Constraints = constraints[0]
	}
	return g
}

func maxAmount(limit float64) policy.Constraints { return policy.Constraints{MaxAmount: &limit} }

func allowed(field string, values ...any) policy.Constraints {
	return policy.Constraints{AllowedValues: map[string][]any{field: values}}
}
