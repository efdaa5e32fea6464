package coordination

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
)

// Disclosure is one structured field of a proposal of ours, from the moment its
// message is released. Free text is not in the ledger: no rule reads it.
type Disclosure struct {
	ID      string
	OwnerID string
	AgentID string
	// Contact is the address of the remote agent: the ledger outlives connections.
	Contact      string
	ConnectionID string
	Capability   string // "" where the field needs none
	Field        string
	Value        json.RawMessage // canonical JSON; sealed at rest
	TaskUID      string
	MessageID    string
	ApprovalID   string // "" where the rules allowed it, or the owner wrote it
	Author       string // "agent" or "owner"
	// Withdrawn: the message provably never left, so the contact was told nothing.
	Withdrawn bool
	At        time.Time
	// Status and AttemptedAt are the message's as it stands now; they are read only.
	Status      MessageStatus
	AttemptedAt time.Time
}

// DisclosureFilter narrows the ledger to a contact, and to one capability where
// Capability is not nil.
type DisclosureFilter struct {
	Contact    string
	Capability *string
}

// DisclosureCount is how often a contact was told something of one kind.
type DisclosureCount struct {
	Contact    string
	Capability string
	Told       int // fields that are not withdrawn
	LastAt     time.Time
}

// Disclosures lists what a contact was told, by any of the owner's agents,
// newest first.
func (s *Service) Disclosures(tx node.Tx, filter DisclosureFilter, page Page) ([]Disclosure, error) {
	return s.Store.Disclosures(tx, filter, page)
}

// CountDisclosures counts what each of some contacts was told, by kind; what was
// never told has no entry.
func (s *Service) CountDisclosures(tx node.Tx, contacts []string) ([]DisclosureCount, error) {
	return s.Store.CountDisclosures(tx, contacts)
}

// disclose enters the fields of a released proposal into the ledger.
func (s *Service) disclose(tx node.Tx, m Message, task *Task, approvalID string) error {
	fields := m.proposedFields()
	if len(fields) == 0 { // so it is with what belongs to no task
		return nil
	}
	taskType, _ := TypeOf(task.Type)
	list := make([]Disclosure, 0, len(fields))
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, Disclosure{
			ID: s.IDs.New(), OwnerID: m.OwnerID, AgentID: m.AgentID, Contact: task.Contact, ConnectionID: m.ConnectionID,
			Capability: taskType.Disclosures[field], Field: field, Value: fields[field], TaskUID: m.TaskUID, MessageID: m.ID,
			ApprovalID: approvalID, Author: m.Author, At: tx.Now(),
		})
	}
	return s.Store.InsertDisclosures(tx, list)
}

// proposes says whether a message can carry a proposal.
func (m Message) proposes() bool { return m.Type == wire.TaskCreate || m.Type == wire.TaskPropose }

// proposedFields are the fields of the proposal that a message carries, or none.
func (m Message) proposedFields() (fields map[string]json.RawMessage) {
	var proposal *wire.Proposal
	switch m.Type {
	case wire.TaskCreate:
		var create wire.Create
		if node.Decode(m.Content, &create) == nil {
			proposal = create.Proposal
		}
	case wire.TaskPropose:
		proposal = &wire.Proposal{}
		if node.Decode(m.Content, proposal) != nil {
			return nil
		}
	}
	if proposal == nil || json.Unmarshal(proposal.Fields, &fields) != nil {
		return nil
	}
	return fields
}
