package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"agentlink/node/api/socket"
	"agentlink/policy"
)

// scene is a part of the story.
type scene struct {
	title string
	play  func(p *play, ctx context.Context) error
}

// scenes is the story. Each goes on where the one before it ended.
var scenes = []scene{
	{"1. Connecting: both owners decide", (*play).connects},
	{"2. The owners' rules", (*play).rules},
	{"3. A chat message", (*play).chats},
	{"4. A detail that is denied", (*play).denied},
	{"5. A proposal whose dietary note waits for Ada", (*play).proposes},
	{"6. A counter-proposal from the manual side", (*play).counters},
	{"7. Agreement", (*play).agrees},
	{"8. Booking needs an approval", (*play).books},
}

func (p *play) connects(ctx context.Context) error {
	got, err := p.ada.agent.post(ctx, "/v1/agent/connections", map[string]any{"address": p.ben.address(), "note": "Dinner on Friday?"})
	if err == nil {
		err = got.want(http.StatusAccepted)
	}
	if err != nil {
		return err
	}
	p.on(left, "scout asks to connect with %s: %s", p.ben.address(), got.text("status"))
	if err := p.decide(ctx, p.ada, got.text("approvalId")); err != nil {
		return err
	}
	got, err = p.ben.agent.until(ctx, "/v1/agent/connections", "items.0.status", "pending_incoming", "active")
	if err != nil {
		return err
	}
	p.ben.agent.connection = got.text("items.0.id")
	if err := p.accepts(ctx); err != nil {
		return err
	}
	for _, h := range []*house{p.ada, p.ben} {
		if got, err = h.agent.until(ctx, "/v1/agent/connections", "items.0.status", "active"); err != nil {
			return err
		}
		h.agent.connection = got.text("items.0.id")
		p.on(h.side, "the connection is active")
	}
	return nil
}

func (p *play) rules(ctx context.Context) error {
	for _, rule := range []struct {
		of, contact *house
		capability  string
		mode        policy.GrantMode
	}{
		{p.ada, p.ben, policy.DiscloseAvailability, policy.Allow},
		{p.ada, p.ben, policy.DisclosePreferences, policy.Allow},
		{p.ada, p.ben, policy.DiscloseBudget, policy.Deny},
		{p.ben, p.ada, policy.DiscloseAvailability, policy.Allow},
	} {
		_, err := tell[socket.GrantChange](ctx, rule.of, socket.GrantSet, socket.SetGrant{
			Contact: rule.contact.address(), Capability: rule.capability, Mode: rule.mode,
		})
		if err != nil {
			return err
		}
		p.on(rule.of.side, "%s: %s → %s", rule.of.owner, rule.capability, rule.mode)
	}
	p.on(left, "everything else of disclose.* asks Ada")
	p.on(right, "juno is manual: all it writes waits")
	return nil
}

func (p *play) chats(ctx context.Context) error {
	text := "Shall we have dinner on Friday?"
	got, err := p.ada.agent.post(ctx, "/v1/agent/messages", map[string]any{"connectionId": p.ada.agent.connection, "text": text})
	if err == nil {
		err = got.want(http.StatusCreated)
	}
	if err != nil {
		return err
	}
	p.on(left, "scout writes: %s (%s)", text, got.text("status"))
	if _, err := p.ben.agent.until(ctx, "/v1/agent/messages", "items.0.content.text", text); err != nil {
		return err
	}
	p.on(right, "juno reads: %s", text)
	return nil
}

// dinner is the terms, with changes.
func dinner(changes map[string]any) map[string]any {
	fields := map[string]any{
		"date": "2031-05-09", "time": "19:30", "timezone": "Europe/Rome", "cuisine": "italian",
		"partySize": 4, "venue": map[string]any{"name": "Da Piero"},
	}
	for name, value := range changes {
		fields[name] = value
	}
	return fields
}

func (p *play) start(ctx context.Context, fields map[string]any) (answer, error) {
	return p.ada.agent.post(ctx, "/v1/agent/tasks", map[string]any{
		"connectionId": p.ada.agent.connection, "type": "dinner.coordination", "title": "Dinner on Friday", "proposal": fields,
	})
}

func (p *play) denied(ctx context.Context) error {
	got, err := p.start(ctx, dinner(map[string]any{"budgetPerPerson": 40}))
	if err == nil {
		err = got.want(http.StatusForbidden)
	}
	if err != nil {
		return err
	}
	p.on(left, "scout proposes a dinner with a budget of 40")
	p.on(left, "→ %s: %v; nothing has left", got.text("error.code"), got.value("error.details.denied"))
	return nil
}

func (p *play) proposes(ctx context.Context) error {
	got, err := p.start(ctx, dinner(map[string]any{"dietaryNotes": []string{"no peanuts"}}))
	if err == nil {
		err = got.want(http.StatusAccepted)
	}
	if err != nil {
		return err
	}
	p.ada.agent.task, p.ben.agent.task = got.text("taskUid"), got.text("taskUid")
	p.on(left, "scout proposes 9 May 2031, 19:30, Da Piero, for 4, no peanuts: %s", got.text("status"))
	if err := p.decide(ctx, p.ada, got.text("approvalId")); err != nil {
		return err
	}
	if _, err := p.ben.agent.until(ctx, p.task(), "proposals.0.status", "pending"); err != nil {
		return err
	}
	p.on(right, "version 1 has arrived")
	return nil
}

func (p *play) task() string { return "/v1/agent/tasks/" + p.ada.agent.task }

func (p *play) counters(ctx context.Context) error {
	fields := dinner(map[string]any{"time": "20:00"})
	delete(fields, "cuisine")
	got, err := p.ben.agent.post(ctx, p.task()+"/proposals", map[string]any{"fields": fields, "basedOnVersion": 1})
	if err == nil {
		err = got.want(http.StatusAccepted)
	}
	if err != nil {
		return err
	}
	p.on(right, "juno would rather eat at 20:00: %s", got.text("status"))
	if err := p.decide(ctx, p.ben, got.text("approvalId")); err != nil {
		return err
	}
	if _, err := p.ada.agent.until(ctx, p.task(), "proposals.1.status", "pending"); err != nil {
		return err
	}
	p.on(left, "version 2 has arrived, version 1 is superseded")
	return nil
}

func (p *play) agrees(ctx context.Context) error {
	got, err := p.ada.agent.post(ctx, p.task()+"/responses", map[string]any{"version": 2, "decision": "accept"})
	if err == nil {
		err = got.want(http.StatusCreated)
	}
	if err != nil {
		return err
	}
	p.on(left, "scout accepts version 2: %s", got.text("status"))
	for _, h := range []*house{p.ben, p.ada} {
		if _, err := h.agent.until(ctx, p.task(), "status", "agreed"); err != nil {
			return err
		}
		p.on(h.side, "the task is agreed")
	}
	return nil
}

func (p *play) booking(partySize int) map[string]any {
	return map[string]any{
		"venue": "Da Piero", "date": "2031-05-09", "time": "20:00", "partySize": partySize, "taskUid": p.ada.agent.task,
	}
}

func (p *play) books(ctx context.Context) error {
	book := map[string]any{"action": "reservation.book", "parameters": p.booking(4)}
	if err := p.tries(ctx, "scout books at once", book, http.StatusForbidden, "error.message"); err != nil {
		return err
	}
	got, err := p.ada.agent.post(ctx, "/v1/agent/approvals", book)
	if err == nil {
		err = got.want(http.StatusCreated)
	}
	if err != nil {
		return err
	}
	id := got.text("approvalId")
	p.on(left, "scout asks for an approval: %s", got.text("status"))
	if err := p.decide(ctx, p.ada, id); err != nil {
		return err
	}
	other := map[string]any{"action": "reservation.book", "parameters": p.booking(12), "approvalId": id}
	if err := p.tries(ctx, "scout books for 12 with it", other, http.StatusConflict, "error.details.reason"); err != nil {
		return err
	}
	book["approvalId"] = id
	if err := p.runs(ctx, book); err != nil {
		return err
	}
	return p.tries(ctx, "scout uses the approval again", book, http.StatusConflict, "error.details.reason")
}

// tries does what is to be refused.
func (p *play) tries(ctx context.Context, what string, body map[string]any, status int, member string) error {
	got, err := p.ada.agent.post(ctx, "/v1/agent/actions", body)
	if err == nil {
		err = got.want(status)
	}
	if err != nil {
		return err
	}
	p.on(left, "%s → %s: %v", what, got.text("error.code"), got.value(member))
	return nil
}

func (p *play) runs(ctx context.Context, body map[string]any) error {
	got, err := p.ada.agent.post(ctx, "/v1/agent/actions", body)
	if err == nil {
		err = got.want(http.StatusCreated)
	}
	if err != nil {
		return err
	}
	code := got.text("result.code")
	p.on(left, "scout books for 4 with it → %s, code %s (%s); confirmation %s",
		got.text("outcome"), code, got.text("proof"), got.text("taskConfirmation"))
	if got.text("outcome") != "done" || !strings.HasPrefix(code, "AL-") {
		return fmt.Errorf("the booking came to %s with code %q", got.text("outcome"), code)
	}
	there, err := p.ben.agent.until(ctx, p.task(), "status", "confirmed")
	if err != nil {
		return err
	}
	p.on(right, "the task is confirmed, code %s", there.text("confirmation.content.code"))
	return nil
}
