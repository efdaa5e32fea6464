package policy

import (
	"slices"
	"time"

	"agentlink/node"
)

// Foreseen tells what a plan would do, before it is made.
type Foreseen struct {
	Steps
	// AsIfEnabled: the agent is disabled, and the forecast is for when it is not.
	AsIfEnabled bool
	// Before and After are the same places, each with answers for the same
	// capabilities: those that the plan touches.
	Before, After []Place
	Past          Past
}

// Toward is a contact as a forecast has to know it.
type Toward struct {
	Contact        string
	StructuredOnly bool
}

// Place is where the same answers hold: towards the contacts named, or, where
// Contacts is nil, towards whoever has no grants of their own and for actions that
// name no task. All as far as the connection is active.
type Place struct {
	Contacts []string
	Answers  []Answer
}

// Turn is an answer as it is and as it would be.
type Turn struct{ Before, After Answer }

// Differs says whether an agent would meet a difference.
func (a Answer) Differs(b Answer) bool { return a.Outcome != b.Outcome || a.Otherwise != b.Otherwise }

// Foresee tells what a plan would do: to the answers towards each of the
// contacts (of a plan for one contact: that one alone), and to what was decided
// lately. Codes: bad_request, not_found.
func (s *Service) Foresee(tx node.Tx, plan Plan, contacts []Toward) (Foreseen, error) {
	steps, err := s.Steps(tx, plan)
	if err != nil {
		return Foreseen{}, err
	}
	before, after, err := s.imagined(tx, steps)
	if err != nil {
		return Foreseen{}, err
	}
	names, err := s.touched(tx, steps)
	if err != nil {
		return Foreseen{}, err
	}
	groups, err := s.groups(tx, steps, contacts)
	if err != nil {
		return Foreseen{}, err
	}
	past, err := s.past(tx, steps, before, after)
	return Foreseen{
		Steps: steps, AsIfEnabled: steps.Agent.Status == Disabled,
		Before: places(groups, before, names), After: places(groups, after, names), Past: past,
	}, err
}

// Everywhere tells what holds now, towards each of the contacts. Code: not_found.
func (s *Service) Everywhere(tx node.Tx, agentID string, contacts []Toward) ([]Place, error) {
	agent, err := s.Store.AgentByID(tx, agentID)
	if err != nil {
		return nil, err
	}
	now, err := s.Imaginer.Imagine(tx, agentID, Change{})
	if err != nil {
		return nil, err
	}
	names, err := s.capabilities(tx, agentID)
	if err != nil {
		return nil, err
	}
	groups, err := s.groups(tx, Steps{Agent: agent}, contacts)
	return places(groups, now, names), err
}

// imagined are the rules as they are and as they would be. Of a disabled agent,
// whom everything is refused, it is those that hold once it is enabled.
func (s *Service) imagined(tx node.Tx, steps Steps) (before, after Imagined, err error) {
	change := steps.change()
	change.Status = Active
	if before, err = s.Imaginer.Imagine(tx, steps.Agent.ID, Change{Status: Active}); err != nil {
		return nil, nil, err
	}
	after, err = s.Imaginer.Imagine(tx, steps.Agent.ID, change)
	return before, after, err
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

// LookBack is how far back a forecast looks at decisions, and MaxReplayed how
// many of them it makes again at most.
const (
	LookBack    = 30 * 24 * time.Hour
	MaxReplayed = 2000
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
	past := Past{Since: tx.Now().Add(-LookBack)}
	_, pattern := steps.about()
	rows := 0
	records, err := s.Store.Decisions(tx, steps.Agent.ID, past.Since, MaxReplayed+1, func(answers []Answer) bool {
		rows++
		past.More = rows > MaxReplayed
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
	request.At = record.At
	was, would := before.Decide(request), after.Decide(request)
	turned := Turned{Record: record, Before: Strictest(was), After: Strictest(would)}
	for i := range was {
		if was[i].Outcome != would[i].Outcome {
			turned.Why = append(turned.Why, Turn{was[i], would[i]})
		}
	}
	return turned
}
