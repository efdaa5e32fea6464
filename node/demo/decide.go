package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

// word is how an owner decided.
type word int

const (
	no      word = iota
	yes          // said in the terminal
	clicked      // decided on the page meanwhile
)

// look is how often the demo looks whether an owner has decided by click.
const look = 200 * time.Millisecond

// asks asks an owner a question, or answers it for them. decided says whether
// they have decided on the page instead.
func (p *play) asks(ctx context.Context, h *house, question string, decided func() (bool, error)) (word, error) {
	if p.typed == nil {
		p.on(h.side, "%s decides: yes", h.owner)
		return yes, nil
	}
	ask := func() { fmt.Fprintf(p.out, "   %s, %s [y/n, or by click] ", h.owner, question) }
	ask()
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		select {
		case line, more := <-p.typed:
			switch strings.ToLower(strings.TrimSpace(line)) {
			case "y", "yes":
				return yes, nil
			case "n", "no":
				return no, nil
			}
			if !more {
				return no, nil // silence is always "no"
			}
			ask()
		case <-ticks.C:
			done, err := decided()
			if err != nil {
				return no, err
			}
			if done {
				p.say("")
				return clicked, nil
			}
		case <-ctx.Done():
			return no, ctx.Err()
		}
	}
}

// decide shows an owner what waits for them and carries out what they say.
func (p *play) decide(ctx context.Context, h *house, id string) error {
	a, err := p.showApproval(ctx, h, id)
	if err != nil {
		return err
	}
	said, err := p.asks(ctx, h, "do you approve?", func() (bool, error) {
		now, err := ask[socket.Approval](ctx, h, socket.ApprovalShow, socket.ByID{ID: id})
		return now.Status != approvals.Pending, err
	})
	switch {
	case err != nil:
		return err
	case said == clicked:
		return p.approvedByClick(ctx, h, id)
	}
	effect, err := tell[socket.Effect](ctx, h, socket.ApprovalDecide, socket.DecideApproval{ID: a.ID, Hash: a.Hash, Approve: said == yes})
	if err != nil {
		return err
	}
	p.on(h.side, "→ %s; the approval is %s", effect.Outcome, effect.Approval.Status)
	if said == no {
		return errStopped
	}
	if effect.Outcome == "failed" || (a.Kind == approvals.Action && effect.Approval.Status != approvals.Approved) {
		return fmt.Errorf("the approval came to %s %s", effect.Outcome, effect.Code)
	}
	return nil
}

func (p *play) showApproval(ctx context.Context, h *house, id string) (socket.Approval, error) {
	a, err := ask[socket.Approval](ctx, h, socket.ApprovalShow, socket.ByID{ID: id})
	if err != nil {
		return a, err
	}
	p.on(h.side, "%s is asked: %s", h.owner, a.Action)
	for capability, reason := range a.Held {
		p.on(h.side, "because of %s: %s", capability, strings.ReplaceAll(reason, "_", " "))
	}
	for _, row := range display.Rows(a.Parameters) {
		p.on(h.side, "· %s: %s", row.Path, display.Text(row.Value))
	}
	p.on(h.side, "hash %s…", a.Hash[:16])
	return a, nil
}

// approvedByClick reads what an owner has decided on the page.
func (p *play) approvedByClick(ctx context.Context, h *house, id string) error {
	a, err := ask[socket.Approval](ctx, h, socket.ApprovalShow, socket.ByID{ID: id})
	if err != nil {
		return err
	}
	p.on(h.side, "→ by click; the approval is %s", a.Status)
	switch a.Status {
	case approvals.Approved, approvals.Consumed:
		return nil
	case approvals.Rejected:
		return errStopped
	}
	return fmt.Errorf("the approval came to %s", a.Status)
}

// accepts lets the owner of the second node decide about the request of the
// first.
func (p *play) accepts(ctx context.Context) error {
	id := p.ben.agent.connection
	show := func() (socket.Connection, error) {
		return ask[socket.Connection](ctx, p.ben, socket.ConnectionShow, socket.ByID{ID: id})
	}
	c, err := show()
	if err != nil {
		return err
	}
	p.on(right, "%s asks to connect with juno: %s", c.Contact, c.Note)
	p.on(right, "fingerprint %s…", c.Fingerprint[:16])
	said, err := p.asks(ctx, p.ben, "do you accept?", func() (bool, error) {
		c, err = show()
		return c.Status != coordination.PendingIncoming, err
	})
	switch {
	case err != nil:
		return err
	case said == yes:
		_, err = tell[socket.Connection](ctx, p.ben, socket.ConnectionAccept, socket.ByID{ID: id})
		return err
	case said == no:
		_, err = tell[socket.Connection](ctx, p.ben, socket.ConnectionReject, socket.ByID{ID: id})
		p.on(right, "→ rejected")
	case c.Status == coordination.ConnActive:
		p.on(right, "→ by click; accepted")
		return nil
	default:
		p.on(right, "→ by click; %s", strings.ReplaceAll(string(c.Status), "_", " "))
	}
	if err == nil {
		err = errStopped
	}
	return err
}
