package coordination

import (
	"encoding/json"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// MaxRejected is how many rejected messages are stored for a connection; what
// comes beyond is answered all the same, and only counted in the audit log.
const MaxRejected = 1000

// Incoming is a verified envelope with its opened, matching body.
type Incoming struct {
	Envelope     wire.Envelope
	Inner        wire.Inner
	ConnectionID string // from KeyOf; "" for a stranger
	Sha256       string // of the envelope's bytes, hex
	// Key is the fingerprint of the key that the signature was verified with; "" for a
	// stranger's.
	Key  string
	Peer Peer // for a connection.request of a stranger: its verified card
	// Forged: the signature is the peer's, and the body does not open or belongs to
	// another envelope. Inner is empty; the message is rejected.
	Forged bool
	// OtherVersion says so of one that is Forged only as far as it has another
	// version of the protocol than the one that both share.
	OtherVersion bool
	// Head: the sender wants to keep the head of our log.
	Head bool
}

// receiving is an Incoming with what it concerns on our side.
type receiving struct {
	Incoming
	agent      policy.Agent
	connection Connection
}

// KeyOf gives the connection between an envelope's aud and iss, whose pinned key
// has to have signed it. ok is false where there is none: then only a
// connection.request is worth looking at.
func (s *Service) KeyOf(tx node.Tx, envelope wire.Envelope) (connection Connection, ok bool, err error) {
	agent, err := s.addressee(tx, envelope.Aud)
	if err != nil {
		return Connection{}, false, ignoreNotFound(err)
	}
	known, err := s.Store.ConnectionsWith(tx, agent.ID, envelope.Iss)
	if err != nil || len(known) == 0 {
		return Connection{}, false, err
	}
	for _, rank := range []ConnectionStatus{ConnActive, PendingOutgoing, PendingIncoming} {
		for _, c := range known {
			if c.Status == rank {
				return c, true, nil
			}
		}
	}
	return known[0], true, nil
}

func ignoreNotFound(err error) error {
	if node.CodeOf(err) == node.NotFound {
		return nil
	}
	return err
}

// addressee finds the agent of ours that an address names. Code: not_found.
func (s *Service) addressee(tx node.Tx, aud string) (policy.Agent, error) {
	address, err := node.ParseAddress(aud)
	if err != nil || address.Host != s.Self.Host {
		return policy.Agent{}, node.Errorf(node.NotFound, "No agent of this node has that address.")
	}
	return s.Agents.AgentByHandle(tx, address.Handle)
}

// Answered gives the answer that is stored for an envelope that came before.
func (s *Service) Answered(tx node.Tx, envelope wire.Envelope) (signed []byte, ok bool, err error) {
	agent, err := s.addressee(tx, envelope.Aud)
	if err != nil {
		return nil, false, ignoreNotFound(err)
	}
	signed, ok, err = s.Store.KeptAck(tx, agent.ID, envelope.JTI, envelope.Iss)
	return signed, ok && signed != nil, err
}

// Receive applies or rejects one message; a rejection is a value. sign is
// called in the same transaction and gives the bytes that are stored with the
// dedupe row and answered. Code: not_found where the address names nobody.
func (s *Service) Receive(tx node.Tx, in Incoming, sign func(wire.Ack) ([]byte, error)) (signed []byte, err error) {
	agent, err := s.addressee(tx, in.Envelope.Aud)
	if err != nil {
		return nil, err
	}
	r := receiving{Incoming: in, agent: agent}
	if in.ConnectionID != "" {
		if r.connection, err = s.Store.LockConnection(tx, in.ConnectionID); err != nil {
			return nil, err
		}
	}
	// Asked under the lock: of two copies that come at once, one is processed.
	if signed, ok, err := s.Answered(tx, in.Envelope); err != nil || ok {
		return signed, err
	}
	ack, err := s.process(tx, &r)
	if err != nil {
		return nil, err
	}
	ack.Iss, ack.Aud, ack.Ref, ack.SHA256 = in.Envelope.Aud, in.Envelope.Iss, in.Envelope.JTI, in.Sha256
	ack.Seq, ack.Iat = in.Envelope.Seq, tx.Now().Unix()
	if err := s.showHead(tx, &r, &ack); err != nil {
		return nil, err
	}
	ack.SignAs = s.signsAs(r.connection)
	if signed, err = sign(ack); err != nil {
		return nil, err
	}
	if ack.Code == wire.CodeGap || ack.Code == wire.CodeUnavailable || ack.Code == wire.CodeKeyRetired {
		return signed, nil // uses up no number, so it is answered anew
	}
	until := time.Unix(in.Envelope.Exp, 0).Add(wire.KeepAnswer)
	return signed, s.Store.KeepAck(tx, agent.ID, in.Envelope.JTI, in.Envelope.Iss, signed, until)
}

func (s *Service) process(tx node.Tx, r *receiving) (wire.Ack, error) {
	if ack, known, err := s.stored(tx, r); err != nil || known {
		return ack, err
	}
	switch {
	case r.underEarlierKey():
		r.Head = false // not for whoever has the old key
		return wire.Ack{Status: wire.Rejected, Code: wire.CodeKeyRetired, Key: r.connection.Peer.Fingerprint}, nil
	case r.Forged && !r.Envelope.Type.ForTask():
		return s.reject(tx, r, r.forgery())
	case r.Envelope.Type == wire.ConnectionRequest:
		return s.receiveRequest(tx, r)
	case r.Envelope.Type.Notice():
		return s.receiveNotice(tx, r)
	case r.Envelope.Type == wire.KeyRotate:
		return s.receiveRotation(tx, r)
	case r.Envelope.Type == wire.KeyAnswer:
		return s.receiveDecision(tx, r)
	case r.connection.Status != ConnActive || r.connection.KeyChanged:
		return s.reject(tx, r, wire.CodeNotConnected)
	case r.Envelope.Type.ForTask():
		return s.receiveTask(tx, r)
	case r.Envelope.Type == wire.Message:
		return s.receiveChat(tx, r)
	}
	return s.reject(tx, r, wire.CodeUnknownType)
}

// underEarlierKey says that the signature is by a key that is no longer the
// contact's: since before, or by what our owner has accepted a moment ago. Whoever
// has taken that key can do nothing with it; an honest sender signs anew.
func (r *receiving) underEarlierKey() bool {
	return r.Key != "" && r.connection.ID != "" && r.Key != r.connection.Peer.Fingerprint
}

// stored gives the outcome of a message that is here though its answer is not: a
// clock that was far ahead has thrown that away. Of a task the numbers tell.
func (s *Service) stored(tx node.Tx, r *receiving) (ack wire.Ack, known bool, err error) {
	if r.Envelope.Type.ForTask() || r.connection.ID == "" {
		return wire.Ack{}, false, nil
	}
	m, err := s.Store.Message(tx, r.agent.ID, r.Envelope.JTI)
	switch {
	case err != nil:
		return wire.Ack{}, false, ignoreNotFound(err)
	case m.Direction != In || m.ConnectionID != r.connection.ID:
		return wire.Ack{}, false, nil
	case m.Status == MsgReceived:
		return applied(), true, nil
	}
	return wire.Ack{Status: wire.Rejected, Code: m.Code}, true, nil
}

func applied() wire.Ack { return wire.Ack{Status: wire.Applied} }

// reject stores a message with the code that it was rejected with; it changes
// nothing else.
func (s *Service) reject(tx node.Tx, r *receiving, code string) (wire.Ack, error) {
	ack := wire.Ack{Status: wire.Rejected, Code: code}
	stored, err := s.Store.CountRejected(tx, r.agent.ID, r.connection.ID)
	if err != nil {
		return ack, err
	}
	if r.connection.ID != "" && stored < MaxRejected {
		m := r.message(tx)
		m.Status, m.Code, m.SettledAt = MsgRejected, code, tx.Now()
		if err := s.Store.InsertMessage(tx, m); err != nil {
			return ack, err
		}
	}
	event := audit.MessageRejected
	if r.Envelope.Type.ForTask() {
		event = audit.TaskMessageRejected
	}
	return ack, s.audit(tx, audit.Event{
		Type: event, Actor: peerActor(r.agent.OwnerID, r.agent.ID), AgentID: r.agent.ID, ConnectionID: r.connection.ID,
		TaskUID: knownUID(r.Envelope.Task), Subject: r.Envelope.JTI,
		Data: map[string]any{"type": string(r.Envelope.Type), "code": code},
	})
}

// knownUID keeps a peer from writing anything but an id into the log.
func knownUID(uid string) string {
	if node.ValidID(uid) {
		return uid
	}
	return ""
}

// message is the row of what came in.
func (r *receiving) message(tx node.Tx) Message {
	return Message{
		ID: r.Envelope.JTI, OwnerID: r.agent.OwnerID, AgentID: r.agent.ID, ConnectionID: r.connection.ID,
		TaskUID: r.Envelope.Task, Direction: In, Type: r.Envelope.Type, Author: r.author(), Status: MsgReceived,
		Seq: r.Envelope.Seq, Ack: r.Envelope.Ack, Content: r.content(), Sha256: r.Sha256,
		CreatedAt: tx.Now(), ExpiresAt: time.Unix(r.Envelope.Exp, 0).UTC(), SettledAt: tx.Now(),
	}
}

// forgery is the code of a message that is forged.
func (r *receiving) forgery() string {
	if r.OtherVersion {
		return wire.CodeOtherVersion
	}
	return wire.CodeForged
}

// author is who wrote it; of a forged message nobody knows, and it counts as the agent's.
func (r *receiving) author() string {
	if r.Forged {
		return authorAgent
	}
	return r.Inner.Author
}

// content is what came, and of a forged message nothing.
func (r *receiving) content() json.RawMessage {
	if r.Forged {
		return json.RawMessage("{}")
	}
	return r.Inner.Content
}

// store keeps an applied message and says so in the log.
func (s *Service) store(tx node.Tx, r *receiving, m Message) error {
	if err := s.Store.InsertMessage(tx, m); err != nil {
		return err
	}
	return s.audit(tx, audit.Event{
		Type: audit.MessageReceived, Actor: peerActor(m.OwnerID, m.AgentID), AgentID: m.AgentID,
		ConnectionID: m.ConnectionID, TaskUID: m.TaskUID, Subject: m.ID, Data: map[string]any{"type": string(m.Type)},
	})
}

func (s *Service) receiveChat(tx node.Tx, r *receiving) (wire.Ack, error) {
	var chat wire.Chat
	if node.Decode(r.Inner.Content, &chat) != nil || !within(chat.Text, 1, wire.MaxText) {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	return applied(), s.store(tx, r, r.message(tx))
}
