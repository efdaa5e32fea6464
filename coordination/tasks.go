package coordination

import (
	"encoding/json"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// Hours that a task may last.
const (
	MinHours     = 1
	MaxHours     = 720
	DefaultHours = 72
)

// StartTask is what a task begins with.
type StartTask struct {
	ConnectionID   string
	Type           string
	Title          string          // 1 to wire.MaxTitle characters
	Proposal       json.RawMessage // fields of version 1; nil for none
	ExpiresInHours int             // MinHours to MaxHours; 0 means DefaultHours
}

// heldCreate is the content of a create until it is released: the deadline is
// set then (D12).
type heldCreate struct {
	TaskType       string         `json:"taskType"`
	Title          string         `json:"title"`
	ExpiresInHours int            `json:"expiresInHours"`
	Proposal       *wire.Proposal `json:"proposal,omitempty"`
}

// StartTask starts a task. Codes: bad_request, not_found.
func (s *Service) StartTask(tx node.Tx, actor node.Actor, start StartTask) (Result, error) {
	taskType, err := checkStart(&start)
	if err != nil {
		return Result{}, err
	}
	connection, err := s.Connection(tx, actor.AgentID, start.ConnectionID)
	if err != nil {
		return Result{}, err
	}
	task := Task{
		UID: s.IDs.New(), OwnerID: connection.OwnerID, AgentID: connection.AgentID, ConnectionID: connection.ID,
		Contact: connection.Contact, Role: Initiator, Type: start.Type, Status: Open,
		Deadline: deadlineOf(tx.Now(), start.ExpiresInHours), CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
	}
	w := writing{
		connection: connection, task: &task, typ: wire.TaskCreate, capability: policy.TaskCreate,
		needs: []string{policy.TaskCreate}, freeText: []string{policy.TaskCreate},
	}
	content := heldCreate{TaskType: start.Type, Title: start.Title, ExpiresInHours: start.ExpiresInHours}
	if start.Proposal != nil {
		if content.Proposal, err = w.terms(taskType, 1, start.Proposal); err != nil {
			return Result{}, err
		}
	}
	w.content = content
	return s.submit(tx, actor, w)
}

func checkStart(start *StartTask) (TaskType, error) {
	taskType, known := TypeOf(start.Type)
	if start.ExpiresInHours == 0 {
		start.ExpiresInHours = DefaultHours
	}
	var fields []node.Field
	if !known {
		fields = append(fields, node.Field{Field: "type", Problem: "is not a task type of this node"})
	}
	if !within(start.Title, 1, wire.MaxTitle) {
		fields = append(fields, node.Field{Field: "title", Problem: "must have 1 to 200 characters"})
	}
	if start.ExpiresInHours < MinHours || start.ExpiresInHours > MaxHours {
		fields = append(fields, node.Field{Field: "expiresInHours", Problem: "must be 1 to 720"})
	}
	if len(fields) > 0 {
		return TaskType{}, node.BadFields(fields...)
	}
	return taskType, nil
}

// terms adds a proposal to a writing: its fields, what they disclose, and its digest.
func (w *writing) terms(taskType TaskType, version int, raw json.RawMessage) (*wire.Proposal, error) {
	canonical, err := taskType.CheckFields(raw)
	if err != nil {
		return nil, err
	}
	proposal := Proposal{Fields: canonical}
	w.fields, w.amountField, w.version = proposal.fields(), taskType.AmountField, version
	disclosures, freeText := taskType.Needs(w.fields)
	w.needs = append(append(w.needs, policy.TaskPropose), disclosures...)
	w.freeText = append(w.freeText, freeText...)
	return &wire.Proposal{
		Version: version, Fields: canonical, Digest: Digest(w.task.UID, w.task.Role, version, canonical),
	}, nil
}

// Propose sends the next version. basedOn, where not 0, has to be the latest
// version. Codes: bad_request, not_found, conflict.
func (s *Service) Propose(tx node.Tx, actor node.Actor, uid string, fields json.RawMessage, basedOn int) (Result, error) {
	task, connection, err := s.writable(tx, actor, uid)
	if err != nil {
		return Result{}, err
	}
	taskType, ok := TypeOf(task.Type)
	if !ok {
		return Result{}, node.ConflictFor(node.ReasonBadState, "This node no longer knows the task's type.")
	}
	w := writing{connection: connection, task: &task, typ: wire.TaskPropose, capability: policy.TaskPropose}
	latest := latestVersion(task.Copy.Latest())
	proposal, err := w.terms(taskType, latest+1, fields)
	if err != nil {
		return Result{}, err
	}
	if basedOn != 0 && basedOn != latest {
		return Result{}, refusalOf(wire.CodeStaleVersion)
	}
	w.content = proposal
	return s.try(tx, actor, w)
}

// Answer is a response to a proposal.
type Answer struct {
	Version  int
	Digest   string // "" or the digest of what is answered
	Decision string // wire.Accept or wire.Reject
	Reason   string // ≤ wire.MaxReason characters
}

// Respond accepts or rejects the latest pending proposal. Codes: bad_request,
// not_found, conflict.
func (s *Service) Respond(tx node.Tx, actor node.Actor, uid string, answer Answer) (Result, error) {
	if err := checkAnswer(answer); err != nil {
		return Result{}, err
	}
	task, connection, err := s.writable(tx, actor, uid)
	if err != nil {
		return Result{}, err
	}
	proposal := task.Copy.Version(answer.Version)
	if proposal == nil {
		return Result{}, refusalOf(wire.CodeStaleVersion)
	}
	if answer.Digest == "" {
		answer.Digest = proposal.Digest
	}
	if proposal.Status == ProposalSuperseded {
		return Result{}, refusalOf(wire.CodeNotLatest)
	}
	w := writing{
		connection: connection, task: &task, typ: wire.TaskRespond, capability: policy.TaskRespond,
		needs: []string{policy.TaskRespond}, version: answer.Version,
		content: wire.Response{Version: answer.Version, Digest: answer.Digest, Decision: answer.Decision, Reason: answer.Reason},
	}
	if answer.Reason != "" {
		w.freeText = w.needs
	}
	return s.try(tx, actor, w)
}

func checkAnswer(answer Answer) error {
	switch {
	case answer.Decision != wire.Accept && answer.Decision != wire.Reject:
		return node.BadFields(node.Field{Field: "decision", Problem: "must be accept or reject"})
	case answer.Version < 1:
		return node.BadFields(node.Field{Field: "version", Problem: "must be 1 or more"})
	}
	return checkReason(answer.Reason)
}

func checkReason(reason string) error {
	if !within(reason, 0, wire.MaxReason) {
		return node.BadFields(node.Field{Field: "reason", Problem: "must have at most 500 characters"})
	}
	return nil
}

// CancelTask ends an unfinished task. Codes: bad_request, not_found, conflict:
// not while a run is under way (D4).
func (s *Service) CancelTask(tx node.Tx, actor node.Actor, uid, reason string) (Result, error) {
	if err := checkReason(reason); err != nil {
		return Result{}, err
	}
	task, connection, err := s.writable(tx, actor, uid)
	if err != nil {
		return Result{}, err
	}
	switch {
	case task.RunID != "":
		return Result{}, node.ConflictFor(node.ReasonBadState, "The action is being carried out; wait for its outcome.")
	case task.Copy.Status == CancelledTask:
		return Result{}, refusalOf(wire.CodeTaskEnded)
	}
	w := writing{
		connection: connection, task: &task, typ: wire.TaskCancel, capability: policy.TaskCancel,
		needs: []string{policy.TaskCancel}, content: wire.Cancel{Reason: reason},
	}
	if reason != "" {
		w.freeText = w.needs
	}
	return s.try(tx, actor, w)
}

// writable locks one of the agent's tasks for a message of ours.
func (s *Service) writable(tx node.Tx, actor node.Actor, uid string) (Task, Connection, error) {
	task, err := s.LockTask(tx, actor.AgentID, uid)
	if err != nil {
		return Task{}, Connection{}, err
	}
	if err := task.takesOurWrites(tx.Now()); err != nil {
		return Task{}, Connection{}, err
	}
	connection, err := s.Store.Connection(tx, task.ConnectionID)
	return task, connection, err
}

// try tells at once where a message would not fit the copy, before the policy
// is asked, and submits it.
func (s *Service) try(tx node.Tx, actor node.Actor, w writing) (Result, error) {
	m, err := s.draft(tx, actor, w)
	if err != nil {
		return Result{}, err
	}
	trial := w.task.Copy.clone()
	if code := trial.apply(w.task.folding(), w.task.Role, m); code != "" {
		return Result{}, refusalOf(code)
	}
	return s.submit(tx, actor, w)
}
