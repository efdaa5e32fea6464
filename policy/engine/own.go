package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"agentlink/node"
	"agentlink/policy"
)

// overlayOf gives the overlay that holds with a standing: nil where there is none,
// and a failure where there is one that cannot be asked, so that everything is
// refused.
func (e *Engine) overlayOf(tx node.Tx, standing policy.Standing) (*overlay, failure, error) {
	if standing.Overlay == "" {
		return nil, "", nil
	}
	if known, found := e.overlays.get(standing.Overlay); found {
		return known, "", nil
	}
	source, err := e.store.OverlaySource(tx, standing.OwnerID, standing.Overlay)
	if node.CodeOf(err) == node.NotFound || (err == nil && overlayVersion(source) != standing.Overlay) {
		return nil, failedMissing, nil
	}
	if err != nil {
		return nil, "", err
	}
	compiled, problems := compileOverlay(source, e.ownLimit)
	if len(problems) > 0 {
		return nil, failedCompiling, nil
	}
	e.overlays.put(standing.Overlay, compiled, 1)
	return compiled, "", nil
}

// versionOf is that of the node's rules, with the overlay's where there is one.
func (e *Engine) versionOf(overlay string) string {
	if overlay == "" {
		return e.version
	}
	return e.version + "+" + overlay[:min(len(overlay), versionLength)]
}

// narrow gives the stricter of the node's answers and the overlay's. It changes
// the answers that it is given, which are its caller's own.
func (e *Engine) narrow(ctx context.Context, set *ruleSet, f facts, answers []policy.Answer, remembered *recent[answerKey, []policy.Outcome]) ([]policy.Answer, failure) {
	if (set.overlay == nil && set.failed == "") || !slices.ContainsFunc(answers, func(a policy.Answer) bool { return a.Outcome != policy.Refused }) {
		return answers, ""
	}
	if set.failed != "" {
		return stricter(answers, nil, f.denyOnly, set.failed), set.failed
	}
	key := set.overlay.keyOf(set.keyOf(f), f)
	outcomes, found := remembered.get(key)
	if !found {
		var failed failure
		if outcomes, failed = set.overlay.judge(ctx, f.ownInput(set, answers), f.wanted); failed != "" {
			e.log.Error("The owner's own rules gave no answer; the request was refused.", "why", failed)
			return stricter(answers, nil, f.denyOnly, failed), failed
		}
		remembered.put(key, outcomes, 1)
	}
	return stricter(answers, outcomes, f.denyOnly, ""), ""
}

// foretell narrows a forecast, each capability alone. What rests on the form of a
// request that nobody has made yet is left open: at best it is kept, at worst
// refused.
func (e *Engine) foretell(ctx context.Context, set *ruleSet, f facts, answers []policy.Answer, remembered *recent[answerKey, []policy.Outcome]) []policy.Answer {
	if set.overlay == nil && set.failed == "" {
		return answers
	}
	if set.overlay != nil && set.overlay.readsForm {
		if f.assume == assumeMet {
			return answers
		}
		refused := make([]policy.Outcome, len(answers))
		for i := range refused {
			refused[i] = policy.Refused
		}
		return stricter(answers, refused, false, "")
	}
	for i := range answers {
		one := f
		one.wanted = f.wanted[i : i+1]
		e.narrow(ctx, set, one, answers[i:i+1], remembered)
	}
	return answers
}

// stricter is the one place where an overlay's word comes to count, and it can only
// make an answer stricter. Asked for denies alone, a hold is none: the owner has
// approved.
func stricter(answers []policy.Answer, outcomes []policy.Outcome, denyOnly bool, failed failure) []policy.Answer {
	for i := range answers {
		said, reason := policy.Refused, policy.OwnRulesFailed
		if failed == "" {
			said = outcomes[i]
			reason = map[policy.Outcome]policy.Reason{policy.Held: policy.OwnRulesHold, policy.Refused: policy.OwnRulesRefuse}[said]
		}
		if denyOnly && said == policy.Held {
			continue
		}
		if slices.Index(policy.Outcomes, said) < slices.Index(policy.Outcomes, answers[i].Outcome) {
			answers[i].Outcome, answers[i].Reason = said, reason
		}
	}
	return answers
}

// keyOf is the key of facts under this overlay, with the time where it is read.
func (o *overlay) keyOf(key answerKey, f facts) answerKey {
	buf := append(key[:], o.version...)
	if o.readsNow {
		buf = binary.BigEndian.AppendUint64(buf, uint64(f.minute()))
	}
	return sha256.Sum256(buf)
}

// minute is the time of a request as an overlay sees it, in seconds since 1970.
func (f facts) minute() int64 { return f.at.Unix() / 60 * 60 }

// ownInput is what node/docs/overlay.md describes.
func (f facts) ownInput(set *ruleSet, answers []policy.Answer) *ast.Term {
	capabilities, freeText := make([]string, len(f.wanted)), []string{}
	said := make([][2]*ast.Term, len(answers))
	for i, w := range f.wanted {
		capabilities[i] = w.capability
		if w.freeText {
			freeText = append(freeText, w.capability)
		}
		said[i] = ast.Item(text(w.capability), text(string(answers[i].Outcome)))
	}
	amount := ast.NullTerm()
	if value, isNumber := f.fields[f.amountField].(float64); isNumber && f.amountField != "" {
		amount = number(value)
	}
	return object(
		"now", number(float64(f.minute())), "agent", object("handle", text(set.standing.Handle), "mode", text(string(set.standing.Mode))),
		"contact", text(f.contact), "connection", text(f.connection), "structuredOnly", ast.InternedTerm(f.structuredOnly),
		"denyOnly", ast.InternedTerm(f.denyOnly), "capabilities", texts(capabilities), "answers", ast.ObjectTerm(said...),
		"freeText", texts(freeText), "fields", termOf(f.fields), "amount", amount,
	)
}

// CheckOverlay implements policy.Imaginer.
func (e *Engine) CheckOverlay(source string) (string, []policy.Problem) {
	compiled, problems := compileOverlay(source, e.ownLimit)
	if len(problems) > 0 {
		return "", problems
	}
	return compiled.version, nil
}
