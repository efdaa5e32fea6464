package coordination

import (
	"time"

	"agentlink/node"
)

// What agents and owners read. agentID "" means that the owner asks: every
// agent's. Another agent's object and one that does not exist are the same
// not_found.

var errNoConnection = node.Errorf(node.NotFound, "There is no such connection.")

// Connection finds a connection. Code: not_found.
func (s *Service) Connection(tx node.Tx, agentID, id string) (Connection, error) {
	c, err := s.Store.Connection(tx, id)
	if err != nil || (agentID != "" && c.AgentID != agentID) {
		return Connection{}, hide(err, errNoConnection)
	}
	return c, nil
}

// hide gives the one answer for what is not there and what is not yours.
func hide(err error, answer *node.Error) error {
	if err == nil || node.CodeOf(err) == node.NotFound {
		return answer
	}
	return err
}

// Connections lists them, newest first.
func (s *Service) Connections(tx node.Tx, agentID string, page Page) ([]Connection, error) {
	return s.Store.Connections(tx, agentID, page)
}

// Messages lists chat messages, newest first; connectionID "" means all contacts.
func (s *Service) Messages(tx node.Tx, agentID, connectionID string, page Page) ([]Message, error) {
	return s.Store.Chat(tx, agentID, connectionID, page)
}

// Contacts lists the owner's contacts by their connections, newest first: all
// that are not over, and of each agent and contact where all are, the latest.
func (s *Service) Contacts(tx node.Tx, page Page) ([]Connection, error) {
	return s.Store.Contacts(tx, page)
}

// ConnectionsWith lists every connection of an agent and a contact, the latest first.
func (s *Service) ConnectionsWith(tx node.Tx, agentID, contact string) ([]Connection, error) {
	return s.Store.ConnectionsWith(tx, agentID, contact)
}

// Thread lists everything that was said over a connection, newest first: chat,
// task messages and notices.
func (s *Service) Thread(tx node.Tx, connectionID string, page Page) ([]Message, error) {
	return s.Store.Thread(tx, connectionID, page)
}

// LatestChat lists the latest chat message of each connection, newest first.
func (s *Service) LatestChat(tx node.Tx, page Page) ([]Message, error) {
	return s.Store.LatestChat(tx, page)
}

// Unsent lists messages of ours that are held (pending_approval), rejected or
// failed, newest first.
func (s *Service) Unsent(tx node.Tx, status MessageStatus, page Page) ([]Message, error) {
	return s.Store.Unsent(tx, status, page)
}

// Message finds one message of any type. Code: not_found.
func (s *Service) Message(tx node.Tx, agentID, id string) (Message, error) {
	m, err := s.Store.Message(tx, agentID, id)
	if err != nil {
		return Message{}, hide(err, node.Errorf(node.NotFound, "There is no such message."))
	}
	return m, nil
}

// Task finds a task; for an agent a held create is not there yet. Code: not_found.
func (s *Service) Task(tx node.Tx, agentID, uid string) (Task, error) {
	task, err := s.Store.Task(tx, agentID, uid)
	if err != nil || (task.Held && agentID != "") {
		return Task{}, hide(err, node.Errorf(node.NotFound, "There is no such task."))
	}
	return task, nil
}

// TaskFilter narrows a list of tasks. Zero values mean all.
type TaskFilter struct {
	ConnectionID string
	Status       Status
	// Of narrows the owner's list to the tasks of one agent, held ones too.
	Of string
	// Flagged asks for those that disagree, are out of step or in doubt, or owe a
	// confirmation.
	Flagged bool
}

// Tasks lists tasks, newest first.
func (s *Service) Tasks(tx node.Tx, agentID string, filter TaskFilter, page Page) ([]Task, error) {
	return s.Store.Tasks(tx, agentID, filter, page)
}

// TaskLog lists the messages of our copy of a task, in their order: void ones
// too, with why they are void.
func (s *Service) TaskLog(tx node.Tx, task Task) ([]Message, error) {
	return s.Store.TaskMessages(tx, task.AgentID, task.UID)
}

// Incoming lists requests to connect that wait for the owner, newest first.
func (s *Service) Incoming(tx node.Tx, page Page) ([]Connection, error) {
	return s.Store.IncomingConnections(tx, page)
}

// CountIncoming counts them.
func (s *Service) CountIncoming(tx node.Tx) (int, error) { return s.Store.CountIncoming(tx) }

// Undelivered counts messages that were tried before a time and have not been
// answered since, up to a limit.
func (s *Service) Undelivered(tx node.Tx, before time.Time, limit int) (int, error) {
	return s.Store.CountUndelivered(tx, before, limit)
}
