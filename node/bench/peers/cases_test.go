package peers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What follows is what policy/engine's BenchmarkDecide asks: a proposal to anna
// that needs six capabilities, under n grants of which eight bear on it.
const anna = "anna@node.example"

var capabilities = []string{
	"task.propose", "disclose.availability", "disclose.preferences", "disclose.dietary", "disclose.budget", "disclose.notes",
}

// answers are what the node says to them, in order.
var answers = []string{"allow", "allow", "allow", "allow", "allow", "ask"}

// sizes are numbers of grants.
var sizes = []int{10, 100, 1000, 10_000, 100_000}

type grant struct {
	contact, capability, mode string
	// allowed bounds the values of the capability's one field, most an amount.
	allowed []string
	most    int64
}

func grants(n int) []grant {
	list := []grant{
		{contact: anna, capability: "disclose.*", mode: "ask"}, {contact: anna, capability: "action.*", mode: "ask"},
		{contact: anna, capability: "disclose.availability", mode: "allow"},
		{contact: anna, capability: "disclose.preferences", mode: "allow", allowed: []string{"thai", "italian"}},
		{capability: "disclose.dietary", mode: "allow", allowed: []string{"vegan", "no nuts"}},
		{contact: anna, capability: "disclose.budget", mode: "allow", most: 60},
		{capability: "disclose.*", mode: "deny"}, {capability: "task.*", mode: "allow"},
	}
	modes := []string{"allow", "ask", "deny"}
	for i := len(list); i < n; i++ {
		list = append(list, grant{contact: fmt.Sprintf("contact%d@peer.example", i/8), capability: fmt.Sprint("disclose.own", i%8), mode: modes[i%3]})
	}
	return list
}

// before says which of two grants counts: the exact one, the longer pattern, the
// contact's own, the stricter.
func before(a, b grant) int {
	wild := func(g grant) int {
		if strings.HasSuffix(g.capability, "*") {
			return 1
		}
		return 0
	}
	wide := func(g grant) int {
		if g.contact == "" {
			return 1
		}
		return 0
	}
	strict := []string{"deny", "ask", "allow"}
	for _, difference := range []int{
		wild(a) - wild(b), len(b.capability) - len(a.capability), wide(a) - wide(b), slices.Index(strict, a.mode) - slices.Index(strict, b.mode),
	} {
		if difference != 0 {
			return difference
		}
	}
	return 0
}

// proposal is what anna is told; each capability has one field.
var proposal = map[string]any{"disclose.preferences": []string{"thai"}, "disclose.dietary": []string{"vegan", "no nuts"}, "disclose.budget": int64(45)}

// compare asks an engine for all six and checks its answers.
func compare(b *testing.B, load func(b *testing.B, list []grant) (ask func(capability string) string)) {
	for _, n := range sizes {
		ask := load(b, grants(n))
		b.Run(fmt.Sprint("grants=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i, capability := range capabilities {
					if got := ask(capability); got != answers[i] {
						b.Fatalf("%s: %s, want %s", capability, got, answers[i])
					}
				}
			}
		})
	}
}
