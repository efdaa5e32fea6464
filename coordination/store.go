package coordination

import (
	"time"

	"agentlink/node"
)

// Store keeps connections, messages and tasks. What is not there is
// node.NotFound. Lock… methods keep other writers off the row until the
// transaction ends; Save… methods write a row that was locked, and fail with a
// conflict where its status is no longer the one given as from.
type Store interface {
	InsertConnection(tx node.Tx, c Connection) error
	Connection(tx node.Tx, id string) (Connection, error)
	LockConnection(tx node.Tx, id string) (Connection, error)
	SaveConnection(tx node.Tx, c Connection, from ConnectionStatus) error
	// ConnectionsWith lists every connection of an agent and a contact, the latest first.
	ConnectionsWith(tx node.Tx, agentID, contact string) ([]Connection, error)
	// Connections pages through an agent's connections; "" means every agent's.
	Connections(tx node.Tx, agentID string, page Page) ([]Connection, error)
	// Contacts pages through the connections that are not over, and of each agent
	// and contact where all are, the latest.
	Contacts(tx node.Tx, page Page) ([]Connection, error)
	// IncomingConnections pages through those that wait for the owner's answer.
	IncomingConnections(tx node.Tx, page Page) ([]Connection, error)
	// CountIncoming counts them.
	CountIncoming(tx node.Tx) (int, error)

	// FillKnownKey notes, where nothing is noted, which key of ours a contact goes by.
	FillKnownKey(tx node.Tx, fingerprint string) error
	// KnowKey lists connections that go by a key of ours and are not over, or have
	// something queued.
	KnowKey(tx node.Tx, fingerprint string, limit int) ([]Connection, error)
	// TellKeyAgain lists those whose contact was told of a newer key before a time.
	TellKeyAgain(tx node.Tx, before time.Time, limit int) ([]Connection, error)
	// ConnectionsByKey lists those that are not over and whose contact has this key.
	ConnectionsByKey(tx node.Tx, fingerprint string) ([]Connection, error)
	// KeyOffers pages through those whose contact has announced a new key, and
	// CountKeyOffers counts them.
	KeyOffers(tx node.Tx, page Page) ([]Connection, error)
	CountKeyOffers(tx node.Tx) (int, error)

	InsertInvitation(tx node.Tx, i Invitation) error
	// UseInvitation marks it used if it is this agent's, unused and not expired; false otherwise.
	UseInvitation(tx node.Tx, agentID, secretHash string) (bool, error)

	// RecordLookup notes that the agent's request made the node look up a host, and
	// CountLookups how many other hosts it did so for since a time; one transaction
	// at a time counts for an agent.
	RecordLookup(tx node.Tx, agentID, host string) error
	CountLookups(tx node.Tx, agentID, host string, since time.Time) (others int, err error)

	InsertMessage(tx node.Tx, m Message) error
	Message(tx node.Tx, agentID, id string) (Message, error)
	// LockMessage locks what guards a message: its task, or its connection where it
	// belongs to none.
	LockMessage(tx node.Tx, agentID, id string) error
	// SaveMessage writes everything but ids and type.
	SaveMessage(tx node.Tx, m Message, from MessageStatus) error
	// Chat pages through chat messages; connectionID "" means all contacts, agentID
	// "" every agent's.
	Chat(tx node.Tx, agentID, connectionID string, page Page) ([]Message, error)
	// Thread pages through all messages of a connection, of any type.
	Thread(tx node.Tx, connectionID string, page Page) ([]Message, error)
	// LatestChat pages through the latest chat message of each connection.
	LatestChat(tx node.Tx, page Page) ([]Message, error)
	// Unsent pages through our messages of one of the statuses pending_approval,
	// rejected and failed.
	Unsent(tx node.Tx, status MessageStatus, page Page) ([]Message, error)
	// TaskMessages lists the messages that entered the copy, in order.
	TaskMessages(tx node.Tx, agentID, uid string) ([]Message, error)
	// QueuedMessages lists our queued messages to a connection, by position.
	QueuedMessages(tx node.Tx, agentID, connectionID string) ([]Message, error)
	// NumberedMessage finds the message of the task's own contact with this number,
	// or not_found. Of two, a message and the task.void that took its number, it
	// gives the task.void.
	NumberedMessage(tx node.Tx, agentID, uid string, direction Direction, seq int64) (Message, error)
	// OverdueMessages lists queued chat, task and notice messages whose time is over.
	OverdueMessages(tx node.Tx, limit int) ([]Message, error)
	// CountUndelivered counts queued messages first tried before a time, up to a limit.
	CountUndelivered(tx node.Tx, before time.Time, limit int) (int, error)
	// CountRejected counts the stored rejections of a connection, to bound them.
	CountRejected(tx node.Tx, agentID, connectionID string) (int, error)

	InsertTask(tx node.Tx, t Task) (fresh bool, err error)
	Task(tx node.Tx, agentID, uid string) (Task, error)
	LockTask(tx node.Tx, agentID, uid string) (Task, error)
	SaveTask(tx node.Tx, t Task, from Status) error
	// Tasks pages through tasks, without held ones where agentID is not "".
	Tasks(tx node.Tx, agentID string, filter TaskFilter, page Page) ([]Task, error)
	// UnfinishedTasks lists those of a connection that have not ended.
	UnfinishedTasks(tx node.Tx, agentID, connectionID string) ([]Task, error)
	// ExpiredTasks lists those of a connection that expired at a deadline after a time.
	ExpiredTasks(tx node.Tx, agentID, connectionID string, after time.Time) ([]Task, error)
	// OverdueTasks lists unfinished tasks past their deadline, OwedTasks those whose
	// confirmation is owed.
	OverdueTasks(tx node.Tx, limit int) ([]Task, error)
	OwedTasks(tx node.Tx, limit int) ([]Task, error)

	// InsertDisclosures adds to the ledger.
	InsertDisclosures(tx node.Tx, list []Disclosure) error
	// WithdrawDisclosures marks those of a message that never left.
	WithdrawDisclosures(tx node.Tx, agentID, messageID string) error
	// Disclosures pages through the ledger, with what became of each message.
	Disclosures(tx node.Tx, filter DisclosureFilter, page Page) ([]Disclosure, error)
	// CountDisclosures counts what is not withdrawn, by contact and capability.
	CountDisclosures(tx node.Tx, contacts []string) ([]DisclosureCount, error)

	HeadStore

	// KeepAck stores the signed answer to an envelope until a time. Signed nil
	// only notes that this id is withdrawn.
	KeepAck(tx node.Tx, agentID, jti, contact string, signed []byte, until time.Time) error
	// KeptAck gives it back.
	KeptAck(tx node.Tx, agentID, jti, contact string) (signed []byte, ok bool, err error)
	// SweepAcks drops answers whose time is over.
	SweepAcks(tx node.Tx, limit int) (int64, error)
}
