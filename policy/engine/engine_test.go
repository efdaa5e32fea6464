package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
	rules "agentlink/rego"
)

func TestDecideRecordsItsDecision(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted, grant(anna, "disclose.dietary", policy.Ask))
	request := policy.Request{
		Contact: anna, Connection: "active", StructuredOnly: true, FreeText: []string{"task.respond"},
		Capabilities: []string{"task.propose", "disclose.dietary"}, AmountField: "budget",
		Fields:  map[string]any{"dietaryNotes": []string{"vegan"}, "budget": 25, "odd": math.NaN()},
		Subject: "message 1", TaskUID: "task 1",
	}
	decision := b.decide(t, request)

	want := policy.Record{
		Decision: decision, OwnerID: "owner", AgentID: agentID, At: noon, Subject: "message 1", TaskUID: "task 1",
		Facts: policy.Facts{
			Mode: policy.Assisted, Status: policy.Active, Contact: anna, Connection: "active", StructuredOnly: true,
			FreeText: []string{"task.respond"}, Capabilities: request.Capabilities, AmountField: "budget",
			Fields: map[string]any{"dietaryNotes": []any{"vegan"}, "budget": 25.0, "odd": nil},
		},
	}
	got, err := b.Explain(at(noon), decision.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if decision.Version != rules.Version()[:16] || decision.RulesRev != b.revs {
		t.Errorf("decided under %s, rev %d; want %s, rev %d", decision.Version, decision.RulesRev, rules.Version()[:16], b.revs)
	}
	checkAudit(t, b.store.rows, decision)
}

func checkAudit(t *testing.T, rows []audit.Row, decision policy.Decision) {
	t.Helper()
	if len(rows) != 1 || rows[0].Type != audit.PolicyDecided || rows[0].Subject != decision.ID || rows[0].TaskUID != "task 1" ||
		rows[0].ActorKind != node.ActorAgent || rows[0].OwnerID != "owner" || rows[0].AgentID != agentID {
		t.Fatalf("the audit log has %+v, want one row of the decision", rows)
	}
	var data map[string]any
	if err := json.Unmarshal(rows[0].Data, &data); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"about": "message 1", "contact": anna, "outcome": "hold", "denyOnly": false, "rulesRev": 1.0, "version": decision.Version,
		"answers": map[string]any{
			"task.propose":     map[string]any{"outcome": "allow", "reason": "mode_allows", "grant": ""},
			"disclose.dietary": map[string]any{"outcome": "hold", "reason": "grant_asks", "grant": anna + " disclose.dietary ask"},
		},
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(rows[0].Data), "vegan") {
		t.Error("the audit log repeats the fields")
	}
}

// A remembered decision is recorded like any other.
func TestEveryDecisionIsRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted)
	for range 3 {
		b.decide(t, toAnna("message.send"))
	}
	if len(b.store.decisions) != 3 || len(b.store.rows) != 3 || b.store.loads != 1 {
		t.Errorf("%d decisions, %d audit rows, %d loads; want 3, 3, 1", len(b.store.decisions), len(b.store.rows), b.store.loads)
	}
}

func TestRulesAreReadAgainAfterAChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outcome := func() policy.Outcome { return b.decide(t, toAnna("message.send")).Outcome }
	b.setRules(policy.Assisted)
	before := outcome()
	b.setRules(policy.Assisted, grant("", "message.send", policy.Deny))
	denied := outcome()
	b.setRules(policy.Manual)
	manual := outcome()
	if before != policy.Allowed || denied != policy.Refused || manual != policy.Held {
		t.Errorf("got %s, %s, %s", before, denied, manual)
	}
}

// A change that is rolled back may have been evaluated in its transaction. The
// next change takes the same number and must not meet what was remembered.
func TestARolledBackChangeIsNotRemembered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted, grant("", "message.send", policy.Allow))
	if got := b.decide(t, toAnna("message.send")).Outcome; got != policy.Allowed {
		t.Fatal(got)
	}
	rev := b.store.rules[agentID].RulesRev
	b.setRules(policy.Assisted, grant("", "message.send", policy.Deny))
	other := b.store.rules[agentID]
	other.RulesRev = rev
	b.store.rules[agentID] = other
	if got := b.decide(t, toAnna("message.send")).Outcome; got != policy.Refused {
		t.Errorf("got %s under the rolled-back rules, want refuse", got)
	}
}

// Remembered rules and answers end when a grant does, without any change.
func TestAnExpiryEndsWhatIsRemembered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	allow := grant(anna, "disclose.dietary", policy.Allow)
	allow.ExpiresAt = noon.Add(time.Minute)
	b.setRules(policy.Assisted, allow, grant(anna, "disclose.*", policy.Deny))
	steps := []struct {
		after time.Duration
		want  policy.Outcome
	}{{0, policy.Allowed}, {time.Minute - time.Microsecond, policy.Allowed}, {time.Minute, policy.Refused}, {time.Hour, policy.Refused}, {0, policy.Allowed}}
	for _, step := range steps {
		request := toAnna("disclose.dietary")
		request.AgentID = agentID
		decision, err := b.Decide(at(noon.Add(step.after)), request)
		if err != nil || decision.Outcome != step.want {
			t.Errorf("after %s: %s, %v; want %s", step.after, decision.Outcome, err, step.want)
		}
	}
}

// The caller's copy is its own.
func TestAnswersAreCopies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Manual, grant("", "action.*", policy.Allow, allowed("venue", "Lola")))
	first := b.decide(t, toAnna("message.send"))
	first.Answers[0].Outcome = policy.Allowed
	second := b.decide(t, toAnna("message.send"))
	second.Answers[0].Outcome = policy.Allowed
	if got := b.decide(t, toAnna("message.send")).Answers[0].Outcome; got != policy.Held {
		t.Errorf("a caller's change is remembered: %s", got)
	}
}

func wantEngineError(t *testing.T, decision policy.Decision, capabilities ...string) {
	t.Helper()
	want := make([]policy.Answer, len(capabilities))
	for i, capability := range capabilities {
		want[i] = policy.Answer{Capability: capability, Outcome: policy.Refused, Reason: policy.EngineError}
	}
	if diff := cmp.Diff(want, decision.Answers); diff != "" || decision.Outcome != policy.Refused {
		t.Errorf("outcome %s\n%s", decision.Outcome, diff)
	}
}

func TestWhatCannotBeEvaluatedIsRefused(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range node.MaxJSONDepth + 1 {
		deep = []any{deep}
	}
	tests := []struct {
		name    string
		grants  []policy.Grant
		request policy.Request
	}{
		{"a field of a type that is no JSON", nil, with(toAnna("message.send", "task.propose"), func(r *policy.Request) { r.Fields = map[string]any{"x": struct{}{}} })},
		{"a field that is no text", nil, with(toAnna("message.send"), func(r *policy.Request) { r.Fields = map[string]any{"x": "\xff"} })},
		{"a name that is no text", nil, with(toAnna("message.send"), func(r *policy.Request) { r.Fields = map[string]any{"\xff": "x"} })},
		{"a field that is too deep", nil, with(toAnna("message.send"), func(r *policy.Request) { r.Fields = map[string]any{"x": deep} })},
		{"a capability twice, with and without free text", nil, toAnna("message.send", "message.send", "\x00")},
		{"a grant with an unknown mode", grants(grant("", "task.*", "perhaps")), toAnna("message.send")},
		{"a grant with a value that cannot be compared", grants(grant("", "disclose.*", policy.Allow, allowed("x", nil))), toAnna("message.send")},
		{"a grant with a limit that is no number", grants(grant("", "disclose.*", policy.Allow, maxAmount(math.NaN()))), toAnna("message.send")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.setRules(policy.Autonomous, test.grants...)
			decision := b.decide(t, test.request)
			if strings.HasPrefix(test.name, "a capability twice") {
				if decision.Outcome != policy.Refused {
					t.Errorf("got %s", decision.Outcome)
				}
				return
			}
			wantEngineError(t, decision, test.request.Capabilities...)
			if len(b.store.decisions) != 1 || len(b.store.rows) != 1 {
				t.Error("the refusal is not recorded")
			}
		})
	}
}

func TestARequestForNothingIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Autonomous)
	if got := b.decide(t, toAnna()); got.Outcome != policy.Refused {
		t.Errorf("got %s", got.Outcome)
	}
}

func TestTimeOutIsRefusedAndNotRemembered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted)
	b.evaluator.deadline = time.Nanosecond
	wantEngineError(t, b.decide(t, toAnna("message.send")), "message.send")
	b.evaluator.deadline = time.Minute
	if got := b.decide(t, toAnna("message.send")).Outcome; got != policy.Allowed {
		t.Errorf("got %s, the time-out was remembered", got)
	}
}

// newEvaluator prepares other rules than the node's.
func newEvaluator(ctx context.Context, modules map[string]string, table []byte, deadline time.Duration) (*evaluator, error) {
	query, err := prepare(ctx, modules, table)
	return &evaluator{query: query, deadline: deadline}, err
}

func TestARunawayEvaluationEnds(t *testing.T) {
	t.Parallel()
	endless := `package agentlink.decide
digits := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
answers := {"message.send": ["allow", "mode_allows", ""]} if {
	count([1 | some a in digits; some b in digits; some c in digits; some d in digits; some e in digits
		some f in digits; some g in digits; some h in digits; some i in digits; some j in digits]) > 0
}
`
	b := newBench(t)
	e, err := newEvaluator(context.Background(), map[string]string{"decide.rego": endless}, []byte("{}"), 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	b.evaluator = e
	b.setRules(policy.Assisted)
	wantEngineError(t, b.decide(t, toAnna("message.send")), "message.send")
}

func TestUnexpectedAnswersAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, answers string }{
		{"undefined", `answers if false`},
		{"no object", `answers := true`},
		{"a capability is missing", `answers := {"task.propose": ["allow", "mode_allows", ""]}`},
		{"an unknown outcome", `answers := {"message.send": ["permit", "mode_allows", ""]}`},
		{"an unknown reason", `answers := {"message.send": ["allow", "why_not", ""]}`},
		{"a grant that is not in force", `answers := {"message.send": ["allow", "grant_allows", "g1"]}`},
		{"too few parts", `answers := {"message.send": ["allow", "mode_allows"]}`},
		{"too many parts", `answers := {"message.send": ["allow", "mode_allows", "", ""]}`},
		{"a part of another type", `answers := {"message.send": ["allow", "mode_allows", null]}`},
		{"a bare word", `answers := {"message.send": "allow"}`},
		{"a failing builtin", `answers := {"message.send": ["allow", "mode_allows", ""]} if regex.match("(", input.contact)`},
		{"two answers", "answers := {\"message.send\": [o, \"mode_allows\", \"\"]} if some o in [\"allow\", \"hold\"]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			e, err := newEvaluator(context.Background(), map[string]string{"decide.rego": "package agentlink.decide\n" + test.answers + "\n"}, []byte("{}"), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			b.evaluator = e
			b.setRules(policy.Autonomous)
			wantEngineError(t, b.decide(t, toAnna("message.send")), "message.send")
		})
	}
}

// The rules may not read a clock, chance, the network or the environment.
func TestRulesCannotReachOut(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		`http.send({"method": "GET", "url": "http://localhost"})`, `time.now_ns()`, `rand.intn("x", 2)`, `opa.runtime()`, `net.lookup_ip_addr("localhost")`, `uuid.rfc4122("x")`,
	} {
		module := "package agentlink.decide\nanswers := " + call + "\n"
		_, err := newEvaluator(context.Background(), map[string]string{"decide.rego": module}, []byte("{}"), time.Minute)
		if err == nil || !strings.Contains(err.Error(), "undefined function") {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestAFailingStoreIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.failing = errors.New("gone")
	if _, err := b.Decide(at(noon), toAnna("message.send")); !errors.Is(err, b.store.failing) {
		t.Errorf("got %v", err)
	}
	b.store.failing = nil
	if _, err := b.Decide(at(noon), toAnna("message.send")); node.CodeOf(err) != node.NotFound {
		t.Errorf("an unknown agent: %v", err)
	}
}

func TestNewNeedsWhatItRecordsWith(t *testing.T) {
	t.Parallel()
	store := newMemoryStore()
	log := audit.New(store, nil)
	for _, config := range []Config{{}, {Store: store, IDs: &counter{}}, {Store: store, Audit: log}, {IDs: &counter{}, Audit: log}} {
		if _, err := New(config); err == nil {
			t.Errorf("New(%+v) succeeded", config)
		}
	}
}

func TestDeadlinesByThemselves(t *testing.T) {
	t.Parallel()
	store := newMemoryStore()
	e, err := New(Config{Store: store, IDs: &counter{}, Audit: audit.New(store, []byte("key"))})
	if err != nil {
		t.Fatal(err)
	}
	if e.evaluator.deadline != 5*time.Second || e.ownLimit != ownLimit {
		t.Errorf("a decision has %v, rules of the owner's %v", e.evaluator.deadline, e.ownLimit)
	}
}

// notOfTheRules are the reasons that stand in Go: where the rules gave no answer, and
// those of the owner's own.
var notOfTheRules = []policy.Reason{policy.EngineError, policy.OwnRulesHold, policy.OwnRulesRefuse, policy.OwnRulesFailed}

// The closed list of reasons is the same in Go and in the rules.
func TestReasonsAreTheRules(t *testing.T) {
	t.Parallel()
	var table struct {
		Outcomes map[policy.Reason]policy.Outcome `json:"outcomes"`
	}
	if err := json.Unmarshal(rules.Table(), &table); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(slices.Clone(policy.Reasons), func(r policy.Reason) bool { return slices.Contains(notOfTheRules, r) })
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(table.Outcomes))); diff != "" {
		t.Error(diff)
	}
}

// revisions gives each transaction the revision that it names.
type revisions struct {
	*memoryStore
	byRev map[int64]policy.Rules
}

type revTx struct {
	tx
	rev int64
}

func (r revisions) Standing(t node.Tx, _ string) (policy.Standing, error) {
	return r.byRev[t.(revTx).rev].Standing, nil
}

func (r revisions) Rules(t node.Tx, _ string) (policy.Rules, error) {
	return r.byRev[t.(revTx).rev], nil
}

// TestRevisionsDoNotMix: transactions that see different revisions at once get
// their own revision's answer, also while rules are being forgotten.
func TestRevisionsDoNotMix(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store := revisions{b.store, map[int64]policy.Rules{}}
	for rev := range int64(8) {
		b.setRules(policy.Assisted, grant("", "message.send", policy.GrantModes[rev%3]), grant("", "disclose.notes", policy.GrantModes[(rev+1)%3]))
		set := b.store.rules[agentID]
		set.RulesRev = rev
		store.byRev[rev] = set
	}
	b.Engine.store = store
	b.memory.sets.limit = 9 // three of the eight fit
	want := map[policy.GrantMode]policy.Outcome{policy.Allow: policy.Allowed, policy.Ask: policy.Held, policy.Deny: policy.Refused}
	var group sync.WaitGroup
	for worker := range int64(8) {
		group.Go(func() {
			for i := range int64(200) {
				rev := (worker + i) % 8
				answers, err := b.Capabilities(revTx{tx{noon, context.Background()}, rev}, toAnna(), []string{"message.send", "disclose.notes", fmt.Sprint("disclose.n", i)})
				if err != nil || answers[0].Outcome != want[policy.GrantModes[rev%3]] || answers[1].Outcome != want[policy.GrantModes[(rev+1)%3]] {
					t.Errorf("rev %d: %+v, %v", rev, answers, err)
					return
				}
			}
		})
	}
	group.Wait()
}
