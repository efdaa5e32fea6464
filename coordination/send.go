package coordination

import (
	"encoding/json"
	"time"

	"agentlink/approvals"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/outbox"
	"agentlink/policy"
)

// writing is something that an agent, or the owner, wants to send to a contact.
type writing struct {
	connection Connection
	task       *Task // nil for chat
	typ        wire.Type
	content    any
	// capability names what is done, for the approval: message.send, task.propose …
	capability  string
	needs       []string
	freeText    []string
	fields      map[string]any
	amountField string
	// version is the proposal's, for the result.
	version int
}

// submit asks the policy, and then sends, holds or refuses.
func (s *Service) submit(tx node.Tx, actor node.Actor, w writing) (Result, error) {
	m, err := s.draft(tx, actor, w)
	if err != nil {
		return Result{}, err
	}
	result := Result{Status: StatusQueued, ID: m.ID, TaskUID: m.TaskUID, Version: w.version}
	if actor.Kind == node.ActorOwner {
		if w.connection.Status != ConnActive || w.connection.KeyChanged {
			return Result{}, node.ConflictFor(node.ReasonBadState, "The connection is not active.")
		}
		return result, s.release(tx, actor, &m, w.task, "")
	}
	decision, err := s.decide(tx, w, m)
	if err != nil {
		return Result{}, err
	}
	m.DecidedRev = decision.RulesRev
	switch decision.Outcome {
	case policy.Allowed:
		return result, s.release(tx, actor, &m, w.task, "")
	case policy.Held:
		result.Status = StatusPendingApproval
		result.ApprovalID, err = s.hold(tx, actor, m, w, decision)
		return result, err
	default:
		return Result{Status: StatusRefused, Refusal: decision.Refusal()}, nil
	}
}

func (s *Service) draft(tx node.Tx, actor node.Actor, w writing) (Message, error) {
	content, err := node.Canonical(w.content)
	if err != nil {
		return Message{}, node.Wrap(err, "write a message")
	}
	if len(content) > wire.MaxContent {
		return Message{}, node.Errorf(node.TooLarge, "The message is too large to send: at most %d bytes of JSON fit.", wire.MaxContent)
	}
	m := Message{
		ID: s.IDs.New(), OwnerID: w.connection.OwnerID, AgentID: w.connection.AgentID,
		ConnectionID: w.connection.ID, Direction: Out, Type: w.typ, Author: author(actor),
		Content: content, Needs: w.needs, CreatedAt: tx.Now(), ExpiresAt: tx.Now().Add(wire.ChatLife),
	}
	if w.task != nil {
		m.TaskUID, m.ExpiresAt = w.task.UID, w.task.Deadline
	}
	return m, nil
}

func (s *Service) decide(tx node.Tx, w writing, m Message) (policy.Decision, error) {
	return s.Policy.Decide(tx, policy.Request{
		AgentID: m.AgentID, Contact: w.connection.Contact, Connection: effective(w.connection),
		StructuredOnly: w.connection.StructuredOnly, FreeText: w.freeText, Capabilities: w.needs,
		Fields: w.fields, AmountField: w.amountField, Subject: m.ID, TaskUID: m.TaskUID,
	})
}

// effective is the status of a connection as the policy sees it: one whose peer
// came back with another key is not active.
func effective(c Connection) string {
	if c.Status == ConnActive && c.KeyChanged {
		return "key_changed"
	}
	return string(c.Status)
}

// hold stores the message and asks the owner. The copy of the task is not touched.
func (s *Service) hold(tx node.Tx, actor node.Actor, m Message, w writing, decision policy.Decision) (string, error) {
	_, reasons := decision.NeedApproval()
	held := make(map[string]string, len(reasons))
	for name, reason := range reasons {
		held[name] = string(reason)
	}
	parameters, err := heldParameters(w.connection.Contact, m, held)
	if err != nil {
		return "", err
	}
	if w.typ == wire.TaskCreate {
		w.task.Held = true
		if _, err := s.Store.InsertTask(tx, *w.task); err != nil {
			return "", err
		}
	}
	request := approvals.Request{
		AgentID: m.AgentID, OwnerID: m.OwnerID, Kind: approvals.Message, Action: w.capability,
		ConnectionID: m.ConnectionID, Contact: w.connection.Contact, TaskUID: m.TaskUID, Subject: m.ID,
		Parameters: parameters, Held: held, ExpiresBy: m.ExpiresAt,
	}
	approval, err := s.Approvals.Request(tx, actor, request)
	if err != nil {
		return "", err
	}
	m.Status, m.ApprovalID = MsgPendingApproval, approval.ID
	if err := s.Store.InsertMessage(tx, m); err != nil {
		return "", err
	}
	return approval.ID, s.audit(tx, audit.Event{
		Type: audit.MessageHeld, Actor: actor, AgentID: m.AgentID, ConnectionID: m.ConnectionID,
		TaskUID: m.TaskUID, Subject: m.ID, Data: map[string]any{"type": string(m.Type), "approval": approval.ID},
	})
}

// heldParameters is what the owner sees of a held message and what its hash
// binds: recipient, type, full content, and which capabilities needed them.
func heldParameters(contact string, m Message, held map[string]string) (json.RawMessage, error) {
	canonical, err := node.Canonical(map[string]any{
		"recipient": contact, "type": m.Type, "content": m.Content, "capabilities": held,
	})
	return canonical, node.Wrap(err, "write approval parameters")
}

// release applies a message to our copy of its task, if it has one, and queues
// it. m is new, or was held under the approval named.
func (s *Service) release(tx node.Tx, actor node.Actor, m *Message, task *Task, approvalID string) error {
	from := m.Status
	if task != nil {
		if err := s.enter(tx, actor, m, task, approvalID); err != nil {
			return err
		}
	}
	m.Status = MsgQueued
	if err := s.storeMessage(tx, *m, from); err != nil {
		return err
	}
	if err := s.disclose(tx, *m, task, approvalID); err != nil {
		return err
	}
	if err := s.enqueue(tx, *m); err != nil {
		return err
	}
	return s.audit(tx, audit.Event{
		Type: audit.MessageQueued, Actor: actor, AgentID: m.AgentID, ConnectionID: m.ConnectionID,
		TaskUID: m.TaskUID, Subject: m.ID, Data: map[string]any{"type": string(m.Type)},
	})
}

func (s *Service) storeMessage(tx node.Tx, m Message, from MessageStatus) error {
	if from == "" {
		return s.Store.InsertMessage(tx, m)
	}
	return s.Store.SaveMessage(tx, m, from)
}

// enter makes one of our messages part of our copy.
func (s *Service) enter(tx node.Tx, actor node.Actor, m *Message, task *Task, approvalID string) error {
	fresh := task.Copy.Status == ""
	from := task.Status
	if m.Type == wire.TaskCreate {
		if err := dateCreate(tx.Now(), m, task); err != nil {
			return err
		}
	}
	if code := task.apply(task.Role, *m); code != "" {
		return refusalOf(code)
	}
	task.Positions++
	m.Position, m.Ack = task.Positions, task.InSeq
	if fresh && !task.Held {
		if _, err := s.Store.InsertTask(tx, *task); err != nil {
			return err
		}
		return s.auditTask(tx, actor, *task, *m, from)
	}
	task.Held = false
	if err := s.saveTask(tx, *task, from, approvalID); err != nil {
		return err
	}
	return s.auditTask(tx, actor, *task, *m, from)
}

// enqueue puts a message into the outbox. Messages of a task leave one at a time
// and in the order of their positions; others do not wait for each other.
func (s *Service) enqueue(tx node.Tx, m Message) error {
	item := outbox.Item{
		ID: s.IDs.New(), OwnerID: m.OwnerID, AgentID: m.AgentID, Kind: outbox.Envelope, Ref: m.ID,
		Lane: m.ID, NextAt: tx.Now(), CreatedAt: tx.Now(),
	}
	if m.TaskUID != "" {
		item.Lane, item.Order = m.TaskUID, m.Position
	}
	return s.Outbox.InsertOutbox(tx, item)
}

// notice queues a message about the connection itself.
func (s *Service) notice(tx node.Tx, c Connection, typ wire.Type, content any, who node.Actor) (Message, error) {
	var needs []string
	if typ == wire.ConnectionRequest && who.Kind == node.ActorAgent {
		needs = []string{policy.ConnectionRequest}
	}
	return s.noticeFor(tx, c, typ, content, needs, who)
}

func (s *Service) noticeFor(tx node.Tx, c Connection, typ wire.Type, content any, needs []string, who node.Actor) (Message, error) {
	canonical, err := node.Canonical(content)
	if err != nil {
		return Message{}, node.Wrap(err, "write a notice")
	}
	m := Message{
		ID: s.IDs.New(), OwnerID: c.OwnerID, AgentID: c.AgentID, ConnectionID: c.ID, Direction: Out, Needs: needs,
		Type: typ, Author: author(who), Content: canonical, CreatedAt: tx.Now(), ExpiresAt: tx.Now().Add(wire.NoticeLife),
	}
	return m, s.release(tx, who, &m, nil, "")
}

// dateCreate gives a create its deadline, at the moment of its release (D12).
func dateCreate(now time.Time, m *Message, task *Task) error {
	var held heldCreate
	if err := node.Decode(m.Content, &held); err != nil {
		return err
	}
	task.Deadline = deadlineOf(now, held.ExpiresInHours)
	m.ExpiresAt = task.Deadline
	content, err := node.Canonical(wire.Create{
		TaskType: held.TaskType, Title: held.Title, Deadline: task.Deadline, Proposal: held.Proposal,
	})
	m.Content = content
	return node.Wrap(err, "write a create")
}

// deadlineOf is when a task that starts now ends.
func deadlineOf(now time.Time, hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
