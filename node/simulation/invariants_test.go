package simulation

import (
	"agentlink/coordination/wire"
)

// invariant is something that holds whatever happens. Its checks give "" or what
// is wrong.
type invariant struct {
	id, name string
	// step is checked after every step, rest when a history has come to rest, end
	// once after all deadlines, and wire of every envelope that a side hands over.
	step func(h *history) string
	rest func(h *history, tasks copies) string
	end  func(h *history) string
	wire func(h *history, from *side, e wire.Envelope) string
}

// Invariants that are checked in the middle of a step, too.
var (
	approvalOnce = invariant{id: "I5", name: "an approval is used once, for what was shown, and never after its time", rest: approvalsAreSpentOnce}
	// A held write leaves the copy as it is, to the byte.
	heldLeavesTheCopy = invariant{id: "I9", name: "a held write leaves the copy of the task as it is"}
	// After the network heals nothing waits without a time.
	nothingWaits = invariant{id: "I11", name: "nothing waits for ever, and what can be taken is taken", end: nothingIsOpen}
)

// invariants are the twelve. docs/simulation.md has the same table.
var invariants = []invariant{
	// Both copies flagged with the same disagreement also counts, and so does one that
	// is out of step where the other cannot be told (protocol, connections that end).
	{id: "I1", name: "the copies agree, or both say that they do not", rest: copiesAgree},
	// A repetition that an owner approved (D6, D7) counts apart.
	{id: "I2", name: "a confirmed task ran once, with one used approval, and is confirmed once", rest: runsAreTied},
	// The moment at which a field has to be allowed is that of its release; a deny that
	// comes later is asked for again before each attempt.
	{id: "I3", name: "no field leaves without an allow grant or a used approval, and the ledger has it", wire: fieldsAreAllowed, rest: ledgerIsTrue},
	// Exempt are notices: a request to connect makes the connection, and a rejection or
	// revocation leaves whatever the state of connection and agent.
	{id: "I4", name: "nothing leaves to whom no connection is active, or from a disabled agent", wire: leavesRightly},
	approvalOnce,
	// An answer of ours that falls void is not in the copy any more; a peer's never does.
	{id: "I6", name: "versions are contiguous, answers stay", step: versionsAndAnswers},
	// Beside D5: a cancel of ours that provably had no effect is void, and with it the
	// end that rested on it; a task whose create is void is cancelled, also after its
	// deadline (protocol §2).
	{id: "I7", name: "what has ended stays ended as it did", step: endsStay},
	// "Applied" of the research file reads "processed": a rejection uses its number up.
	{id: "I8", name: "the numbers 1 to n are processed, each with the message that was sent", rest: numbersAreWhole},
	heldLeavesTheCopy,
	{id: "I10", name: "the audit log is whole and has its entry for every change", end: auditIsWhole},
	nothingWaits,
	{id: "I12", name: "nothing sealed is readable in the store or the log", end: nothingIsReadable},
}

// watches makes a history check what can be checked while it goes on.
func (h *history) watches() {
	h.network.watch = func(from *side, envelope []byte) {
		claims := claimsOf(envelope)
		for _, i := range invariants {
			if i.wire == nil {
				continue
			}
			if problem := i.wire(h, from, claims); problem != "" {
				h.breaks(i, "on the wire", problem)
			}
		}
	}
	h.network.refused = func(by *side, _ int, answer []byte) {
		h.breaks(nothingWaits, "on the wire", by.name+" did not take an envelope: "+string(answer)+"\n"+by.logged.text.String())
	}
}

// checkStep is what has to hold after every step.
func (h *history) checkStep() {
	h.t.Helper()
	now := h.copies()
	for _, i := range invariants {
		if i.step == nil {
			continue
		}
		h.now = now
		if problem := i.step(h); problem != "" {
			h.breaks(i, "after a step", problem)
		}
	}
	h.last = now
}

// check is what has to hold of a history that has come to rest.
func (h *history) check(when string) {
	h.t.Helper()
	tasks := h.copies()
	for _, i := range invariants {
		if i.rest == nil {
			continue
		}
		if problem := i.rest(h, tasks); problem != "" {
			h.breaks(i, when, problem)
		}
	}
}

// checkEnd is what has to hold when all deadlines have passed.
func (h *history) checkEnd() {
	h.t.Helper()
	for _, i := range invariants {
		if i.end == nil {
			continue
		}
		if problem := i.end(h); problem != "" {
			h.breaks(i, "in the end", problem)
		}
	}
}
