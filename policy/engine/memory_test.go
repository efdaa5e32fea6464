package engine

import (
	"fmt"
	"testing"

	"agentlink/policy"
)

func TestRecentForgetsWhatWasNotUsedForLongest(t *testing.T) {
	t.Parallel()
	r := newRecent[string, int](5)
	r.put("a", 1, 2)
	r.put("b", 2, 2)
	r.get("a")
	r.put("c", 3, 2)
	if _, found := r.get("b"); found {
		t.Error("b was kept")
	}
	if value, found := r.get("a"); !found || value != 1 {
		t.Error("a was forgotten")
	}
	r.put("a", 4, 3)
	if value, _ := r.get("a"); value != 4 || r.cost != 5 {
		t.Errorf("a = %d, cost %d; want 4, 5", value, r.cost)
	}
	r.put("huge", 5, 50)
	if _, found := r.get("huge"); !found || r.order.Len() != 1 || len(r.entries) != 1 || r.cost != 50 {
		t.Errorf("the latest is not alone: %d entries, cost %d", len(r.entries), r.cost)
	}
}

// TestMemoryIsBounded: any number of agents, grants and requests leaves a bounded
// memory, and decides rightly after what was forgotten.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.forget = true
	b.memory.sets.limit, b.memory.decided.limit = 100, 50
	list := make([]policy.Grant, 30)
	for i := range list {
		list[i] = grant("", fmt.Sprint("disclose.own", i), policy.Allow)
	}
	for i := range 40 {
		agent := fmt.Sprint("agent ", i%10)
		b.setRulesOf(agent, policy.Assisted, policy.Active, list)
		for j := range 5 {
			request := toAnna(fmt.Sprint("disclose.own", (i+j)%30), "disclose.other")
			request.AgentID = agent
			decision := b.decide(t, request)
			if decision.Answers[0].Outcome != policy.Allowed || decision.Answers[1].Outcome != policy.Refused {
				t.Fatalf("got %+v", decision.Answers)
			}
		}
	}
	if b.memory.sets.cost > 100 || len(b.memory.sets.entries) > 3 || len(b.memory.decided.entries) > 50 {
		t.Errorf("%d rule sets of cost %d, %d answers", len(b.memory.sets.entries), b.memory.sets.cost, len(b.memory.decided.entries))
	}
}

// TestKeysTellFactsApart: no two different questions share a remembered answer.
func TestKeysTellFactsApart(t *testing.T) {
	t.Parallel()
	base := func() facts {
		return facts{contact: "a", connection: "b", amountField: "c", assume: assumeNothing, wanted: []want{{"d", false}, {"e", false}}, fields: map[string]any{"f": "g"}}
	}
	changes := map[string]func(*facts){
		"nothing":          func(*facts) {},
		"contact":          func(f *facts) { f.contact = "ab"; f.connection = "" },
		"connection":       func(f *facts) { f.connection = "bc"; f.amountField = "" },
		"amount field":     func(f *facts) { f.amountField = "d" },
		"assumption":       func(f *facts) { f.assume = assumeMet },
		"structured only":  func(f *facts) { f.structuredOnly = true },
		"deny only":        func(f *facts) { f.denyOnly = true },
		"free text":        func(f *facts) { f.wanted[0].freeText = true },
		"other free text":  func(f *facts) { f.wanted[1].freeText = true },
		"order":            func(f *facts) { f.wanted[0], f.wanted[1] = f.wanted[1], f.wanted[0] },
		"fewer":            func(f *facts) { f.wanted = f.wanted[:1] },
		"joined":           func(f *facts) { f.wanted = []want{{"de", false}} },
		"no fields":        func(f *facts) { f.fields = nil },
		"field name":       func(f *facts) { f.fields = map[string]any{"g": "g"} },
		"field null":       func(f *facts) { f.fields = map[string]any{"f": nil} },
		"field number":     func(f *facts) { f.fields = map[string]any{"f": 1.0} },
		"field true":       func(f *facts) { f.fields = map[string]any{"f": true} },
		"field false":      func(f *facts) { f.fields = map[string]any{"f": false} },
		"field list":       func(f *facts) { f.fields = map[string]any{"f": []any{"g"}} },
		"field empty list": func(f *facts) { f.fields = map[string]any{"f": []any{}} },
		"field two":        func(f *facts) { f.fields = map[string]any{"f": []any{"g", "h"}} },
		"field nested":     func(f *facts) { f.fields = map[string]any{"f": []any{[]any{"g"}, "h"}} },
		"field object":     func(f *facts) { f.fields = map[string]any{"f": map[string]any{"g": "h"}} },
		"field digit":      func(f *facts) { f.fields = map[string]any{"f": "1"} },
	}
	set := newRuleSet(policy.Rules{}, noon)
	seen := map[answerKey]string{}
	for name, change := range changes {
		f := base()
		change(&f)
		key := set.keyOf(f)
		if other, found := seen[key]; found {
			t.Errorf("%q and %q share a key", name, other)
		}
		seen[key] = name
	}
	again := base()
	if seen[set.keyOf(again)] != "nothing" {
		t.Error("equal facts have different keys")
	}
}
