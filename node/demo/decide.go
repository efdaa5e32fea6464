package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agentlink/approvals"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

// yes asks an owner a question, or answers it for them.
func (p *play) yes(h *house, question string) (bool, error) {
	if p.in == nil {
		p.on(h.side, "%s decides: yes", h.owner)
		return true, nil
	}
	for {
		fmt.Fprintf(p.out, "   %s, %s [y/n] ", h.owner, question)
		line, err := p.in.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil // silence is always "no"
		}
		if err != nil {
			return false, fmt.Errorf("read a decision: %w", err)
		}
	}
}

// decide shows an owner what waits for them and carries out what they say.
func (p *play) decide(ctx context.Context, h *house, id string) error {
	a, err := ask[socket.Approval](ctx, h, socket.ApprovalShow, map[string]any{"id": id})
	if err != nil {
		return err
	}
	p.on(h.side, "%s is asked: %s", h.owner, a.Action)
	for capability, reason := range a.Held {
		p.on(h.side, "because of %s: %s", capability, strings.ReplaceAll(reason, "_", " "))
	}
	for _, row := range display.Rows(a.Parameters) {
		p.on(h.side, "· %s: %s", row.Path, display.Text(row.Value))
	}
	p.on(h.side, "hash %s…", a.Hash[:16])
	approve, err := p.yes(h, "do you approve?")
	if err != nil {
		return err
	}
	effect, err := tell[socket.Effect](ctx, h, socket.ApprovalDecide, socket.DecideApproval{ID: a.ID, Hash: a.Hash, Approve: approve})
	if err != nil {
		return err
	}
	p.on(h.side, "→ %s; the approval is %s", effect.Outcome, effect.Approval.Status)
	if !approve {
		return errStopped
	}
	if effect.Outcome == "failed" || (a.Kind == approvals.Action && effect.Approval.Status != approvals.Approved) {
		return fmt.Errorf("the approval came to %s %s", effect.Outcome, effect.Code)
	}
	return nil
}
