package coordination

import (
	"encoding/json"
	"slices"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
)

// receiveTask takes a numbered message: the next number is processed, and a
// rejection uses it up; a lower one gets its stored outcome; a higher one is a
// gap, which the sender fills first.
func (s *Service) receiveTask(tx node.Tx, r *receiving) (wire.Ack, error) {
	task, err := s.Store.LockTask(tx, r.agent.ID, r.Envelope.Task)
	if node.CodeOf(err) == node.NotFound {
		return s.receiveForUnknown(tx, r)
	}
	if err != nil {
		return wire.Ack{}, err
	}
	if task.hidden(r.connection) {
		return s.receiveForHidden(tx, r)
	}
	ack, err := s.receiveNumbered(tx, r, &task)
	ack.Ack = task.InSeq
	return ack, err
}

// hidden says whether a contact cannot know of a task: it is another contact's, or
// has not left this node.
func (t Task) hidden(c Connection) bool { return t.Held || t.ConnectionID != c.ID }

// receiveForHidden answers as for a task that is not there. That a uid is taken is
// all that can be learned of it, and only by whoever has the uid.
func (s *Service) receiveForHidden(tx node.Tx, r *receiving) (wire.Ack, error) {
	if r.Envelope.Type == wire.TaskCreate && !r.Forged {
		return s.reject(tx, r, wire.CodeUIDTaken)
	}
	return s.receiveForUnknown(tx, r)
}

func (s *Service) receiveNumbered(tx node.Tx, r *receiving, task *Task) (wire.Ack, error) {
	seq := r.Envelope.Seq
	switch {
	case r.Envelope.Type == wire.TaskCreate && seq > task.InSeq:
		return s.reject(tx, r, wire.CodeUIDTaken)
	case r.Envelope.Ack > task.OutSeq:
		return s.outOfStep(tx, r, task, wire.CodeRestored)
	case seq <= task.InSeq:
		return s.lowerNumber(tx, r, task)
	case seq > task.InSeq+1:
		return wire.Ack{Status: wire.Rejected, Code: wire.CodeGap}, nil
	}
	task.InSeq = seq
	if r.Envelope.Type == wire.TaskVoid && !r.Forged {
		return s.receiveVoid(tx, r, task)
	}
	code, err := s.applyTheirs(tx, r, task)
	if err != nil {
		return wire.Ack{}, err
	}
	if code == "" {
		return applied(), nil
	}
	if err := s.Store.SaveTask(tx, *task, task.Status); err != nil {
		return wire.Ack{}, err
	}
	return s.reject(tx, r, code)
}

// applyTheirs applies the peer's next message. The answer is "", or the code of
// the rejection; then what has changed on the task is still to be saved.
func (s *Service) applyTheirs(tx node.Tx, r *receiving, task *Task) (code string, err error) {
	switch {
	case r.Forged:
		return r.forgery(), nil
	case task.OutOfStep:
		return wire.CodeOutOfStep, nil
	}
	if !validContent(r.Envelope.Type, r.Inner.Content, task.Type) {
		return wire.CodeBadContent, nil
	}
	code, err = s.overtake(tx, r, task)
	if code != "" || err != nil {
		return code, err
	}
	actor, m, from := peerActor(task.OwnerID, task.AgentID), r.message(tx), task.Status
	if code := task.apply(task.Role.Other(), m); code != "" {
		return code, s.metOtherwise(tx, r, task, code)
	}
	task.Positions++
	m.Position = task.Positions
	if err := s.store(tx, r, m); err != nil {
		return "", err
	}
	if err := s.saveTask(tx, *task, from, ""); err != nil {
		return "", err
	}
	if err := s.auditTask(tx, actor, *task, m, from); err != nil || m.Type != wire.TaskConfirm {
		return "", err
	}
	return "", s.proven(tx, task)
}

// proven settles those messages of ours whose answer was lost and on which the
// peer's confirmation rests. Whatever is said of them later, they are no longer taken
// back.
func (s *Service) proven(tx node.Tx, task *Task) error {
	messages, err := s.Store.TaskMessages(tx, task.AgentID, task.UID)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.Direction != Out || m.Status != MsgQueued || !task.Copy.restsOn(m) {
			continue
		}
		if err := s.Outbox.DropOutbox(tx, m.AgentID, outbox.Envelope, m.ID); err != nil {
			return err
		}
		if err := s.delivered(tx, m); err != nil {
			return err
		}
	}
	return nil
}

// metOtherwise flags what a confirm or a cancel means that met a copy which had
// ended otherwise (D4, D6).
func (s *Service) metOtherwise(tx node.Tx, r *receiving, task *Task, code string) error {
	actor := peerActor(task.OwnerID, task.AgentID)
	switch {
	case r.Envelope.Type == wire.TaskConfirm:
		return s.disagree(tx, actor, task, disagreementFor(code))
	case r.Envelope.Type == wire.TaskCancel && code == wire.CodeAlreadyConfirmed:
		return s.disagree(tx, actor, task, ConfirmedVsEnded)
	}
	return nil
}

// overtake voids, or refuses, what crossed on the way (D1, D2). Nothing of ours
// falls for a message that would not fit even then.
func (s *Service) overtake(tx node.Tx, r *receiving, task *Task) (code string, err error) {
	acceptance := r.Envelope.Type == wire.TaskRespond && accepts(r.Inner.Content)
	if r.Envelope.Type != wire.TaskPropose && !acceptance {
		return "", nil
	}
	uncovered, err := s.uncovered(tx, task, r.Envelope.Ack)
	if err != nil || len(uncovered) == 0 {
		return "", err
	}
	switch {
	case !acceptance && task.Role == Initiator:
		return wire.CodeVersionConflict, nil
	case acceptance && anyDelivered(uncovered):
		return wire.CodeStaleAcceptance, nil
	case !fitsWithout(task, uncovered, r.message(tx)):
		return "", nil
	}
	return "", s.voidCrossed(tx, task, uncovered, wire.CodeVersionConflict)
}

// uncovered lists our proposals in the copy that the peer had not processed when
// it wrote: without a number yet, or with one above its ack.
func (s *Service) uncovered(tx node.Tx, task *Task, ack int64) ([]Message, error) {
	messages, err := s.Store.TaskMessages(tx, task.AgentID, task.UID)
	if err != nil {
		return nil, err
	}
	var uncovered []Message
	for _, m := range messages {
		if m.Direction == Out && m.Type == wire.TaskPropose && !m.Void && (m.Seq == 0 || m.Seq > ack) {
			uncovered = append(uncovered, m)
		}
	}
	return uncovered, nil
}

func anyDelivered(messages []Message) bool {
	for _, m := range messages {
		if m.Status == MsgDelivered {
			return true
		}
	}
	return false
}

// fitsWithout says whether a message of the peer's would fit once proposals of
// ours are void.
func fitsWithout(task *Task, crossed []Message, m Message) bool {
	gone := map[string]bool{}
	for _, u := range crossed {
		gone[u.ID] = true
	}
	trial := task.Copy.clone()
	trial.Proposals = nil
	for _, p := range task.Copy.Proposals {
		if !gone[p.MessageID] {
			trial.Proposals = append(trial.Proposals, p)
		}
	}
	if last := trial.Latest(); last != nil && last.Status == ProposalSuperseded {
		last.Status = ProposalPending
	}
	return trial.apply(task.folding(), task.Role.Other(), m) == ""
}

// voidCrossed makes proposals of ours void. One that cannot have left fails;
// one that may have arrived waits for the peer's answer, which will reject it. The
// latest goes first: with an earlier one, those after it would fall by themselves.
func (s *Service) voidCrossed(tx node.Tx, task *Task, crossed []Message, why string) error {
	actor := peerActor(task.OwnerID, task.AgentID)
	for _, m := range slices.Backward(crossed) {
		if m.Status == MsgQueued && m.AttemptedAt.IsZero() {
			if err := s.fail(tx, actor, m, why); err != nil {
				return err
			}
		}
		if err := s.void(tx, actor, task, m, why); err != nil {
			return err
		}
	}
	return nil
}

func accepts(content json.RawMessage) bool {
	var response wire.Response
	return node.Decode(content, &response) == nil && response.Decision == wire.Accept
}

// validContent checks what a message says by itself, before it meets the copy.
func validContent(typ wire.Type, content json.RawMessage, taskType string) bool {
	switch typ {
	case wire.TaskPropose:
		var p wire.Proposal
		return node.Decode(content, &p) == nil && validFields(taskType, p.Fields)
	case wire.TaskRespond:
		var response wire.Response
		return node.Decode(content, &response) == nil && within(response.Reason, 0, wire.MaxReason) &&
			(response.Decision == wire.Accept || response.Decision == wire.Reject)
	case wire.TaskCancel:
		var cancel wire.Cancel
		return node.Decode(content, &cancel) == nil && within(cancel.Reason, 0, wire.MaxReason)
	case wire.TaskConfirm:
		var confirm wire.Confirm
		t, known := TypeOf(taskType)
		return node.Decode(content, &confirm) == nil && known && confirm.Action == t.Action && t.Action != "" &&
			within(confirm.Code, 0, 64) && within(confirm.Receipt, 0, 4096) && within(confirm.Salt, 0, 64)
	}
	return false
}

func validFields(taskType string, fields json.RawMessage) bool {
	t, known := TypeOf(taskType)
	if !known {
		return false
	}
	_, err := t.CheckFields(fields)
	return err == nil
}

// lowerNumber answers a number that was processed before.
func (s *Service) lowerNumber(tx node.Tx, r *receiving, task *Task) (wire.Ack, error) {
	earlier, err := s.Store.NumberedMessage(tx, r.agent.ID, task.UID, In, r.Envelope.Seq)
	if err != nil && node.CodeOf(err) != node.NotFound {
		return wire.Ack{}, err
	}
	found := err == nil
	switch {
	case r.Envelope.Type == wire.TaskVoid && voids(r.Inner.Content) == earlier.ID && found && earlier.Status == MsgReceived:
		return wire.Ack{Status: wire.Applied, Code: wire.CodeAlreadyProcessed}, nil
	case r.Envelope.Type == wire.TaskVoid && voids(r.Inner.Content) == earlier.ID && found:
		return wire.Ack{Status: wire.Rejected, Code: earlier.Code}, nil
	case found && earlier.Replaces == r.Envelope.JTI: // by a task.void
		return wire.Ack{Status: wire.Rejected, Code: wire.CodeVoided}, nil
	case found && earlier.ID == r.Envelope.JTI && earlier.Status == MsgReceived:
		return applied(), nil
	case found && earlier.ID == r.Envelope.JTI:
		return wire.Ack{Status: wire.Rejected, Code: earlier.Code}, nil
	}
	return s.outOfStep(tx, r, task, wire.CodeSeqReused)
}

// voids is the id that a task.void names, or "".
func voids(content json.RawMessage) string {
	var void wire.Void
	if node.Decode(content, &void) != nil {
		return ""
	}
	return void.JTI
}

func (s *Service) outOfStep(tx node.Tx, r *receiving, task *Task, code string) (wire.Ack, error) {
	ack, err := s.reject(tx, r, code)
	if err != nil {
		return ack, err
	}
	return ack, s.markOutOfStep(tx, peerActor(task.OwnerID, task.AgentID), task.AgentID, task.UID, code)
}

// receiveVoid records that the message behind this number was withdrawn before
// it came.
func (s *Service) receiveVoid(tx node.Tx, r *receiving, task *Task) (wire.Ack, error) {
	m := r.message(tx)
	if m.Replaces = voids(r.Inner.Content); !node.ValidID(m.Replaces) {
		if err := s.Store.SaveTask(tx, *task, task.Status); err != nil {
			return wire.Ack{}, err
		}
		return s.reject(tx, r, wire.CodeBadContent)
	}
	if err := s.Store.SaveTask(tx, *task, task.Status); err != nil {
		return wire.Ack{}, err
	}
	return wire.Ack{Status: wire.Applied, Code: wire.CodeVoided}, s.store(tx, r, m)
}

// receiveForUnknown takes messages of a task that we have no copy of: its
// create, or the withdrawal of its create.
func (s *Service) receiveForUnknown(tx node.Tx, r *receiving) (wire.Ack, error) {
	switch {
	case r.Envelope.Type == wire.TaskVoid && r.Envelope.Seq == 1 && node.ValidID(voids(r.Inner.Content)):
		until := time.Unix(r.Envelope.Exp, 0).Add(wire.KeepAnswer)
		err := s.Store.KeepAck(tx, r.agent.ID, voids(r.Inner.Content), r.Envelope.Iss, nil, until)
		return wire.Ack{Status: wire.Applied, Code: wire.CodeVoided, Ack: 1}, err
	case r.Forged:
		return s.reject(tx, r, r.forgery())
	case r.Envelope.Type != wire.TaskCreate:
		return s.reject(tx, r, wire.CodeUnknownTask)
	}
	_, withdrawn, err := s.Store.KeptAck(tx, r.agent.ID, r.Envelope.JTI, r.Envelope.Iss)
	if err != nil {
		return wire.Ack{}, err
	}
	if withdrawn {
		return s.reject(tx, r, wire.CodeVoided)
	}
	return s.receiveCreate(tx, r)
}

func (s *Service) receiveCreate(tx node.Tx, r *receiving) (wire.Ack, error) {
	var create wire.Create
	if node.Decode(r.Inner.Content, &create) != nil || !within(create.Title, 1, wire.MaxTitle) || r.Envelope.Seq != 1 || !node.ValidID(r.Envelope.Task) {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	if _, known := TypeOf(create.TaskType); !known {
		return s.reject(tx, r, wire.CodeUnknownType)
	}
	if create.Proposal != nil && !validFields(create.TaskType, create.Proposal.Fields) {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	latest := tx.Now().Add(MaxHours*time.Hour + wire.MaxSkew)
	if !create.Deadline.After(tx.Now()) || create.Deadline.After(latest) {
		return s.reject(tx, r, wire.CodeBadDeadline)
	}
	task := Task{
		UID: r.Envelope.Task, OwnerID: r.agent.OwnerID, AgentID: r.agent.ID, ConnectionID: r.connection.ID,
		Contact: r.connection.Contact, Role: Responder, Type: create.TaskType, Status: Open,
		Deadline: create.Deadline.UTC().Truncate(time.Microsecond), InSeq: 1, Positions: 1,
		CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
	}
	m := r.message(tx)
	m.Position = 1
	if code := task.apply(Initiator, m); code != "" {
		return s.reject(tx, r, code)
	}
	fresh, err := s.Store.InsertTask(tx, task)
	if err != nil {
		return wire.Ack{}, err
	}
	if !fresh {
		return s.reject(tx, r, wire.CodeUIDTaken)
	}
	if err := s.store(tx, r, m); err != nil {
		return wire.Ack{}, err
	}
	ack := applied()
	ack.Ack = 1
	return ack, s.auditTask(tx, peerActor(task.OwnerID, task.AgentID), task, m, "")
}
