package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/delivery"
	"agentlink/node/token"
	"agentlink/policy"
)

// G5: random proposals under random rules, and a reader at the other end of the
// wire that knows what the owner has said and nothing of the engine.
const (
	// fewProposals are those of make test; AGENTLINK_PROPOSALS says how many
	// otherwise: 100,000 take some minutes.
	fewProposals = 20_000
	ofOneWorld   = 1_000
)

// talker is one agent that proposes, its owner, and a peer that takes everything.
type talker struct {
	*pair
	rules    []rule
	why      map[string]map[string]string // what allowed each field of a message, when it was released
	granted  map[string]string            // what the owner approved, by message: its fields
	problems []string
	worker   *delivery.Worker
	counts   map[string]int
}

// TestProposals (G5): of 100,000 random proposals no field leaves without an allow
// grant that fits it, or an approval that is used up.
func TestProposals(t *testing.T) {
	if asked(t, "AGENTLINK_SIM_SEED", 0) != 0 {
		t.Skip("one history was asked for")
	}
	count := asked(t, "AGENTLINK_PROPOSALS", fewProposals)
	if raceDetector {
		count /= 40
	}
	var mu sync.Mutex
	all := map[string]int{}
	t.Run("worlds", func(t *testing.T) {
		for n := range max(1, count/ofOneWorld) {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				counts := propose(t, uint64(n), nil, ofOneWorld).counts
				mu.Lock()
				defer mu.Unlock()
				for what, n := range counts {
					all[what] += n
				}
			})
		}
	})
	t.Logf("%v", all)
	for _, what := range []string{"left", "held", "refused", "a field by a grant", "a field by an approval"} {
		if all[what] < all["proposed"]/50 {
			t.Errorf("%s: only %d of %d: the cases prove little", what, all[what], all["proposed"])
		}
	}
}

// TestProposalsFindPlantedFaults: the reader finds an engine that lets through what
// an owner wants to be asked about, and one that forgets what a rule is bound to.
func TestProposalsFindPlantedFaults(t *testing.T) {
	if raceDetector {
		t.Skip("planted faults are hunted without -race: make proposals")
	}
	for name, change := range map[string]func(policy.Rules) policy.Rules{
		"ask is taken for allow": func(r policy.Rules) policy.Rules {
			for i := range r.Grants {
				if r.Grants[i].Mode == policy.Ask {
					r.Grants[i].Mode = policy.Allow
				}
			}
			return r
		},
		"constraints are forgotten": func(r policy.Rules) policy.Rules {
			for i := range r.Grants {
				r.Grants[i].Constraints = policy.Constraints{}
			}
			return r
		},
		"the contact is forgotten": func(r policy.Rules) policy.Rules {
			for i := range r.Grants {
				r.Grants[i].ContactKey = ""
			}
			return r
		},
		"denies are forgotten": func(r policy.Rules) policy.Rules {
			kept := r.Grants[:0]
			for _, g := range r.Grants {
				if g.Mode != policy.Deny {
					kept = append(kept, g)
				}
			}
			r.Grants = kept
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Where forgetting makes two rules alike, the order in the database decides, and
			// the world's keys that order: one world may be lucky, ten are not.
			for seed := range uint64(10) {
				found := propose(t, 1+seed, func(at *seams) { at.rules = changedRules{at.rules, change} }, 500)
				if len(found.problems) > 0 {
					return
				}
			}
			t.Error("nobody noticed")
		})
	}
}

// propose lets an agent make some proposals in a world of its own. Without a fault,
// what the reader finds fails the test.
func propose(t *testing.T, seed uint64, mistake func(*seams), count int) *talker {
	w := borrowWorld(t)
	defer w.giveBack()
	if mistake != nil {
		w.fault = &fault{beneath: func(_ *side, at *seams) { mistake(at) }}
		defer func() { w.fault = nil }()
	}
	h := w.history(t, 5_000_000+seed)
	a := &talker{pair: &pair{history: h, a: h.sides[0], b: h.sides[1]}, why: map[string]map[string]string{}, granted: map[string]string{}, counts: map[string]int{}}
	h.connect()
	a.worker = delivery.NewWorker(delivery.WorkerConfig{
		DB: a.a.store, Outbox: a.a.store, Coordination: a.a.coordination, Directory: h.network, Transport: a, Inbox: a.a.inbox,
		Signer: a.a.identity.Signer, Host: a.a.host, Clock: a.a.clock, IDs: a.a.ids, Jitter: h.rng.Float64, Log: a.a.logged.logger(),
	})
	a.knowsItsRules()
	for range count {
		a.step()
	}
	if mistake == nil {
		for _, problem := range a.problems {
			t.Errorf("seed %d: %s", seed, problem)
		}
	}
	return a
}

// step is one proposal, under rules that have just changed or have not.
func (a *talker) step() {
	for a.rng.IntN(3) == 0 {
		a.changesARule()
	}
	if a.rng.IntN(10) == 0 {
		a.mode(a.a, pick(a.rng, []policy.Mode{policy.Manual, policy.Assisted, policy.Assisted, policy.Autonomous}))
	}
	a.clock.Advance(time.Duration(a.rng.IntN(90)) * time.Second)
	a.proposes()
	if a.rng.IntN(20) == 0 { // between the release and the wire
		a.changesARule()
	}
	a.sends()
	a.decides()
	a.sends()
}

// proposes starts a task, or goes on with one.
func (a *talker) proposes() {
	a.counts["proposed"]++
	fields := a.fields()
	var result coordination.Result
	err := a.a.store.InTx(context.Background(), func(tx node.Tx) (err error) {
		if a.uid != "" && a.rng.IntN(4) > 0 {
			result, err = a.a.coordination.Propose(tx, a.a.actor(), a.uid, fields, 0)
		} else {
			c, found := a.a.connection(tx)
			if found != nil {
				return found
			}
			result, err = a.a.coordination.StartTask(tx, a.a.actor(), coordination.StartTask{
				ConnectionID: c.ID, Type: "dinner.coordination", Title: "Dinner", Proposal: fields, ExpiresInHours: 100,
			})
		}
		if err == nil && result.Status == coordination.StatusQueued {
			a.why[result.ID] = a.allowed(fields)
		}
		return err
	})
	switch {
	case err != nil && node.CodeOf(err) != node.Conflict && node.CodeOf(err) != node.NotFound:
		a.t.Fatalf("%s: %v", fields, err)
	case err != nil || result.Status == coordination.StatusRefused:
		a.counts["refused"]++
		a.uid = ""
	case result.Status == coordination.StatusQueued:
		a.uid = result.TaskUID
	default:
		a.counts["held"]++
	}
}

// decides: the owner says yes to most of what waits.
func (a *talker) decides() {
	var list []approvals.Approval
	a.a.in(a.t, func(tx node.Tx) (err error) {
		list, err = a.a.approvals.Approvals(tx, approvals.Filter{AgentID: a.a.agent.ID, Status: approvals.Pending, Limit: 50})
		return err
	})
	for _, waits := range list {
		yes := a.rng.IntN(3) > 0
		_, err := a.decide(a.a, waits, func(d *approvals.Decision) { d.Approve = yes })
		if err != nil {
			a.t.Fatal(err)
		}
		if yes {
			a.granted[waits.Subject] = string(waits.Parameters)
		}
	}
}

func (a *talker) sends() {
	for range 100 {
		more, err := a.worker.Step(context.Background())
		must(a.t, err)
		if !more {
			return
		}
	}
}

// Post implements delivery.Transport: the reader at the other end.
func (a *talker) Post(_ context.Context, _ string, body []byte) (int, http.Header, []byte, bool, error) {
	e := claimsOf(body)
	if e.Type == wire.TaskCreate || e.Type == wire.TaskPropose {
		a.reads(e)
	}
	ack := wire.Ack{
		Iss: e.Aud, Aud: e.Iss, Ref: e.JTI, SHA256: fmt.Sprintf("%x", sha256.Sum256(body)), Seq: e.Seq, Status: wire.Applied, Ack: e.Seq, Iat: a.clock.Now().Unix(),
	}
	signed, err := a.b.identity.Signer.Sign(token.Ack, ack)
	return http.StatusOK, nil, []byte(signed), true, err
}

// reads opens a proposal and asks for each of its fields who let it go.
func (a *talker) reads(e wire.Envelope) {
	inner, err := e.Open(a.b.identity.Open)
	if err != nil {
		a.problems = append(a.problems, "an envelope that its addressee cannot open: "+err.Error())
		return
	}
	fields := proposed(coordination.Message{Content: inner.Content})
	if len(fields) > 0 {
		a.counts["left"]++
	}
	for field := range fields {
		capability := kinds[field]
		if capability == "" {
			continue
		}
		raw, _ := json.Marshal(fields) // of a message that was read
		if now := a.says(capability, raw); now == policy.Deny {
			a.problems = append(a.problems, fmt.Sprintf("%s leaves, and %s is denied", field, capability))
		}
		switch {
		case a.why[e.JTI][field] == "allow":
			a.counts["a field by a grant"]++
		case a.a.approved(e.JTI) && sameFields(a.granted[e.JTI], raw):
			a.counts["a field by an approval"]++
		default:
			a.problems = append(a.problems, fmt.Sprintf("%s leaves in %s: no grant allows %s (%v), and its owner approved %q", field, raw, capability, a.why[e.JTI], a.granted[e.JTI]))
		}
	}
}

// kinds of personal detail, by field, as the requirement has them.
var kinds = map[string]string{
	"date": "disclose.availability", "time": "disclose.availability", "timezone": "disclose.availability", "cuisine": "disclose.preferences",
	"dietaryNotes": "disclose.dietary", "budgetPerPerson": "disclose.budget", "notes": "disclose.notes",
}

// fields are those of a random dinner.
func (a *talker) fields() json.RawMessage {
	fields := map[string]any{"date": fmt.Sprintf("2027-01-%02d", 1+a.rng.IntN(28)), "time": []string{"19:30", "20:00"}[a.rng.IntN(2)], "timezone": "Europe/Berlin"}
	for _, field := range []struct {
		name  string
		value func() any
	}{
		{"cuisine", func() any { return pick(a.rng, cuisines) }},
		{"partySize", func() any { return 1 + a.rng.IntN(4) }},
		{"dietaryNotes", func() any { return []string{pick(a.rng, diets), pick(a.rng, diets)}[:1+a.rng.IntN(2)] }},
		{"budgetPerPerson", func() any { return 10 * (1 + a.rng.IntN(6)) }},
		{"notes", func() any { return "Call me" }},
		{"venue", func() any { return map[string]any{"name": "Trattoria"} }},
	} {
		if a.rng.IntN(3) == 0 {
			fields[field.name] = field.value()
		}
	}
	raw, err := node.Canonical(fields)
	must(a.t, err)
	return raw
}

var cuisines, diets = []string{"thai", "greek", "italian"}, []string{"vegan", "no nuts", "halal"}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
