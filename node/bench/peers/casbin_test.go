package peers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
)

// BenchmarkCasbin writes the grants as rows in the order in which they count,
// and takes the first that matches. Its mode is a column of its own, since
// casbin has no third outcome.
func BenchmarkCasbin(b *testing.B) {
	compare(b, func(b *testing.B, list []grant) func(string) string {
		enforcer := newCasbin(b, list)
		return func(capability string) string { return askCasbin(enforcer, capability) }
	})
}

const casbinModel = `
[request_definition]
r = contact, capability, value
[policy_definition]
p = contact, capability, allowed, most, mode, eft
[policy_effect]
e = priority(p.eft) || deny
[matchers]
m = (p.contact == "" || r.contact == p.contact) && covers(p.capability, r.capability) && within(r.value, p.allowed, p.most)
`

func newCasbin(b *testing.B, list []grant) *casbin.Enforcer {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		b.Fatal(err)
	}
	enforcer, err := casbin.NewEnforcer(m)
	if err != nil {
		b.Fatal(err)
	}
	enforcer.AddFunction("covers", func(args ...any) (any, error) {
		area, wild := cutStar(args[0].(string))
		return args[0] == args[1] || wild && strings.HasPrefix(args[1].(string), area), nil
	})
	enforcer.AddFunction("within", within)
	sorted := slices.SortedStableFunc(slices.Values(list), before)
	for _, g := range sorted {
		_ = m.AddPolicy("p", "p", []string{g.contact, g.capability, strings.Join(g.allowed, ","), fmt.Sprint(g.most), g.mode, "allow"})
	}
	return enforcer
}

// within says whether a value is within a grant's bounds.
func within(args ...any) (any, error) {
	if allowed := args[1].(string); allowed != "" {
		values, _ := args[0].([]string)
		for _, value := range values {
			if !slices.Contains(strings.Split(allowed, ","), value) {
				return false, nil
			}
		}
	}
	if args[2].(string) != "0" {
		var most float64
		if _, err := fmt.Sscan(args[2].(string), &most); err != nil {
			return false, err
		}
		amount, isAmount := args[0].(float64) // as casbin hands numbers on
		return isAmount && amount <= most, nil
	}
	return true, nil
}

func askCasbin(enforcer *casbin.Enforcer, capability string) string {
	value := proposal[capability]
	if value == nil {
		value = ""
	}
	_, row, err := enforcer.EnforceEx(anna, capability, value)
	if err != nil {
		return err.Error()
	}
	if len(row) == 0 {
		return "hold"
	}
	return row[4]
}

// cutStar takes a wildcard apart.
func cutStar(pattern string) (area string, wild bool) { return strings.CutSuffix(pattern, "*") }
