package engine

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/policy"
)

// setOwn gives the agent a new revision under an overlay, which is compiled with
// the limit that it has in the product.
func (b *bench) setOwn(source string) {
	b.own = ""
	if source != "" {
		b.own = overlayVersion(source)
		b.store.overlays[b.own] = source
	}
}

const ownHead = "package overlay\n\n"

func TestOwnRulesNarrow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rule string
		request    policy.Request
		want       []policy.Answer
	}{
		{"keep", `decision := "keep"`, toAnna("message.send"), []policy.Answer{answer(policy.Allowed, policy.ModeAllows, "")}},
		{"allow to hold", `decision := "hold"`, toAnna("message.send"), []policy.Answer{answer(policy.Held, policy.OwnRulesHold, "")}},
		{"allow to refuse", `decision := "refuse"`, toAnna("message.send"), []policy.Answer{answer(policy.Refused, policy.OwnRulesRefuse, "")}},
		{"hold to refuse", `decision := "refuse"`, toAnna("disclose.notes"), []policy.Answer{answer(policy.Refused, policy.OwnRulesRefuse, "anna@a.example disclose.notes ask")}},
		{"hold stays with its reason", `decision := "keep"`, toAnna("disclose.notes"), []policy.Answer{answer(policy.Held, policy.GrantAsks, "anna@a.example disclose.notes ask")}},
		{"hold on hold keeps the first reason", `decision := "hold"`, toAnna("disclose.notes"), []policy.Answer{answer(policy.Held, policy.GrantAsks, "anna@a.example disclose.notes ask")}},
		{"refuse is never undone", `decision := "keep"`, toAnna("disclose.budget"), []policy.Answer{answer(policy.Refused, policy.NoGrant, "")}},
		{
			"a word for each", `decision := {c: word(c) | some c in input.capabilities}
word(c) := "hold" if c == "message.send"
else := "keep"`,
			toAnna("message.send", "task.propose"),
			[]policy.Answer{answer(policy.Held, policy.OwnRulesHold, ""), answer(policy.Allowed, policy.ModeAllows, "")},
		},
		{"by contact", `default decision := "keep"
decision := "refuse" if input.contact == "anna@a.example"`, toAnna("message.send"), []policy.Answer{answer(policy.Refused, policy.OwnRulesRefuse, "")}},
		{"by agent", `default decision := "keep"
decision := "hold" if {
	input.agent.handle == "dinner"
	input.agent.mode == "assisted"
}`, toAnna("message.send"), []policy.Answer{answer(policy.Held, policy.OwnRulesHold, "")}},
		{
			"by what the node says", `decision := "refuse" if input.answers["task.propose"] == "allow"`,
			toAnna("task.propose"), []policy.Answer{answer(policy.Refused, policy.OwnRulesRefuse, "")},
		},
		{"arithmetic", `decision := "hold" if (7 * 6) - 40 + 10 % 4 == 8 / 2
else := "keep"`, toAnna("message.send"), []policy.Answer{answer(policy.Held, policy.OwnRulesHold, "")}},
		{"by the clock", `decision := "hold" if clock(input.now, "Europe/Vienna") == {"date": "2026-06-01", "time": "14:00", "weekday": "Monday", "hour": 14, "minute": 0}
else := "keep"`, toAnna("message.send"), []policy.Answer{answer(policy.Held, policy.OwnRulesHold, "")}},
		{
			"asked for denies alone, a hold is none", `decision := "hold"`,
			with(toAnna("message.send"), func(r *policy.Request) { r.DenyOnly = true }), []policy.Answer{answer(policy.Allowed, policy.NothingDenies, "")},
		},
		{
			"asked for denies alone, a refusal is one", `decision := "refuse"`,
			with(toAnna("message.send"), func(r *policy.Request) { r.DenyOnly = true }), []policy.Answer{answer(policy.Refused, policy.OwnRulesRefuse, "")},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.setOwn(ownHead + test.rule)
			b.setRules(policy.Assisted, grant(anna, "disclose.notes", policy.Ask))
			for range 2 { // evaluated and remembered
				decision := b.decide(t, test.request)
				for i, c := range test.request.Capabilities {
					test.want[i].Capability = c
				}
				if diff := cmp.Diff(test.want, decision.Answers); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				if want := b.version + "+" + b.own[:16]; decision.Version != want {
					t.Errorf("version %q, want %q", decision.Version, want)
				}
			}
		})
	}
}

// hostile are texts that must not come into force.
var hostile = map[string]string{
	"another package":            "package agentlink.decide\ndecision := \"keep\"",
	"the node's answers":         "package agentlink.decide\nanswers := {\"message.send\": [\"allow\", \"mode_allows\", \"\"]}",
	"a package below":            "package overlay.more\ndecision := \"keep\"",
	"no decision":                ownHead + `verdict := "keep"`,
	"a function for a decision":  ownHead + `decision(x) := "keep" if x`,
	"an import of data":          ownHead + "import data.agentlink.facts\ndecision := \"keep\" if facts.complete",
	"an import of the input":     ownHead + "import input.fields\ndecision := \"keep\" if fields.x",
	"the node's data":            ownHead + `decision := "keep" if data.table.deny_only`,
	"all data":                   ownHead + `decision := "keep" if data != {}`,
	"data by a variable":         ownHead + "names := [\"agentlink\"]\ndecision := \"keep\" if data[names[0]]",
	"data within a reference":    ownHead + `decision := "keep" if input[data.x]`,
	"with on the input":          ownHead + "inner := input.contact\ndecision := \"keep\" if inner == \"x\" with input as {\"contact\": \"x\"}",
	"with on data":               ownHead + `decision := "keep" if input.contact with data.agentlink as {}`,
	"with on a built-in":         ownHead + `decision := "keep" if count([1]) == 1 with count as 1`,
	"network":                    ownHead + `decision := http.send({"method": "GET", "url": "http://localhost"}).body`,
	"names":                      ownHead + `decision := "keep" if net.lookup_ip_addr("localhost")`,
	"the environment":            ownHead + `decision := "keep" if opa.runtime().env`,
	"the clock":                  ownHead + `decision := "keep" if time.now_ns() > 0`,
	"chance":                     ownHead + `decision := "keep" if rand.intn("x", 2) == 1`,
	"an id":                      ownHead + `decision := "keep" if uuid.rfc4122("x")`,
	"print":                      ownHead + `decision := "keep" if print(input)`,
	"trace":                      ownHead + `decision := "keep" if trace("x")`,
	"its own text":               ownHead + `decision := "keep" if rego.metadata.rule()`,
	"another text":               ownHead + `decision := "keep" if rego.parse_module("x", "package x")`,
	"a schema from elsewhere":    ownHead + `decision := "keep" if json.match_schema({}, {"$ref": "http://localhost/x"})`,
	"a token":                    ownHead + `decision := "keep" if io.jwt.decode("x")`,
	"texts that grow":            ownHead + `decision := concat("", ["keep", input.contact])`,
	"formats that grow":          ownHead + `decision := sprintf("%1000000000s", ["keep"])`,
	"templates that grow":        ownHead + `decision := $"{input.contact}{input.contact}"`,
	"lists that grow":            ownHead + `decision := "keep" if count(array.concat([1], [1])) == 2`,
	"ranges":                     ownHead + `decision := "keep" if count(numbers.range(1, 1000000000)) > 0`,
	"products":                   ownHead + `decision := "keep" if product([2, 2]) == 4`,
	"a number beyond all":        ownHead + `decision := "keep" if 1e999999999 > 1`,
	"deep recursion":             ownHead + "f(x) := f(x - 1)\ndecision := f(10)",
	"mutual recursion":           ownHead + "a := b\nb := a\ndecision := a",
	"deep brackets":              ownHead + "decision := " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	"too long":                   ownHead + "decision := \"keep\" # " + strings.Repeat("x", policy.MaxOverlay),
	"no UTF-8":                   ownHead + "decision := \"\xff\"",
	"no Rego":                    "permit everything",
	"nothing":                    "",
	"two packages":               ownHead + "decision := \"keep\"\npackage agentlink.decide\n",
	"conflicting defaults":       ownHead + "default decision := \"keep\"\ndefault decision := \"hold\"",
	"an unused import":           ownHead + "import future.keywords\ndecision := \"keep\"",
	"a name that is not there":   ownHead + `decision := nowhere`,
	"the operator by its name":   ownHead + `decision := "keep" if node_mul("a", 1)`,
	"a call by another operator": ownHead + `decision := "keep" if bits.lsh(1, 1000000000)`,
}

func TestHostileOverlaysDoNotCompile(t *testing.T) {
	t.Parallel()
	for name, source := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, problems := compileOverlay(source, ownLimit)
			if rules != nil || len(problems) == 0 {
				t.Fatalf("it compiles:\n%s", source)
			}
			t.Log(problems)
			// Forced in beside the check, it refuses.
			b := newBench(t)
			b.setOwn(source)
			if source == "" {
				return
			}
			b.setRules(policy.Autonomous)
			wantOwnFailure(t, b, failedCompiling)
		})
	}
}

func wantOwnFailure(t *testing.T, b *bench, why failure) {
	t.Helper()
	for _, denyOnly := range []bool{false, true} {
		request := with(toAnna("message.send"), func(r *policy.Request) { r.DenyOnly = denyOnly })
		decision := b.decide(t, request)
		want := policy.Answer{Capability: "message.send", Outcome: policy.Refused, Reason: policy.OwnRulesFailed}
		if decision.Outcome != policy.Refused || decision.Answers[0] != want {
			t.Errorf("deny only %t: %+v", denyOnly, decision.Answers)
		}
		if row := b.store.rows[len(b.store.rows)-1]; !strings.Contains(string(row.Data), fmt.Sprintf(`"ownRulesFailed":%q`, why)) {
			t.Errorf("deny only %t: the log says %s, want %s", denyOnly, row.Data, why)
		}
	}
}

func doubling(step, first string, times int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "x0 := %s\n", first)
	for i := range times {
		fmt.Fprintf(&b, step+"\n", i, i+1)
	}
	return b.String()
}

const digits = "digits := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"

const tenLoops = `some a in digits; some b in digits; some c in digits; some d in digits; some e in digits
	some f in digits; some g in digits; some h in digits; some i in digits; some j in digits`

// failing compile and must refuse when they are asked. None may take more than its
// time, or memory worth speaking of.
var failing = []struct {
	name, rules string
	why         failure
}{
	{"undefined", `decision := "keep" if false`, failedUndefined},
	{"undefined by a fact that is not there", `decision := "keep" if input.fields.budget < 200`, failedUndefined},
	{"an unknown word", `decision := "allow"`, failedUnexpected},
	{"true", `decision := true`, failedUnexpected},
	{"null", `decision := null`, failedUnexpected},
	{"a number", `decision := 1`, failedUnexpected},
	{"a list", `decision := ["keep"]`, failedUnexpected},
	{"a set", `decision contains "keep"`, failedUnexpected},
	{"an empty object", `decision := {}`, failedUnexpected},
	{"another capability", `decision := {"task.propose": "keep"}`, failedUnexpected},
	{"one capability too many", `decision := {"message.send": "keep", "task.propose": "keep"}`, failedUnexpected},
	{"a wrong word for one", `decision := {"message.send": "Keep"}`, failedUnexpected},
	{"a wrong type for one", `decision := {"message.send": ["keep"]}`, failedUnexpected},
	{"two answers", "decision := \"keep\" if input.contact\ndecision := \"hold\" if input.contact", failedError},
	{"a failing built-in", `decision := "keep" if regex.match("(", input.contact)
else := "keep"`, failedError},
	{"division by nothing", `decision := "keep" if 1 / count([]) > 0
else := "keep"`, failedError},
	{"an unknown time zone", `decision := "keep" if clock(input.now, "Mars/Base").hour > 1
else := "keep"`, failedError},
	{"the machine's time zone", `decision := "keep" if clock(input.now, "Local").hour > 1
else := "keep"`, failedError},
	{"a file for a time zone", `decision := "keep" if clock(input.now, "../../etc/passwd").hour > 1
else := "keep"`, failedError},
	{"a busy loop", digits + "decision := \"keep\" if count([1 | " + tenLoops + "]) > 0", failedTime},
	{"an endless search", digits + "decision := \"keep\" if {\n\t" + tenLoops + "\n\ta + b + c + d + e + f + g + h + i + j > 90\n}", failedTime},
	{"a memory bomb of a set", digits + "decision := \"keep\" if count({[a, b, c, d, e, f, g, h, i, j] | " + tenLoops + "}) > 0", failedTime},
	{"squares", doubling("x%[2]d := x%[1]d * x%[1]d", "9", 40) + `decision := "keep" if x40 > 0`, failedError},
	{"squares by division", "f(x) := x / (1 / x)\n" + doubling("x%[2]d := f(x%[1]d)", "4", 40) + `decision := "keep" if x40 > 0`, failedError},
	{"huge output", digits + "decision := [[a, b, c, d] | some a in digits; some b in digits; some c in digits; some d in digits]", ""},
	{"a tree that doubles", doubling("x%[2]d := [x%[1]d, x%[1]d]", "input.contact", 60) + `decision := x60`, ""},
	{"trees that double, compared", doubling("x%[2]d := [x%[1]d, x%[1]d]", "input.contact", 40) +
		strings.ReplaceAll(doubling("x%[2]d := [x%[1]d, x%[1]d]", "lower(input.contact)", 40), "x", "y") + `decision := "keep" if x40 == y40`, ""},
	{"a tree that doubles by calls", "f(x) := [x, x]\n" + doubling("x%[2]d := f(x%[1]d)", "input.contact", 60) + `decision := x60`, ""},
	{"trees that double by calls, compared", "f(x) := [x, x]\n" + doubling("x%[2]d := f(x%[1]d)", "input.contact", 40) +
		strings.ReplaceAll(doubling("x%[2]d := f(x%[1]d)", "lower(input.contact)", 40), "x", "y") + `decision := "keep" if x40 == y40`, ""},
	{"a tree that doubles in a text", "f(x) := [x, x]\n" + doubling("x%[2]d := f(x%[1]d)", "input.contact", 40) + `decision := "keep" if x40 in {x40, 1}`, ""},
	{"branches that double", doubling("x%[2]d := x%[1]d if input.now\nelse := [x%[1]d]", "input.contact", 60) + `decision := x60`, ""},
	{"the most that may be put into one another", doubling("x%[2]d := [x%[1]d, x%[1]d]", "input.contact", 16) + `decision := x16`, failedUnexpected},
	{"the most branches", doubling("x%[2]d := x%[1]d if input.now == 0\nelse := [x%[1]d]", "input.contact", 16) + `decision := x16`, failedUnexpected},
	{"functions that double", doublingFunctions(40) + `decision := f40(input.contact)`, ""},
}

func doublingFunctions(times int) string {
	var b strings.Builder
	b.WriteString("f0(x) := x\n")
	for i := range times {
		fmt.Fprintf(&b, "f%d(x) := [f%d(x), f%d([x])]\n", i+1, i, i)
	}
	return b.String()
}

// No t.Parallel: it measures time and memory.
func TestFailingOverlaysRefuse(t *testing.T) {
	for _, test := range failing {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			compiled, problems := compileOverlay(ownHead+test.rules, ownLimit)
			if took := time.Since(began); took > compileLimit+time.Second {
				t.Errorf("compiling took %v", took)
			}
			if compiled == nil {
				if test.why != "" {
					t.Fatalf("it does not compile: %v", problems)
				}
				t.Log(problems)
				return
			}
			b := newBench(t)
			b.ownLimit = ownLimit
			b.setOwn(ownHead + test.rules)
			b.setRules(policy.Autonomous)
			began = time.Now()
			decision := b.decide(t, toAnna("message.send"))
			if took := time.Since(began); took > time.Second {
				t.Errorf("the decision took %v", took)
			}
			if answer := decision.Answers[0]; answer.Outcome != policy.Refused || answer.Reason != policy.OwnRulesFailed {
				t.Errorf("got %+v", answer)
			}
			if test.why != "" {
				wantOwnFailure(t, b, test.why)
			}
			runtime.ReadMemStats(&after)
			if used := int64(after.HeapInuse) - int64(before.HeapInuse); used > 128<<20 {
				t.Errorf("it took %d MiB", used>>20)
			}
			t.Logf("%v, %d MiB allocated", time.Since(began), (after.TotalAlloc-before.TotalAlloc)>>20)
		})
	}
}

// An evaluation that cannot be ended does not bring others: while it goes on,
// everything is refused at once.
func TestOverlaysThatHangAreNotAskedAgain(t *testing.T) {
	t.Parallel()
	rules, problems := compileOverlay(ownHead+`decision := "keep"`, time.Minute)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for range maxStuck {
		rules.stuck <- struct{}{}
	}
	if _, failed := rules.judge(t.Context(), text("x"), nil); failed != failedTime {
		t.Errorf("got %q", failed)
	}
	<-rules.stuck
	if _, failed := rules.judge(t.Context(), text("x"), nil); failed != "" {
		t.Errorf("got %q after one ended", failed)
	}
}

func TestMissingOrChangedTextRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setOwn(ownHead + `decision := "keep"`)
	b.store.overlays[b.own] = ownHead + `decision := "hold"`
	b.setRules(policy.Autonomous)
	wantOwnFailure(t, b, failedMissing)
	delete(b.store.overlays, b.own)
	b.setRules(policy.Autonomous)
	wantOwnFailure(t, b, failedMissing)
	forecast, err := b.Capabilities(at(noon), with(toAnna(), func(r *policy.Request) { r.AgentID = agentID }), []string{"message.send"})
	if err != nil || forecast[0].Outcome != policy.Refused || forecast[0].Reason != policy.OwnRulesFailed {
		t.Errorf("the forecast is %+v, %v", forecast, err)
	}
}

// Memory is keyed by the overlay too: even where nobody raised the revision.
func TestAnotherOverlayIsAnotherRevision(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Autonomous)
	for _, word := range []string{"", "hold", "refuse", "keep", "hold", ""} {
		b.own = ""
		if word != "" {
			b.setOwn(ownHead + fmt.Sprintf("decision := %q", word))
		}
		standing := b.store.rules[agentID]
		standing.Overlay = b.own
		b.store.rules[agentID] = standing
		want := map[string]policy.Outcome{"": policy.Allowed, "keep": policy.Allowed, "hold": policy.Held, "refuse": policy.Refused}[word]
		if got := b.decide(t, toAnna("message.send")).Outcome; got != want {
			t.Errorf("%q: got %s", word, got)
		}
	}
}

// Only an overlay that reads the time is asked again when it is another minute.
func TestTimeIsPartOfWhatIsRemembered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setOwn(ownHead + "default decision := \"keep\"\ndecision := \"refuse\" if clock(input.now, \"UTC\").time >= \"12:01\"")
	b.setRules(policy.Autonomous)
	for _, test := range []struct {
		after time.Duration
		want  policy.Outcome
	}{{0, policy.Allowed}, {59 * time.Second, policy.Allowed}, {time.Minute, policy.Refused}, {0, policy.Allowed}} {
		request := toAnna("message.send")
		request.AgentID = agentID
		decision, err := b.Decide(at(noon.Add(test.after)), request)
		if err != nil || decision.Outcome != test.want {
			t.Errorf("after %v: %s, %v", test.after, decision.Outcome, err)
		}
	}
}

func TestProblemsNameTheirLines(t *testing.T) {
	t.Parallel()
	_, problems := compileOverlay("package overlay\n\ndecision := \"keep\" if {\n\ttime.now_ns() > 0\n}\n", ownLimit)
	if !slices.Contains(problems, policy.Problem{Line: 4, Text: "undefined function time.now_ns"}) {
		t.Errorf("got %v", problems)
	}
}
