package engine

import (
	"maps"

	"agentlink/node"
	"agentlink/policy"
)

// Capabilities implements policy.Decider. It asks the same rules twice: for the
// request that goes best, whose fields match every constraint and which carries
// no free text but a chat message, and for the one that goes worst. Where the two
// differ, the answer is the better one with Otherwise.
func (e *Engine) Capabilities(tx node.Tx, request policy.Request, names []string) ([]policy.Answer, error) {
	set, err := e.rulesOf(tx, request.AgentID)
	if err != nil {
		return nil, err
	}
	request.At = tx.Now()
	return bestAndWorst(set, request, names, func(f facts) []policy.Answer {
		return e.foretell(tx.Context(), set, f, e.answers(tx.Context(), set, f), e.memory.narrowed)
	}), nil
}

// bestAndWorst asks each question twice.
func bestAndWorst(set *ruleSet, request policy.Request, names []string, answer func(facts) []policy.Answer) []policy.Answer {
	best := answer(forecast(request, names, assumeMet, isChat))
	worst := answer(forecast(request, names, assumeUnmet, always))
	for i := range best {
		if worst[i].Outcome == best[i].Outcome {
			continue
		}
		best[i].Otherwise = worst[i].Outcome
		best[i].Constraints = copyOf(set.live[best[i].GrantID].Constraints)
	}
	return best
}

// copyOf is the caller's own; nil where nothing is constrained.
func copyOf(c policy.Constraints) *policy.Constraints {
	if c.Empty() {
		return nil
	}
	c.AllowedValues = maps.Clone(c.AllowedValues)
	return &c
}

func forecast(r policy.Request, names []string, assume assumption, freeText func(string) bool) facts {
	f := facts{contact: r.Contact, connection: r.Connection, structuredOnly: r.StructuredOnly, assume: assume, at: r.At, wanted: make([]want, len(names))}
	for i, name := range names {
		f.wanted[i] = want{name, freeText(name)}
	}
	return f
}

// A chat message is nothing but free text.
func isChat(capability string) bool { return capability == policy.MessageSend }

func always(string) bool { return true }
