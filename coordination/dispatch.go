package coordination

import (
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/outbox"
	"agentlink/policy"
)

// Dispatch is what to do with an outbox item of kind envelope.
type Dispatch struct {
	Do Do
	// Next is when to look again, for Wait.
	Next time.Time
	// For Send: the claims without Body, the sealed part, and where it goes.
	// Envelope are the bytes that leave, of an earlier attempt where Again is set.
	Claims    wire.Envelope
	Inner     wire.Inner
	Peer      Peer
	Envelope  []byte
	Again     bool
	AgentID   string
	MessageID string
	// CheckCard asks the worker to fetch the peer's card and compare its key with
	// Peer before anything leaves: the owner approved an address and a key. Another
	// key goes to KeyDiffers.
	CheckCard bool
	// Key is the fingerprint of the key of ours that the contact knows; "" is today's.
	Key string
}

// Sign seals and signs the envelope that a Dispatch describes.
type Sign func(Dispatch) (envelope []byte, err error)

// Do says what a worker does next.
type Do string

// What a worker does next.
const (
	Send Do = "send"
	Wait Do = "wait" // not now
	Drop Do = "drop" // settled: withdrawn, failed or no longer needed
)

// Pauses before a waiting message is looked at again.
const (
	acceptPause = 2 * time.Second
	blockPause  = time.Minute
)

// Lock comes before an item is claimed or moved: what guards its message has to
// be locked first, for whoever holds that may drop the item.
func (s *Service) Lock(tx node.Tx, item outbox.Item) error {
	return s.Store.LockMessage(tx, item.AgentID, item.Ref)
}

// lockedMessage reads a message of ours that is going to change. Only the
// statuses of others are compared when it is saved, so it is read under the lock.
func (s *Service) lockedMessage(tx node.Tx, agentID, id string) (Message, error) {
	if err := s.Store.LockMessage(tx, agentID, id); err != nil {
		return Message{}, err
	}
	return s.Store.Message(tx, agentID, id)
}

// Dispatch prepares one attempt, in the transaction that claimed the item after
// Lock: it checks connection, agent and denies again, gives the number, and keeps
// with the message, marked as attempted, the bytes that are going to leave. They are
// made once: of one message two different envelopes never leave.
func (s *Service) Dispatch(tx node.Tx, item outbox.Item, sign Sign) (Dispatch, error) {
	m, err := s.Store.Message(tx, item.AgentID, item.Ref)
	if err != nil {
		return Dispatch{}, err
	}
	if m.Status != MsgQueued {
		return Dispatch{Do: Drop}, nil
	}
	connection, err := s.Store.Connection(tx, m.ConnectionID)
	if err != nil {
		return Dispatch{}, err
	}
	agent, err := s.Agents.Agent(tx, m.AgentID)
	if err != nil {
		return Dispatch{}, err
	}
	v, err := s.verdict(tx, m, connection, agent)
	if err != nil {
		return Dispatch{}, err
	}
	switch v.do {
	case Wait:
		return Dispatch{Do: Wait, Next: tx.Now().Add(v.pause)}, nil
	case Drop:
		if v.answered {
			return Dispatch{Do: Drop}, s.delivered(tx, m)
		}
		return Dispatch{Do: Drop}, s.stop(tx, nodeActor(m.OwnerID, m.AgentID), m, v.code)
	}
	m.DecidedRev = agent.RulesRev
	if v.withoutReason && m.AttemptedAt.IsZero() {
		m.Content = node.MustCanonical(wire.Cancel{})
	}
	return s.attempt(tx, m, connection, agent, sign)
}

// verdict is what the checks before an attempt give.
type verdict struct {
	do            Do
	pause         time.Duration
	code          string // why it is dropped
	answered      bool   // it is dropped since the peer has it: it has answered
	withoutReason bool   // a cancel against a deny leaves without its reason
}

func wait(pause time.Duration) verdict { return verdict{do: Wait, pause: pause} }
func drop(code string) verdict         { return verdict{do: Drop, code: code} }

func (s *Service) verdict(tx node.Tx, m Message, c Connection, agent policy.Agent) (verdict, error) {
	ends := m.Type == wire.ConnectionReject || m.Type == wire.ConnectionRevoke
	owed := m.Type == wire.TaskConfirm || m.Type == wire.TaskVoid
	switch {
	case !tx.Now().Before(m.ExpiresAt):
		return drop(wire.CodeTooLate), nil
	case ends, m.Type.ForKey() && c.Status == ConnActive && !c.KeyChanged && !c.AcceptUnacked:
		return verdict{do: Send}, nil
	case agent.Status != policy.Active && (owed || !m.AttemptedAt.IsZero()):
		return wait(blockPause), nil
	case agent.Status != policy.Active:
		return drop(string(policy.AgentDisabled)), nil
	case m.Type == wire.ConnectionRequest:
		return s.requestVerdict(tx, m, c)
	case c.Status != ConnActive && owed:
		return wait(blockPause), nil
	case c.Status != ConnActive:
		return drop(wire.CodeNotConnected), nil
	case c.KeyChanged:
		return wait(blockPause), nil
	case m.Type == wire.ConnectionAccept:
		return verdict{do: Send}, nil
	case c.AcceptUnacked:
		return wait(acceptPause), nil
	}
	return s.denyVerdict(tx, m, c, agent)
}

// requestVerdict: the owner over there may accept a request before its next attempt,
// which a stranger's node has asked for.
func (s *Service) requestVerdict(tx node.Tx, m Message, c Connection) (verdict, error) {
	if c.RequestID == m.ID && c.Status == ConnActive {
		return verdict{do: Drop, answered: true}, nil
	}
	if c.Status != PendingOutgoing {
		return drop(wire.CodeNotConnected), nil
	}
	if c.KeyChanged {
		return drop("key_changed"), nil
	}
	return s.askDenies(tx, m, c)
}

// denyVerdict asks whether a deny came since the message was decided. The same
// revision of the rules denies nothing new, so it is not asked again; a message that
// was not decided has none.
func (s *Service) denyVerdict(tx node.Tx, m Message, c Connection, agent policy.Agent) (verdict, error) {
	if m.Author == authorOwner || m.DecidedRev == agent.RulesRev {
		return verdict{do: Send}, nil
	}
	v, err := s.askDenies(tx, m, c)
	if err != nil || v.do == Send {
		return v, err
	}
	switch m.Type {
	case wire.TaskCancel:
		return verdict{do: Send, withoutReason: true}, nil
	case wire.TaskConfirm:
		return wait(blockPause), nil
	}
	return v, nil
}

func (s *Service) askDenies(tx node.Tx, m Message, c Connection) (verdict, error) {
	if len(m.Needs) == 0 {
		return verdict{do: Send}, nil
	}
	decision, err := s.Policy.Decide(tx, policy.Request{
		AgentID: m.AgentID, Contact: c.Contact, Connection: effective(c), Capabilities: m.Needs,
		DenyOnly: true, Subject: m.ID, TaskUID: m.TaskUID,
	})
	if err != nil {
		return verdict{}, err
	}
	if decision.Outcome != policy.Allowed {
		return drop(string(node.PolicyDenied)), nil
	}
	return verdict{do: Send}, nil
}

// attempt numbers the message and keeps its envelope with it.
func (s *Service) attempt(tx node.Tx, m Message, c Connection, agent policy.Agent, sign Sign) (Dispatch, error) {
	if m.TaskUID != "" && m.Seq == 0 {
		if err := s.number(tx, &m); err != nil {
			return Dispatch{}, err
		}
	}
	if m.AttemptedAt.IsZero() {
		m.AttemptedAt = tx.Now()
	}
	m.Tries++
	d := s.describe(m, c, agent)
	if !d.Again {
		var err error
		if d.Envelope, err = sign(d); err != nil {
			return Dispatch{}, err
		}
		m.Envelope, m.Sha256 = d.Envelope, sum(d.Envelope)
	}
	if err := s.Store.SaveMessage(tx, m, MsgQueued); err != nil {
		return Dispatch{}, err
	}
	if m.Type == wire.ConnectionRequest && !c.Sent {
		return d, s.markSent(tx, c.ID)
	}
	return d, nil
}

func (s *Service) describe(m Message, c Connection, agent policy.Agent) Dispatch {
	d := Dispatch{
		Do: Send, Peer: c.Peer, Envelope: m.Envelope, Again: m.Envelope != nil, AgentID: m.AgentID, MessageID: m.ID,
		CheckCard: m.Type == wire.ConnectionRequest, Key: s.signsAs(c),
	}
	d.Claims = wire.Envelope{
		V: wire.Version, Iss: s.address(agent), Aud: c.Contact, JTI: m.ID, Iat: m.CreatedAt.Unix(), Exp: m.ExpiresAt.Unix(),
		Type: m.Type, Task: m.TaskUID, Seq: m.Seq, Ack: m.Ack,
	}
	d.Inner = wire.Inner{
		Iss: d.Claims.Iss, Aud: d.Claims.Aud, JTI: m.ID, Type: m.Type, Task: m.TaskUID, Seq: m.Seq,
		Author: m.Author, Content: m.Content,
	}
	return d
}

func (s *Service) number(tx node.Tx, m *Message) error {
	task, err := s.Store.LockTask(tx, m.AgentID, m.TaskUID)
	if err != nil {
		return err
	}
	task.OutSeq++
	m.Seq = task.OutSeq
	return s.Store.SaveTask(tx, task, task.Status)
}

func (s *Service) markSent(tx node.Tx, id string) error {
	c, err := s.Store.LockConnection(tx, id)
	if err != nil {
		return err
	}
	c.Sent = true
	return s.Store.SaveConnection(tx, c, c.Status)
}

// NotSent takes an attempt back that provably wrote no byte of the request. If
// it was the only one, the message has never left: its number is free again.
func (s *Service) NotSent(tx node.Tx, agentID, messageID string) error {
	m, err := s.lockedMessage(tx, agentID, messageID)
	if err != nil || m.Status != MsgQueued || m.Tries == 0 {
		return err
	}
	m.Tries--
	if m.Tries == 0 {
		m.AttemptedAt, m.Envelope, m.Sha256 = time.Time{}, nil, ""
		if m.TaskUID != "" && m.Type != wire.TaskVoid {
			if err := s.freeNumber(tx, &m); err != nil {
				return err
			}
		}
	}
	return s.Store.SaveMessage(tx, m, MsgQueued)
}

func (s *Service) freeNumber(tx node.Tx, m *Message) error {
	task, err := s.Store.LockTask(tx, m.AgentID, m.TaskUID)
	if err != nil || task.OutSeq != m.Seq {
		return err
	}
	task.OutSeq--
	m.Seq = 0
	return s.Store.SaveTask(tx, task, task.Status)
}

// KeyDiffers fails a request to connect: the address answers with another key
// than the one that was approved, so nothing is sent to it.
func (s *Service) KeyDiffers(tx node.Tx, agentID, messageID string) error {
	m, err := s.lockedMessage(tx, agentID, messageID)
	if err != nil || m.Status != MsgQueued {
		return err
	}
	actor := nodeActor(m.OwnerID, m.AgentID)
	if err := s.fail(tx, actor, m, "key_changed"); err != nil {
		return err
	}
	c, err := s.Store.LockConnection(tx, m.ConnectionID)
	if err != nil || c.Status != PendingOutgoing {
		return err
	}
	c.KeyChanged = true
	return s.end(tx, actor, c, ConnRevoked, audit.ConnectionKeyChanged)
}
