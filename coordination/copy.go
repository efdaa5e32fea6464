package coordination

import (
	"encoding/json"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
)

// A copy is the fold of its messages that are not void. apply adds one message;
// it is the only place where a message changes a copy, ours or theirs.

// folding is what apply needs to know around the copy.
type folding struct {
	uid      string
	deadline time.Time
}

// apply adds a message of the given role to the copy. The answer is "", or the
// code that says why the message does not fit; then the copy is unchanged, but
// for Crossed.
func (c *Copy) apply(f folding, by Role, m Message) (code string) {
	switch m.Type {
	case wire.TaskCreate:
		return applyAs(m, func(content wire.Create) string { return c.create(f, by, m, content) })
	case wire.TaskPropose:
		return applyAs(m, func(content wire.Proposal) string { return c.propose(f, by, m, content) })
	case wire.TaskRespond:
		return applyAs(m, func(content wire.Response) string { return c.respond(by, m, content) })
	case wire.TaskCancel:
		return applyAs(m, func(content wire.Cancel) string { return c.cancel(by, content) })
	case wire.TaskConfirm:
		return applyAs(m, func(content wire.Confirm) string { return c.confirm(f, by, m, content) })
	}
	return wire.CodeBadContent
}

func applyAs[T any](m Message, apply func(T) string) string {
	var content T
	if err := node.Decode(m.Content, &content); err != nil {
		return wire.CodeBadContent
	}
	return apply(content)
}

func (c *Copy) create(f folding, by Role, m Message, content wire.Create) string {
	if c.Status != "" {
		return wire.CodeBadState
	}
	c.Title, c.Status = content.Title, Open
	if content.Proposal == nil {
		return ""
	}
	if code := c.propose(f, by, m, *content.Proposal); code != "" {
		*c = Copy{}
		return code
	}
	return ""
}

func (c *Copy) propose(f folding, by Role, m Message, content wire.Proposal) string {
	to, ok := next(c.Status, evProposed)
	latest := c.Latest()
	switch {
	case c.Status.Ended():
		return wire.CodeTaskEnded
	case !ok:
		return wire.CodeBadState
	case content.Version != latestVersion(latest)+1:
		return wire.CodeStaleVersion
	case content.Digest != Digest(f.uid, by, content.Version, content.Fields):
		return wire.CodeDigestMismatch
	}
	if latest != nil && latest.Status == ProposalPending {
		latest.Status = ProposalSuperseded
	}
	c.Proposals = append(c.Proposals, Proposal{
		Version: content.Version, Author: by, Fields: content.Fields, Digest: content.Digest,
		Status: ProposalPending, MessageID: m.ID, At: m.CreatedAt,
	})
	c.Status = to
	return ""
}

func latestVersion(latest *Proposal) int {
	if latest == nil {
		return 0
	}
	return latest.Version
}

func (c *Copy) respond(by Role, m Message, content wire.Response) string {
	proposal := c.Version(content.Version)
	switch {
	case c.Status.Ended():
		return wire.CodeTaskEnded
	case proposal == nil:
		return wire.CodeStaleVersion
	case content.Digest != proposal.Digest:
		return wire.CodeDigestMismatch
	case proposal.Author == by:
		return wire.CodeBadState
	case proposal.Status == ProposalAccepted || proposal.Status == ProposalRejected:
		return wire.CodeAlreadyResponded
	}
	if content.Decision == wire.Reject {
		return c.reject(by, proposal, content)
	}
	return c.accept(m, proposal)
}

// reject marks the version that it names. Where a newer proposal crossed the
// rejection, that one stays pending (D2).
func (c *Copy) reject(by Role, proposal *Proposal, content wire.Response) string {
	if _, ok := next(c.Status, evRejected); !ok {
		return wire.CodeBadState
	}
	proposal.Status, proposal.RejectedBy, proposal.Reason = ProposalRejected, by, content.Reason
	return ""
}

func (c *Copy) accept(m Message, proposal *Proposal) string {
	to, ok := next(c.Status, evAgreed)
	switch {
	case proposal.Status != ProposalPending:
		return wire.CodeNotLatest
	case !ok:
		return wire.CodeBadState
	}
	proposal.Status = ProposalAccepted
	c.Status, c.Accepted, c.AcceptedBy = to, proposal.Version, m.ID
	return ""
}

// cancel ends an unfinished copy. One that is cancelled already stays so and
// does not mind: both sides may cancel at once.
func (c *Copy) cancel(by Role, content wire.Cancel) string {
	if c.Status == CancelledTask {
		return ""
	}
	to, ok := next(c.Status, evCancelled)
	switch {
	case c.Status == Confirmed:
		return wire.CodeAlreadyConfirmed
	case !ok:
		return wire.CodeTaskEnded
	}
	c.Status, c.EndedBy, c.CancelReason = to, by, content.Reason
	return ""
}

// confirm ends an agreed copy, or corrects an expired one (D5). A confirm that
// meets a cancelled or a confirmed copy is kept as Crossed (D4, D6).
func (c *Copy) confirm(f folding, by Role, m Message, content wire.Confirm) string {
	confirmation := &Confirmation{
		By: by, Action: content.Action, Code: content.Code, ExecutedAt: content.ExecutedAt,
		Simulated: content.Simulated, Receipt: content.Receipt, Salt: content.Salt, MessageID: m.ID,
	}
	switch c.Status {
	case CancelledTask:
		c.Crossed = confirmation
		return wire.CodeCancelled
	case Confirmed:
		c.Crossed = confirmation
		return wire.CodeDoubleRun
	}
	accepted := c.AcceptedProposal()
	if accepted == nil || accepted.Version != content.Version || accepted.Digest != content.Digest {
		return wire.CodeDigestMismatch
	}
	happened := evConfirmed
	if c.Status == ExpiredTask {
		if content.ExecutedAt.After(f.deadline) {
			return wire.CodeTaskEnded
		}
		happened = evCorrected
	}
	to, ok := next(c.Status, happened)
	if !ok {
		return wire.CodeBadState
	}
	c.Status, c.EndedBy, c.Confirmation = to, by, confirmation
	return ""
}

// restsOn says whether what was agreed would not be without a message.
func (c *Copy) restsOn(m Message) bool {
	accepted := c.AcceptedProposal()
	return accepted != nil && (m.Type == wire.TaskCreate || m.ID == accepted.MessageID || m.ID == c.AcceptedBy)
}

// clone is a copy of the copy, to try a message on.
func (c *Copy) clone() Copy {
	twin := *c
	twin.Proposals = append([]Proposal{}, c.Proposals...)
	return twin
}

// fields are the fields of a proposal as an object.
func (p *Proposal) fields() map[string]any {
	var fields map[string]any
	if json.Unmarshal(p.Fields, &fields) != nil {
		return map[string]any{}
	}
	return fields
}
