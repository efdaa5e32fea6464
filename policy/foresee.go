package policy

import (
	"slices"
	"time"

	"agentlink/node"
)

// Foreseen tells what a plan would do, before it is made.
type Foreseen struct {
	Steps
	Places []Place
	Past   Past
}

// Toward is a contact as a forecast has to know it.
type Toward struct {
	Contact        string
	StructuredOnly bool
}

// Place is where the same answers hold: towards the contacts named, or, where
// Contacts is nil, towards whoever has no grants of their own. All as far as the
// connection is active.
type Place struct {
	Contacts []string
	Answers  []Turn // for the capabilities that the plan touches
}

// Turn is an answer as it is and as it would be.
type Turn struct{ Before, After Answer }

// Differs says whether the owner would meet a difference.
func (t Turn) Differs() bool {
	return t.Before.Outcome != t.After.Outcome || t.Before.Otherwise != t.After.Otherwise
}

// Foresee tells what a plan would do: to the answers towards each of the
// contacts (of a plan for one contact: that one alone), and to what was decided
// lately. Codes: bad_request, not_found.
func (s *Service) Foresee(tx node.Tx, plan Plan, contacts []Toward) (Foreseen, error) {
	steps, err := s.Steps(tx, plan)
	if err != nil {
		return Foreseen{}, err
	}
	before, err := s.Imaginer.Imagine(tx, plan.AgentID, Change{})
	if err != nil {
		return Foreseen{}, err
	}
	after, err := s.Imaginer.Imagine(tx, plan.AgentID, steps.change())
	if err != nil {
		return Foreseen{}, err
	}
	f := Foreseen{Steps: steps}
	names, err := s.touched(tx, steps)
	if err != nil {
		return Foreseen{}, err
	}
	groups, err := s.groups(tx, steps, contacts)
	if err != nil {
		return Foreseen{}, err
	}
	for _, group := range groups {
		f.Places = append(f.Places, group.place(before, after, names))
	}
	f.Past, err = s.past(tx, steps, before, after)
	return f, err
}

// touched are the capabilities that a plan can turn: all, or those that the
// grant's pattern covers.
func (s *Service) touched(tx node.Tx, steps Steps) ([]string, error) {
	names, err := s.capabilities(tx, steps.Agent.ID)
	if err != nil {
		return nil, err
	}
	_, pattern := steps.about()
	if pattern == "" {
		return names, nil
	}
	if ValidCapability(pattern) && !slices.Contains(names, pattern) {
		names = append(names, pattern)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !coveredBy(name, []string{pattern}) }), nil
}

// group is the contacts for which a plan does the same.
type group struct {
	contacts []string
	request  Request
}

func (g group) place(before, after Imagined, names []string) Place {
	was, would := before.Capabilities(g.request, names), after.Capabilities(g.request, names)
	place := Place{Contacts: g.contacts, Answers: make([]Turn, len(names))}
	for i := range names {
		place.Answers[i] = Turn{was[i], would[i]}
	}
	return place
}

// lookBack is how far back a forecast looks at decisions, and maxReplayed how
// many of them it makes again at most.
const (
	lookBack    = 30 * 24 * time.Hour
	maxReplayed = 2000
)

// Past is what a plan would have done to the decisions of the last days. What the
// node asked again by itself, before something left or ran, is left out.
type Past struct {
	Since  time.Time
	Looked int  // how many decisions were made again
	More   bool // there are older ones since then, which were not looked at
	Turned []Turned
}

// Turned is a decision that would have been another one.
type Turned struct {
	Record         // as it was decided
	Before Outcome // for the same facts under the rules as they are
	After  Outcome // under the plan
	Why    []Turn  // the capabilities whose answers differ
}

func (s *Service) past(tx node.Tx, steps Steps, before, after Imagined) (Past, error) {
	past := Past{Since: tx.Now().Add(-lookBack)}
	_, pattern := steps.about()
	rows := 0
	records, err := s.Store.Decisions(tx, steps.Agent.ID, past.Since, maxReplayed+1, func(answers []Answer) bool {
		rows++
		past.More = rows > maxReplayed
		return !past.More && !ofTheNode(answers) && (pattern == "" || touches(answers, pattern))
	})
	for _, record := range records {
		if record.Facts.DenyOnly {
			continue
		}
		past.Looked++
		if turned := again(record, before, after); turned.Before != turned.After {
			past.Turned = append(past.Turned, turned)
		}
	}
	return past, err
}

// ofTheNode spots most of what the node asked by itself without opening the facts.
func ofTheNode(answers []Answer) bool {
	return slices.ContainsFunc(answers, func(a Answer) bool { return a.Reason == NothingDenies })
}

func touches(answers []Answer, pattern string) bool {
	return slices.ContainsFunc(answers, func(a Answer) bool { return coveredBy(a.Capability, []string{pattern}) })
}

func again(record Record, before, after Imagined) Turned {
	request := record.Facts.Request(record.AgentID)
	was, would := before.Decide(request), after.Decide(request)
	turned := Turned{Record: record, Before: Strictest(was), After: Strictest(would)}
	for i := range was {
		if was[i].Outcome != would[i].Outcome {
			turned.Why = append(turned.Why, Turn{was[i], would[i]})
		}
	}
	return turned
}
