package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/policy"
)

// Policy is what both databases do for agents, grants and decisions.
func Policy(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"agents":                             agents,
		"one handle":                         oneHandle,
		"changed agents":                     changedAgents,
		"grants":                             grants,
		"one grant of a kind":                oneGrant,
		"grants of a contact":                grantsOfContact,
		"rules":                              rules,
		"rules and revision belong together": rulesBelongTogether,
		"revisions are not lost":             revisionsAreNotLost,
		"decisions":                          decisions,
		"decisions of the last days":         latestDecisions,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func anAgent(id string) policy.Agent {
	return policy.Agent{
		ID: id, OwnerID: "owner", Handle: "handle-" + id, Name: "Name of " + id, Mode: policy.Assisted, Status: policy.Active,
		KeyHash: "hash of " + id, KeyGeneration: 1, RulesRev: 1, RulesStamp: "stamp 1",
		Tools: []policy.ToolGroup{policy.ToolsRead, policy.ToolsTalk}, CreatedAt: start,
	}
}

func insertAgent(t *testing.T, s *store.Store, a policy.Agent) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		fresh, err := s.InsertAgent(tx, a)
		if !fresh {
			t.Errorf("the agent %s is not new", a.ID)
		}
		return err
	})
}

func aGrant(id string) policy.Grant {
	limit := 25.5
	return policy.Grant{
		ID: id, OwnerID: "owner", AgentID: "a1", Contact: "anna@a.test", Capability: "disclose.*", Mode: policy.Allow,
		Constraints: policy.Constraints{MaxAmount: &limit, AllowedValues: map[string][]any{"cuisine": {"thai", 2.0, true}}},
		ExpiresAt:   start.Add(time.Hour), CreatedAt: start,
	}
}

func insertGrant(t *testing.T, s *store.Store, g policy.Grant) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error { return s.InsertGrant(tx, g) })
}

func agents(t *testing.T, s *store.Store) {
	one, two := anAgent("a1"), anAgent("a2")
	two.Name = ""
	insertAgent(t, s, two)
	insertAgent(t, s, one)
	inTx(t, s, func(tx node.Tx) error {
		byID, err1 := s.AgentByID(tx, "a1")
		byHandle, err2 := s.AgentByHandle(tx, "handle-a1")
		client1, err3 := s.AgentByClient(tx, "a1")
		client2, err4 := s.AgentByClient(tx, "handle-a1")
		byKey, err6 := s.AgentByKeyHash(tx, "hash of a1")
		for _, got := range []policy.Agent{byID, byHandle, client1, client2, byKey} {
			if diff := cmp.Diff(one, got); diff != "" {
				t.Errorf("the agent (-want +got):\n%s", diff)
			}
		}
		all, err5 := s.Agents(tx)
		if diff := cmp.Diff([]policy.Agent{one, two}, all); diff != "" {
			t.Errorf("all agents (-want +got):\n%s", diff)
		}
		return errors.Join(err1, err2, err3, err4, err5, err6)
	})
	inTx(t, s, func(tx node.Tx) error {
		_, err1 := s.AgentByID(tx, "handle-a1")
		_, err2 := s.AgentByHandle(tx, "a1")
		_, err3 := s.AgentByClient(tx, "a3")
		_, err4 := s.AgentByKeyHash(tx, "hash of a3")
		for _, err := range []error{err1, err2, err3, err4} {
			wantCode(t, err, node.NotFound)
		}
		return nil
	})
}

func oneHandle(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	second := anAgent("a2")
	second.Handle = "handle-a1"
	inTx(t, s, func(tx node.Tx) error {
		fresh, err := s.InsertAgent(tx, second)
		if fresh {
			t.Error("two agents share a handle")
		}
		return err
	})
}

func changedAgents(t *testing.T, s *store.Store) {
	want := anAgent("a1")
	insertAgent(t, s, want)
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.RaiseRules(tx, "a1", "stamp 2")
		want.RulesRev, want.RulesStamp = 2, "stamp 2"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("raised (-want +got):\n%s", diff)
		}
		want.Mode, want.Status, want.Tools = policy.Manual, policy.Disabled, []policy.ToolGroup{}
		return errors.Join(err, s.SaveAgent(tx, want))
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.ReplaceAgentKey(tx, "a1", "another hash")
		want.KeyHash, want.KeyGeneration = "another hash", 2
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with another key (-want +got):\n%s", diff)
		}
		return err
	})
	inTx(t, s, func(tx node.Tx) error {
		_, err1 := s.RaiseRules(tx, "a2", "stamp")
		_, err2 := s.ReplaceAgentKey(tx, "a2", "hash")
		wantCode(t, err1, node.NotFound)
		wantCode(t, err2, node.NotFound)
		return nil
	})
}

func grants(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	want := aGrant("g1")
	insertGrant(t, s, want)
	check := func(want policy.Grant) {
		t.Helper()
		inTx(t, s, func(tx node.Tx) error {
			byID, err1 := s.Grant(tx, "g1")
			byKey, err2 := s.GrantFor(tx, "a1", want.Contact, want.Capability, want.Mode)
			if diff := cmp.Diff([]policy.Grant{want, want}, []policy.Grant{byID, byKey}); diff != "" {
				t.Errorf("the grant (-want +got):\n%s", diff)
			}
			return errors.Join(err1, err2)
		})
	}
	check(want)
	want.Constraints, want.ExpiresAt = policy.Constraints{}, time.Time{}
	inTx(t, s, func(tx node.Tx) error { return s.SaveGrant(tx, want) })
	check(want)
	inTx(t, s, func(tx node.Tx) error { return s.DeleteGrant(tx, "g1") })
	inTx(t, s, func(tx node.Tx) error {
		_, err1 := s.Grant(tx, "g1")
		_, err2 := s.GrantFor(tx, "a1", want.Contact, want.Capability, want.Mode)
		wantCode(t, err1, node.NotFound)
		wantCode(t, err2, node.NotFound)
		wantCode(t, s.DeleteGrant(tx, "g1"), node.Conflict)
		wantCode(t, s.SaveGrant(tx, want), node.Conflict)
		return nil
	})
}

// oneGrant: unique by agent, contact, capability and mode, and by nothing less.
func oneGrant(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	insertAgent(t, s, anAgent("a2"))
	insertGrant(t, s, aGrant("g1"))
	inTx(t, s, func(tx node.Tx) error {
		wantCode(t, s.InsertGrant(tx, aGrant("g2")), node.Conflict)
		return nil
	})
	for i, change := range []func(*policy.Grant){
		func(g *policy.Grant) { g.AgentID = "a2" },
		func(g *policy.Grant) { g.Contact = "" },
		func(g *policy.Grant) { g.Contact = "bert@a.test" },
		func(g *policy.Grant) { g.Capability = "disclose.dietary" },
		func(g *policy.Grant) { g.Mode = policy.Ask },
		func(g *policy.Grant) { g.Mode = policy.Deny },
	} {
		g := aGrant(fmt.Sprint("other ", i))
		change(&g)
		insertGrant(t, s, g)
	}
}

func grantsOfContact(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	contacts := []string{"bert@b.test", "", "anna@a.test"}
	for i, contact := range contacts {
		for _, capability := range []string{"task.*", "disclose.*"} {
			g := aGrant(fmt.Sprint("g", i, capability))
			g.Contact, g.Capability = contact, capability
			insertGrant(t, s, g)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		all, err := s.Grants(tx, "a1", nil)
		if len(all) != 6 || all[0].Contact != "" || all[1].Contact != "" {
			t.Errorf("got %d grants, the first for %q; want 6, the agent-wide ones first", len(all), all[0].Contact)
		}
		for _, contact := range contacts {
			some, err2 := s.Grants(tx, "a1", &contact)
			err = errors.Join(err, err2)
			var found []string
			for _, g := range some {
				found = append(found, g.Contact+" "+g.Capability)
			}
			if diff := cmp.Diff([]string{contact + " disclose.*", contact + " task.*"}, found); diff != "" {
				t.Errorf("grants of %q (-want +got):\n%s", contact, diff)
			}
		}
		none, err2 := s.Grants(tx, "a2", nil)
		if len(none) != 0 {
			t.Errorf("another agent has %d grants", len(none))
		}
		return errors.Join(err, err2)
	})
}

func rules(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	standing := policy.Standing{AgentID: "a1", OwnerID: "owner", Mode: policy.Assisted, Status: policy.Active, RulesRev: 1, RulesStamp: "stamp 1", Handle: "handle-a1"}
	read := func() policy.Rules {
		t.Helper()
		var got policy.Rules
		inTx(t, s, func(tx node.Tx) error {
			alone, err := s.Standing(tx, "a1")
			if diff := cmp.Diff(standing, alone); diff != "" {
				t.Errorf("standing (-want +got):\n%s", diff)
			}
			var err2 error
			got, err2 = s.Rules(tx, "a1")
			return errors.Join(err, err2)
		})
		return got
	}
	if diff := cmp.Diff(policy.Rules{Standing: standing}, read()); diff != "" {
		t.Errorf("without grants (-want +got):\n%s", diff)
	}
	contact, wide := aGrant("g1"), aGrant("g2")
	wide.Contact, wide.Mode, wide.Constraints, wide.ExpiresAt = "", policy.Deny, policy.Constraints{}, time.Time{}
	insertGrant(t, s, contact)
	insertGrant(t, s, wide)
	got := read()
	slices.SortFunc(got.Grants, func(a, b policy.Rule) int { return strings.Compare(a.GrantID, b.GrantID) })
	want := policy.Rules{Standing: standing, Grants: []policy.Rule{
		{GrantID: "g1", ContactKey: s.ContactKey("anna@a.test"), Capability: "disclose.*", Mode: policy.Allow, Constraints: contact.Constraints, ExpiresAt: contact.ExpiresAt},
		{GrantID: "g2", Capability: "disclose.*", Mode: policy.Deny},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with grants (-want +got):\n%s", diff)
	}
	if s.ContactKey("") != "" || s.ContactKey("anna@a.test") == s.ContactKey("bert@a.test") {
		t.Error("contacts are not told apart by their keys")
	}
	inTx(t, s, func(tx node.Tx) error {
		_, err1 := s.Standing(tx, "a2")
		_, err2 := s.Rules(tx, "a2")
		wantCode(t, err1, node.NotFound)
		wantCode(t, err2, node.NotFound)
		return nil
	})
}

// rulesBelongTogether: a reader beside writers never sees the grants of one
// revision with the number of another. At an even revision there is the grant, at
// an odd one there is none.
func rulesBelongTogether(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	const changes = 60
	var writer sync.WaitGroup
	done := make(chan struct{})
	writer.Go(func() {
		defer close(done)
		for i := range changes {
			err := s.InTx(context.Background(), func(tx node.Tx) error {
				if _, err := s.RaiseRules(tx, "a1", fmt.Sprint("stamp of ", i+2)); err != nil {
					return err
				}
				if i%2 == 0 {
					return s.InsertGrant(tx, aGrant("g1"))
				}
				return s.DeleteGrant(tx, "g1")
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		inTx(t, s, func(tx node.Tx) error {
			got, err := s.Rules(tx, "a1")
			if even := got.RulesRev%2 == 0; err == nil && even != (len(got.Grants) == 1) {
				t.Errorf("revision %d came with %d grants", got.RulesRev, len(got.Grants))
			}
			return err
		})
	}
	writer.Wait()
}

// revisionsAreNotLost: of changes at once each takes a number of its own.
func revisionsAreNotLost(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	const writers, changes = 6, 5
	seen := make(chan int64, writers*changes)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range changes {
				var rev int64
				err := s.InTx(context.Background(), func(tx node.Tx) error {
					a, err := s.RaiseRules(tx, "a1", fmt.Sprint(w, i))
					rev = a.RulesRev
					return err
				})
				if err != nil {
					t.Error(err)
				}
				seen <- rev
			}
		})
	}
	group.Wait()
	close(seen)
	revs := map[int64]bool{}
	for rev := range seen {
		revs[rev] = true
	}
	if len(revs) != writers*changes || !revs[writers*changes+1] {
		t.Errorf("%d changes took %d numbers", writers*changes, len(revs))
	}
}

func decisions(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	want := policy.Record{
		Decision: policy.Decision{
			ID: "d1", Outcome: policy.Held, RulesRev: 7, Version: "0123456789abcdef",
			Answers: []policy.Answer{
				{Capability: "task.propose", Outcome: policy.Allowed, Reason: policy.ModeAllows},
				{Capability: "disclose.dietary", Outcome: policy.Held, Reason: policy.GrantAsks, GrantID: "g1"},
			},
		},
		OwnerID: "owner", AgentID: "a1", At: start, Subject: "m1", TaskUID: "t1",
		Facts: policy.Facts{
			Mode: policy.Assisted, Status: policy.Active, Contact: "anna@a.test", Connection: "active", StructuredOnly: true,
			FreeText: []string{"task.propose"}, Capabilities: []string{"task.propose", "disclose.dietary"},
			Fields:      map[string]any{"dietaryNotes": []any{"vegan", nil}, "budget": 25.5, "outside": true, "venue": map[string]any{"name": "Lola\x00"}},
			AmountField: "budget", DenyOnly: true,
		},
	}
	inTx(t, s, func(tx node.Tx) error { return s.InsertDecision(tx, want) })
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.DecisionRecord(tx, "d1")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the decision (-want +got):\n%s", diff)
		}
		_, missing := s.DecisionRecord(tx, "d2")
		wantCode(t, missing, node.NotFound)
		return err
	})
}

// latestDecisions: the agent's own since a time, the newest first, the facts of
// those alone that are wanted.
func latestDecisions(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	insertAgent(t, s, anAgent("a2"))
	inTx(t, s, func(tx node.Tx) error {
		var err error
		for i, capability := range []string{"message.send", "task.propose", "message.send", "message.send"} {
			err = errors.Join(err, s.InsertDecision(tx, policy.Record{
				Decision: policy.Decision{ID: fmt.Sprint("d", i), Outcome: policy.Held, RulesRev: 1, Answers: []policy.Answer{{Capability: capability}}},
				OwnerID:  "owner", AgentID: "a1", At: start.Add(time.Duration(i/2) * time.Hour), Facts: policy.Facts{Contact: fmt.Sprint("contact ", i)},
			}))
		}
		return errors.Join(err, s.InsertDecision(tx, policy.Record{
			Decision: policy.Decision{ID: "other", Outcome: policy.Held, RulesRev: 1}, OwnerID: "owner", AgentID: "a2", At: start.Add(time.Hour),
		}))
	})
	for _, test := range []struct {
		name    string
		since   time.Time
		limit   int
		without string
		asked   int
		want    []string
	}{
		{"all", start, 9, "", 4, []string{"d3 contact 3", "d2 contact 2", "d1 contact 1", "d0 contact 0"}},
		{"since later", start.Add(time.Microsecond), 9, "", 2, []string{"d3 contact 3", "d2 contact 2"}},
		{"up to a limit", start, 3, "", 3, []string{"d3 contact 3", "d2 contact 2", "d1 contact 1"}},
		{"not all wanted", start, 3, "task.propose", 3, []string{"d3 contact 3", "d2 contact 2"}},
		{"none so late", start.Add(2 * time.Hour), 9, "", 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			inTx(t, s, func(tx node.Tx) error {
				asked := 0
				list, err := s.Decisions(tx, "a1", test.since, test.limit, func(answers []policy.Answer) bool {
					asked++
					return answers[0].Capability != test.without
				})
				var got []string
				for _, r := range list {
					got = append(got, r.ID+" "+r.Facts.Contact)
				}
				if diff := cmp.Diff(test.want, got); diff != "" || asked != test.asked {
					t.Errorf("asked for %d decisions, want %d; (-want +got):\n%s", asked, test.asked, diff)
				}
				return err
			})
		})
	}
}
