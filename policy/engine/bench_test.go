package engine

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"agentlink/policy"
)

var proposal = []string{
	"task.propose", "disclose.availability", "disclose.preferences", "disclose.dietary", "disclose.budget", "disclose.notes",
}

// benchGrants are n grants, of which eight bear on a proposal to anna: the
// defaults, two that are constrained, an agent-wide wildcard and exact ones.
func benchGrants(n int) []policy.Grant {
	list := grants(
		grant(anna, "disclose.*", policy.Ask), grant(anna, "action.*", policy.Ask), grant(anna, "disclose.availability", policy.Allow),
		grant(anna, "disclose.preferences", policy.Allow, allowed("cuisine", "thai", "italian")),
		grant("", "disclose.dietary", policy.Allow, allowed("dietaryNotes", "vegan", "no nuts")),
		grant(anna, "disclose.budget", policy.Allow, maxAmount(60)),
		grant("", "disclose.*", policy.Deny), grant("", "task.*", policy.Allow),
	)
	for i := len(list); i < n; i++ {
		contact := fmt.Sprintf("contact%d@peer.example", i/8)
		list = append(list, grant(contact, fmt.Sprint("disclose.own", i%8), policy.GrantModes[i%3]))
	}
	return list
}

// benchRequest is another proposal for each i.
func benchRequest(i int) policy.Request {
	return policy.Request{
		AgentID: agentID, Contact: anna, Connection: "active", Capabilities: proposal, AmountField: "budgetPerPerson",
		Fields: map[string]any{
			"date": "2026-06-12", "time": "19:30", "timezone": "America/Toronto", "cuisine": "thai", "partySize": 2.0,
			"dietaryNotes": []any{"vegan", "no nuts"}, "budgetPerPerson": 45.0, "notes": "proposal " + strconv.Itoa(i),
		},
	}
}

// BenchmarkDecide evaluates a proposal that needs six capabilities, without SQL:
// cold is the first time that facts are met, warm is when the same come again.
// floor is the oracle, plain Go, on the same questions, and opa OPA's own part of
// cold. To be reached: cold ≤ 400 µs, warm ≤ 5 µs, flat in the number of grants.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
		list := benchGrants(n)
		e := newBench(b)
		e.setRules(policy.Assisted, list...)
		set, err := e.rulesOf(at(noon), agentID)
		if err != nil {
			b.Fatal(err)
		}
		ctx := context.Background()
		check := func(answers []policy.Answer) {
			if len(answers) != 6 || answers[5].Reason != policy.GrantAsks || answers[4].Reason != policy.GrantAllows {
				b.Fatalf("got %+v", answers)
			}
		}
		i := 0
		b.Run(fmt.Sprint("cold/grants=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i++
				check(e.answers(ctx, set, factsOf(benchRequest(i))))
			}
		})
		b.Run(fmt.Sprint("warm/grants=", n), func(b *testing.B) {
			b.ReportAllocs()
			request := benchRequest(0)
			check(e.answers(ctx, set, factsOf(request)))
			for b.Loop() {
				set, found := e.memory.rules(set.standing, noon)
				if !found {
					b.Fatal("the rules were forgotten")
				}
				check(e.answers(ctx, set, factsOf(request)))
			}
		})
		b.Run(fmt.Sprint("opa/grants=", n), func(b *testing.B) {
			f := factsOf(benchRequest(0))
			input := rego.EvalParsedInput(f.input(set, e.store.ContactKey(f.contact)))
			for b.Loop() {
				if results, err := e.evaluator.query.Eval(ctx, input); err != nil || len(results) != 1 {
					b.Fatal(results, err)
				}
			}
		})
		b.Run(fmt.Sprint("floor/grants=", n), func(b *testing.B) {
			b.ReportAllocs()
			request := benchRequest(0)
			q := question{now: noon, mode: "assisted", grants: list, contact: anna, connection: "active", fields: request.Fields, amountField: request.AmountField}
			for b.Loop() {
				for _, capability := range proposal {
					q.ask(capability)
				}
			}
		})
	}
}

// BenchmarkLoadRules is what the first decision after a change pays beside the
// cold one.
func BenchmarkLoadRules(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		e := newBench(b)
		e.setRules(policy.Assisted, benchGrants(n)...)
		b.Run(fmt.Sprint("grants=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if set := newRuleSet(e.store.rules[agentID], noon); set.problem != nil || len(set.live) < n {
					b.Fatal(set.problem)
				}
			}
		})
	}
}

// benchOverlay keeps everything, after it has looked at who asks, at the hour and at
// the amount.
const benchOverlay = `package overlay

decision := "refuse" if night

else := "hold" if input.amount > 200

else := "keep"

night if clock(input.now, "Europe/Vienna").hour >= 22

night if clock(input.now, "Europe/Vienna").hour < 7
`

// BenchmarkDecideOverlay is BenchmarkDecide with an overlay. To be reached: cold ≤
// 600 µs.
func BenchmarkDecideOverlay(b *testing.B) {
	for name, source := range map[string]string{"none": "", "one word": "package overlay\ndecision := \"keep\"\n", "night and amount": benchOverlay} {
		e := newBench(b)
		e.setOwn(source)
		e.setRules(policy.Assisted, benchGrants(100)...)
		set, err := e.rulesOf(at(noon), agentID)
		if err != nil {
			b.Fatal(err)
		}
		ctx := context.Background()
		ask := func(i int) {
			f := factsOf(benchRequest(i))
			f.at = noon
			answers, failed := e.narrow(ctx, set, f, e.answers(ctx, set, f), e.memory.narrowed)
			if failed != "" || len(answers) != 6 || answers[5].Reason != policy.GrantAsks || answers[4].Reason != policy.GrantAllows {
				b.Fatalf("got %q, %+v", failed, answers)
			}
		}
		i := 0
		b.Run("cold/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i++
				ask(i)
			}
		})
		b.Run("warm/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(0)
			}
		})
	}
}
