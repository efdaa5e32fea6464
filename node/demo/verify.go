package demo

import (
	"context"
	"fmt"
	"reflect"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
)

// verify checks both audit logs and compares both copies of the task.
func (p *play) verify(ctx context.Context) error {
	p.title("Afterwards")
	for _, h := range []*house{p.ada, p.ben} {
		report, err := ask[audit.Report](ctx, h, socket.AuditVerify, socket.VerifyLog{Deep: true})
		if err != nil {
			return err
		}
		if !report.OK() {
			return fmt.Errorf("the audit log of %s's node: %s", h.owner, report.Problem)
		}
		p.on(h.side, "the audit log is whole: %d rows", report.Rows)
	}
	if p.ada.agent.task == "" {
		return nil
	}
	return p.compare(ctx)
}

// shared is what both copies of a task have to say alike.
type shared struct {
	Status    string
	Deadline  string
	Proposals []any
}

func (p *play) compare(ctx context.Context) error {
	var copies [2]shared
	for i, h := range []*house{p.ada, p.ben} {
		got, err := h.agent.get(ctx, p.task())
		if err != nil {
			return err
		}
		if got.status != 200 {
			p.on(h.side, "there is no copy of the task here")
			return nil
		}
		copies[i] = sharedOf(got)
		p.on(h.side, "the copy is %s, version %d", copies[i].Status, len(copies[i].Proposals))
	}
	if !reflect.DeepEqual(copies[0], copies[1]) {
		return fmt.Errorf("the two copies differ: %+v and %+v", copies[0], copies[1])
	}
	p.say("Both copies agree: status, deadline, and every proposal by its digest.")
	return nil
}

func sharedOf(task answer) shared {
	s := shared{Status: task.text("status"), Deadline: task.text("deadline")}
	if s.Status == "awaiting_approval" {
		s.Status = "agreed" // only our own node knows that its owner is being asked
	}
	proposals, _ := task.value("proposals").([]any)
	for _, proposal := range proposals {
		one, _ := proposal.(map[string]any)
		s.Proposals = append(s.Proposals, []any{one["version"], one["author"], one["digest"], one["status"]})
	}
	return s
}
