package policy_test

import (
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

const (
	keepsAll    = "package overlay\n\ndecision := \"keep\"\n"
	refusesAnna = "package overlay\n\ndecision := \"refuse\" if input.contact == \"anna@a.example\"\nelse := \"keep\"\n"
)

func (b *bundle) setOverlay(t *testing.T, source string, seen int64) (overlay policy.Overlay) {
	t.Helper()
	b.in(t, func(tx node.Tx) (err error) {
		overlay, err = b.SetOverlay(tx, owner, source, seen)
		return err
	})
	return overlay
}

func (b *bundle) rev(t *testing.T, id string) (rev int64) {
	t.Helper()
	b.in(t, func(tx node.Tx) error {
		agent, err := b.Agent(tx, id)
		rev = agent.RulesRev
		return err
	})
	return rev
}

// TestOverlayHoldsAtOnceOnEveryReplica: what one replica remembers ends with the
// transaction in which another sets the rules, for every agent and for those that
// are made later.
func TestOverlayHoldsAtOnceOnEveryReplica(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := over(t, b.store, b.clock)
	ada, _ := b.agent(t, "ada", policy.Assisted)
	bob, _ := b.agent(t, "bob", policy.Autonomous)
	check := func(want policy.Outcome, agents ...string) {
		t.Helper()
		for _, id := range agents {
			for _, replica := range []*bundle{b, other} {
				if got := replica.decide(t, id, "message.send"); got.Outcome != want {
					t.Errorf("got %s, want %s", got.Outcome, want)
				}
			}
		}
	}
	check(policy.Allowed, ada.ID, bob.ID)
	first := b.setOverlay(t, refusesAnna, 0)
	check(policy.Refused, ada.ID, bob.ID)
	later, _ := b.agent(t, "later", policy.Autonomous)
	check(policy.Refused, later.ID)
	if got := b.decide(t, ada.ID, "message.send"); !strings.HasSuffix(got.Version, "+"+first.Version[:16]) {
		t.Errorf("the decision names the rules %s", got.Version)
	}
	if rev := b.rev(t, ada.ID); rev != ada.RulesRev+1 || b.rev(t, bob.ID) != bob.RulesRev+1 {
		t.Errorf("revision %d after %d", rev, ada.RulesRev)
	}
	b.setOverlay(t, "", first.Number)
	check(policy.Allowed, ada.ID, bob.ID, later.ID)
}

func TestOverlayIsTheOwners(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, kind := range []node.ActorKind{node.ActorAgent, node.ActorNode, node.ActorPeer} {
		actor := node.Actor{Kind: kind, OwnerID: "owner"}
		b.refused(t, node.PolicyDenied, func(tx node.Tx) error {
			_, err := b.SetOverlay(tx, actor, keepsAll, 0)
			return err
		})
		b.refused(t, node.PolicyDenied, func(tx node.Tx) error {
			_, err := b.Overlay(tx, actor)
			return err
		})
	}
}

func TestOverlayVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	wantFields(t, b.refused(t, node.BadRequest, func(tx node.Tx) error {
		_, err := b.SetOverlay(tx, owner, "package overlay\ndecision := http.send({})", 0)
		return err
	}), "overlay")
	first := b.setOverlay(t, keepsAll, 0)
	if again := b.setOverlay(t, keepsAll, 1); again.ID != first.ID {
		t.Errorf("the same text is another version: %+v", again)
	}
	b.refused(t, node.Conflict, func(tx node.Tx) error { // somebody has set them since
		_, err := b.SetOverlay(tx, owner, refusesAnna, 0)
		return err
	})
	b.setOverlay(t, "", 1)
	b.setOverlay(t, refusesAnna, 2)
	b.in(t, func(tx node.Tx) error {
		list, err := b.Overlays(tx, owner, 0, 10)
		if len(list) != 3 || list[0].Number != 3 || list[0].Source != refusesAnna || list[1].Version != "" || list[2].Source != keepsAll {
			t.Errorf("got %+v", list)
		}
		return err
	})
	if set, removed := b.logged(t, audit.OverlaySet), b.logged(t, audit.OverlayRemoved); len(set) != 2 || len(removed) != 1 || data(t, removed[0])["old"] != first.Version {
		t.Errorf("%d set and %d removed in the log", len(set), len(removed))
	}
	if rev := b.rev(t, agent.ID); rev < agent.RulesRev+3 {
		t.Errorf("revision %d", rev)
	}
}

// late is a store in which another session of the owner's is a moment faster.
type late struct{ policy.Store }

func (l late) InsertOverlay(tx node.Tx, o policy.Overlay) (bool, error) {
	theirs := o
	theirs.ID, theirs.Version, theirs.Source = "theirs", "their version", keepsAll
	if fresh, err := l.Store.InsertOverlay(tx, theirs); !fresh || err != nil {
		return fresh, err
	}
	return l.Store.InsertOverlay(tx, o)
}

// TestOverlaysAtOnce: of two sessions that store the same number one is told that the
// rules have changed, and nothing of its text holds.
func TestOverlaysAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow := policy.New(policy.Config{Store: late{b.store}, IDs: node.RandomIDs{}, Audit: audit.New(b.store, []byte("key")), Decider: b.engine, Imaginer: b.engine})
	b.refused(t, node.Conflict, func(tx node.Tx) error {
		_, err := slow.SetOverlay(tx, owner, refusesAnna, 0)
		return err
	})
	if set := b.logged(t, audit.OverlaySet); len(set) != 0 {
		t.Errorf("the log says %v", set)
	}
}

// TestForeseeOverlay: decisions are made again at the time at which they were made,
// and explained again under the rules that hold.
func TestForeseeOverlay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	atNoon := b.ask(t, policy.Request{AgentID: agent.ID, Contact: anna, Capabilities: []string{"message.send"}})
	b.clock.Advance(10 * time.Hour)
	atNight := b.ask(t, policy.Request{AgentID: agent.ID, Contact: anna, Capabilities: []string{"message.send"}})
	b.clock.Advance(24*time.Hour - 10*time.Hour)
	quiet := "package overlay\n\ndecision := \"refuse\" if clock(input.now, \"UTC\").hour >= 22\nelse := \"keep\"\n"
	foresee := func(source string) (forecast policy.OverlayForecast) {
		b.in(t, func(tx node.Tx) (err error) {
			forecast, err = b.ForeseeOverlay(tx, owner, source)
			return err
		})
		return forecast
	}
	past := foresee(quiet).Agents[0].Past
	if past.Looked != 2 || len(past.Turned) != 1 || past.Turned[0].ID != atNight.ID || past.Turned[0].After != policy.Refused {
		t.Errorf("looked at %d, turned %+v", past.Looked, past.Turned)
	}
	if problems := foresee("package other").Problems; len(problems) == 0 {
		t.Error("no problem was found")
	}
	b.setOverlay(t, quiet, 0)
	again := func(id string) (decision policy.Decision) {
		b.in(t, func(tx node.Tx) (err error) {
			decision, err = b.engine.Reevaluate(tx, id, policy.Change{})
			return err
		})
		return decision
	}
	if again(atNoon.ID).Outcome != policy.Allowed || again(atNight.ID).Outcome != policy.Refused {
		t.Error("decisions are not made again at their own time")
	}
	if past := foresee("").Agents[0].Past; len(past.Turned) != 1 || past.Turned[0].Before != policy.Refused || past.Turned[0].After != policy.Allowed {
		t.Errorf("without them: %+v", past.Turned)
	}
	// A text that never ends is asked a few times, not for each decision.
	loop := "package overlay\n\nd := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\ndecision := \"keep\" if count([1 | some a in d; some b in d; some c in d; some e in d; some f in d; some g in d; some h in d; some i in d; some j in d]) > 0\n"
	for range 20 {
		b.ask(t, policy.Request{AgentID: agent.ID, Contact: anna, Capabilities: []string{"task.create"}, Fields: map[string]any{"x": b.clock.Now().String()}})
		b.clock.Advance(time.Hour)
	}
	began := time.Now()
	if past := foresee(loop).Agents[0].Past; len(past.Turned) < 15 {
		t.Errorf("turned %d", len(past.Turned))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestForecastUnderAnOverlay: what depends on the form of a request is left open, the
// rest is told as it is.
func TestForecastUnderAnOverlay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	answer := func(capability string) (found policy.Answer) {
		b.in(t, func(tx node.Tx) error {
			list, err := b.Effective(tx, agent.ID, anna)
			for _, a := range list {
				if a.Capability == capability {
					found = a
				}
			}
			return err
		})
		return found
	}
	b.setOverlay(t, refusesAnna, 0)
	if got := answer("message.send"); got.Outcome != policy.Refused || got.Reason != policy.OwnRulesRefuse || got.Otherwise != "" {
		t.Errorf("got %+v", got)
	}
	b.setOverlay(t, "package overlay\n\ndecision := \"hold\" if input.amount > 200\nelse := \"keep\"\n", 1)
	if got := answer("message.send"); got.Outcome != policy.Allowed || got.Otherwise != policy.Refused {
		t.Errorf("got %+v", got)
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	for want, problem := range map[string]policy.Problem{
		"no decision": {Text: "no decision"}, "line 3: no decision": {Line: 3, Text: "no decision"},
	} {
		if got := problem.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
