package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlink/policy"
	rules "agentlink/rego"
)

// requestsPerRules is how many requests each random set of rules is asked, so
// that remembered rules and answers are met too.
const requestsPerRules = 4

// TestRegoAgreesWithTheOracle compares outcome, reason and winning grant of every
// capability in randomCases requests. A case is found again by its seed.
func TestRegoAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	const shards = 8
	var mu sync.Mutex
	met := map[string]int{}
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint("seed=", shard), func(t *testing.T) {
				t.Parallel()
				reasons := compareShard(t, uint64(shard), randomCases/shards)
				mu.Lock()
				defer mu.Unlock()
				for reason, count := range reasons {
					met[reason] += count
				}
			})
		}
	})
	t.Logf("%d cases; capabilities by kind and reason: %v", randomCases, met)
	// The cases are worth something only where they meet every reason often.
	for _, reason := range policy.Reasons {
		count := 0
		for key, n := range met {
			if strings.HasSuffix(key, " "+string(reason)) {
				count += n
			}
		}
		if least := randomCases / 1000; !slices.Contains(notOfTheRules, reason) && count < least {
			t.Errorf("only %d answers with %s, want %d or more", count, reason, least)
		}
	}
}

// compareShard fails at the first request on which the two differ.
func compareShard(t *testing.T, seed uint64, cases int) map[string]int {
	reasons := map[string]int{}
	if difference := differ(t, newBench(t), seed, cases, reasons); difference != "" {
		t.Fatal(difference)
	}
	return reasons
}

// differ tells the first difference between engine and oracle, or "".
func differ(t *testing.T, b *bench, seed uint64, cases int, reasons map[string]int) string {
	b.store.forget = true
	g := generator{rand.New(rand.NewPCG(seed, 20260601))}
	for done := 0; done < cases; {
		agent := fmt.Sprint("agent ", done)
		mode, status, grants := g.mode(), g.status(), g.grants()
		b.setRulesOf(agent, mode, status, grants)
		for range requestsPerRules {
			request := g.request(agent)
			q := question{
				now: noon, mode: string(mode), disabled: status == policy.Disabled, grants: grants,
				contact: request.Contact, connection: request.Connection, structuredOnly: request.StructuredOnly,
				freeText: setOf(request.FreeText), fields: request.Fields, amountField: request.AmountField, denyOnly: request.DenyOnly,
			}
			if difference := compare(q, request.Capabilities, b.decide(t, request), reasons); difference != "" {
				return fmt.Sprintf("seed %d, case %d: %s\nmode %s, status %s\ngrants: %s\nrequest: %s",
					seed, done, difference, mode, status, shown(grants), shown(request))
			}
			done++
		}
		delete(b.store.rules, agent)
	}
	return ""
}

func compare(q question, capabilities []string, decision policy.Decision, reasons map[string]int) string {
	strictest := "allow"
	for i, capability := range capabilities {
		want := q.ask(capability)
		answer := decision.Answers[i]
		if got := (verdict{string(answer.Outcome), string(answer.Reason), answer.GrantID}); got != want || answer.Capability != capability {
			return fmt.Sprintf("%s: the engine says %v, the oracle %v", capability, got, want)
		}
		if want.outcome == "refuse" || (want.outcome == "hold" && strictest == "allow") {
			strictest = want.outcome
		}
		kind, _, _ := strings.Cut(capability, ".")
		reasons[kind+" "+want.reason]++
	}
	if string(decision.Outcome) != strictest {
		return fmt.Sprintf("the engine says %s for the whole request, the oracle %s", decision.Outcome, strictest)
	}
	return ""
}

// TestTheOracleFindsPlantedFaults shows that the comparison has teeth: each of
// these slips in the rules is found.
func TestTheOracleFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, old, new string }{
		{"the agent's grant before the contact's", "precedence.rego", `[input.contact, ""]`, `["", input.contact]`},
		{"place before pattern", "precedence.rego", "\tsome pattern in patterns\n\tsome place in places\n", "\tsome place in places\n\tsome pattern in patterns\n"},
		{"ask before deny", "precedence.rego", `if grant := by_mode.deny`, `if grant := by_mode.ask`},
		{"an absent field is ignored by every grant", "constraints.rego", `value_met(field, _, "disclose.*") if`, `value_met(field, _, _) if`},
		{"an absent field is ignored by none", "constraints.rego", `value_met(field, _, "disclose.*") if`, `value_met(field, _, "never") if`},
		{"one entry of a list is enough", "constraints.rego", `every entry in input.fields[field] {`, `some entry in input.fields[field]; every _ in [1] {`},
		{"a negative amount", "constraints.rego", "\tamount >= 0\n", ""},
		{"an amount at the limit", "constraints.rego", "amount <= limit", "limit > amount"},
		{"constraints are not read", "constraints.rego", `if input.assume == "met"`, `if input.assume == "nothing"`},
		{"a pending connection reaches", "kinds.rego", "\tinput.connection == \"active\"\n", "\tinput.connection != \"revoked\"\n"},
		{"a disabled agent decides", "decide.rego", `["agent_disabled", ""] if input.agent.status == "disabled"`, `["agent_disabled", ""] if false`},
		{"only the whole contact is denied", "narrowing.rego", `no_contact_denies("action", _) if input.contact != ""`, `no_contact_denies("action", _) if true`},
		{"free text is read", "narrowing.rego", `no_unread_text(want) if want.freeText == false`, `no_unread_text(_) if true`},
		{"free text is read on the short way", "narrowing.rego", "\tinput.structuredOnly == false\n", ""},
		{"an approval overrides a deny", "table.json", `"deny": "grant_denies", "ask": "nothing_denies"`, `"deny": "nothing_denies", "ask": "nothing_denies"`},
		{"a manual agent's messages go ahead", "table.json", `"none": "mode_manual"`, `"none": "mode_allows"`},
		{"a disclosure without a grant", "table.json", `"none": "no_grant"`, `"none": "mode_allows"`},
		{"own names of any length", "kinds.rego", "\tcount(capability) <= 128\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.evaluator = planted(t, test.file, test.old, test.new)
			if differ(t, b, 1, plantedCases, map[string]int{}) == "" {
				t.Errorf("%d cases do not notice", plantedCases)
			}
		})
	}
}

// plantedCases is enough to notice any single slip.
const plantedCases = 4_000

func planted(t *testing.T, file, old, new string) *evaluator {
	t.Helper()
	modules, table := rules.Modules(), string(rules.Table())
	source := modules[file]
	if file == "table.json" {
		source = table
	}
	changed := strings.Replace(source, old, new, 1)
	if changed == source {
		t.Fatalf("%s does not contain %q", file, old)
	}
	if modules[file] = changed; file == "table.json" {
		delete(modules, file)
		table = changed
	}
	e, err := newEvaluator(context.Background(), modules, []byte(table), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // NaN
		return fmt.Sprintf("%+v", value)
	}
	return string(text)
}

// generator draws from small vocabularies, so that grants and requests meet.
type generator struct{ *rand.Rand }

func one[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

func (g generator) mode() policy.Mode { return one(g, policy.Modes...) }

func (g generator) status() policy.Status {
	if g.IntN(25) == 0 {
		return policy.Disabled
	}
	return policy.Active
}

func (g generator) contact() string { return one(g, "", "anna@a.example", "bert@b.example:7411") }

var (
	exactNames = append(slices.Clone(policy.Known),
		"disclose.shoe-size", "action.pay", "action.reservation.cancel", "action.reservation.table.move")
	wildcards = []string{"task.*", "disclose.*", "action.*", "action.reservation.*", "action.reservation.table.*", "action.calendar.*"}
	strange   = []string{
		"", "task.confirm", "task.*", "disclose.*", "action.*", "disclose.a.b", "disclose.Budget", "disclose.", "action", "action..pay",
		"message.read", "message.send ", "connection.accept", "disclose." + strings.Repeat("a", 120), "action." + strings.Repeat("a", 122),
	}
)

func (g generator) capability() string {
	if g.IntN(20) == 0 {
		return one(g, strange...)
	}
	return one(g, exactNames...)
}

// grants are unique by contact, capability and mode, as the store keeps them.
func (g generator) grants() []policy.Grant {
	unique := map[string]policy.Grant{}
	for range g.IntN(22) {
		grant := policy.Grant{
			Contact: g.contact(), Capability: one(g, exactNames...), Mode: one(g, policy.Allow, policy.Allow, policy.Ask, policy.Deny),
			ExpiresAt: g.expiry(),
		}
		if g.IntN(2) == 0 {
			grant.Capability = one(g, wildcards...)
		}
		if g.IntN(2) == 0 {
			grant.Constraints = g.constraints()
		}
		grant.ID = fmt.Sprint(grant.Contact, " ", grant.Capability, " ", grant.Mode)
		unique[grant.ID] = grant
	}
	grants := slices.Collect(maps.Values(unique))
	slices.SortFunc(grants, func(a, b policy.Grant) int { return strings.Compare(a.ID, b.ID) })
	g.Shuffle(len(grants), func(i, j int) { grants[i], grants[j] = grants[j], grants[i] })
	return grants
}

func (g generator) expiry() time.Time {
	if g.IntN(3) > 0 {
		return time.Time{}
	}
	return noon.Add(one(g, -time.Hour, -time.Microsecond, 0, time.Microsecond, time.Hour))
}

func (g generator) constraints() (c policy.Constraints) {
	if g.IntN(2) == 0 {
		limit := one(g, 0, 25, 25.5, 1000, float64(1<<53-1))
		c.MaxAmount = &limit
	}
	for range g.IntN(3) {
		if c.AllowedValues == nil {
			c.AllowedValues = map[string][]any{}
		}
		values := []any{}
		for range 1 + g.IntN(4) {
			values = append(values, one[any](g, "vegan", "thai", "25", "", true, false, 25.0, 0.0, 25.5))
		}
		c.AllowedValues[g.field()] = values
	}
	return c
}

func (g generator) field() string { return one(g, "cuisine", "dietaryNotes", "budget", "misspelt") }

func (g generator) request(agent string) policy.Request {
	r := policy.Request{
		AgentID: agent, Contact: g.contact(), StructuredOnly: g.IntN(4) == 0, DenyOnly: g.IntN(8) == 0,
		Connection:  one(g, "active", "active", "active", "active", "active", "active", "active", "active", "", "pending_owner", "pending_outgoing", "pending_incoming", "rejected", "revoked"),
		AmountField: one(g, "", "budget", "budget", "misspelt"), Fields: map[string]any{},
	}
	for range 1 + g.IntN(8) {
		if capability := g.capability(); !slices.Contains(r.Capabilities, capability) {
			r.Capabilities = append(r.Capabilities, capability)
		}
	}
	for _, capability := range append(slices.Clone(r.Capabilities), "task.create") {
		if g.IntN(3) == 0 {
			r.FreeText = append(r.FreeText, capability)
		}
	}
	for range g.IntN(5) {
		r.Fields[g.field()] = g.value()
	}
	return r
}

func (g generator) value() any {
	switch g.IntN(10) {
	case 0:
		return []any{}
	case 1, 2:
		return []any{g.scalar(), g.scalar()}
	case 3:
		return []string{"vegan", one(g, "thai", "kosher")}
	case 4:
		return map[string]any{"name": g.scalar()}
	case 5:
		return []any{[]any{"vegan"}}
	}
	return g.scalar()
}

func (g generator) scalar() any {
	return one[any](g, "vegan", "vegan", "thai", "25", "", "Vegan", true, false, nil, 25.0, 25, int64(25), 0.0, math.Copysign(0, -1), -1.0,
		25.5, 25.500001, 1e-9, 999.0, float64(1<<53-1), float64(1<<53), 1e300, math.NaN(), math.Inf(1), math.Inf(-1),
		json.Number("25"), json.Number("25.0"), json.Number("2.5e1"), json.Number("9007199254740993"), json.Number("1e400"))
}
