package coordination

import (
	"strconv"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

// PeerHead is a head of a peer's audit log that we keep for its owner.
type PeerHead struct {
	ConnectionID string
	// Line counts how often the peer's log was found to be set back: the heads of a
	// line follow one another.
	Line int64
	N    int64 // the peer's number; see wire.Head
	Seal string
	At   time.Time
}

// HeadStore keeps the heads of peers: the last one of each day.
type HeadStore interface {
	// PeerHead is the latest one of a connection. Code: not_found.
	PeerHead(tx node.Tx, connectionID string) (PeerHead, error)
	// PeerHeadNumbered is the one of a line with that number. Code: not_found.
	PeerHeadNumbered(tx node.Tx, connectionID string, line, n int64) (PeerHead, error)
	// KeepPeerHead keeps it in the place of one of its line and day that has a lower
	// number. One that has a higher number stays.
	KeepPeerHead(tx node.Tx, head PeerHead) error
	// DropPeerHeads drops those of a connection that came before a time.
	DropPeerHeads(tx node.Tx, connectionID string, before time.Time) error
	// PeerHeads lists those of a connection, the latest first.
	PeerHeads(tx node.Tx, connectionID string, limit int) ([]PeerHead, error)
}

// Witness is a contact that keeps heads of our log.
type Witness struct {
	ConnectionID string
	Address      string // of our agent that it knows
	Contact      string
	Peer         Peer
	Key          string // of ours that it knows; "" is today's
}

// Witnesses lists the active contacts at other nodes.
func (s *Service) Witnesses(tx node.Tx) (list []Witness, err error) {
	addresses := map[string]string{}
	err = s.eachConnection(tx, func(c Connection) error {
		if c.Status != ConnActive || c.KeyChanged || s.withinNode(c) {
			return nil
		}
		if addresses[c.AgentID] == "" {
			agent, err := s.Agents.Agent(tx, c.AgentID)
			if err != nil {
				return err
			}
			addresses[c.AgentID] = s.address(agent)
		}
		list = append(list, Witness{ConnectionID: c.ID, Address: addresses[c.AgentID], Contact: c.Contact, Peer: c.Peer, Key: s.signsAs(c)})
		return nil
	})
	return list, err
}

// KeepHeads is how long the heads of a peer are kept.
const KeepHeads = 30 * 24 * time.Hour

// showHead puts the head of our log into an answer to an active contact. The
// connection is locked, so that its numbers and heads grow together.
func (s *Service) showHead(tx node.Tx, r *receiving, ack *wire.Ack) error {
	c := r.connection
	if !r.Head || c.ID == "" || c.Status != ConnActive || c.KeyChanged {
		return nil
	}
	sealed, err := s.Audit.Show(tx, headPlace(c.ID, c.Rev))
	ack.Head = &wire.Head{N: c.Rev, Seal: sealed}
	return err
}

// headPlace binds a head to the connection that it was shown on, and to its number.
func headPlace(connectionID string, n int64) string {
	return connectionID + "#" + strconv.FormatInt(n, 10)
}

// HeldHeads are the heads of ours that a peer gives back, as audit.Log compares them.
func HeldHeads(connectionID string, held []wire.HeldHead) []audit.Kept {
	list := make([]audit.Kept, len(held))
	for i, h := range held {
		list[i] = audit.Kept{Place: headPlace(connectionID, h.N), Sealed: h.Seal}
	}
	return list
}

// Testimony is what we say of a peer's log to that peer: the heads that we keep.
func (s *Service) Testimony(tx node.Tx, connectionID string) ([]wire.HeldHead, error) {
	kept, err := s.Store.PeerHeads(tx, connectionID, wire.MaxHeads)
	list := make([]wire.HeldHead, len(kept))
	for i, h := range kept {
		list[i] = wire.HeldHead{Head: wire.Head{N: h.N, Seal: h.Seal}, At: h.At.Unix()}
	}
	return list, err
}

// keepHead keeps the head that came with an answer. One that does not go on from
// those before it begins a new line, and the owner's log says so.
func (s *Service) keepHead(tx node.Tx, m Message, shown *wire.Head) error {
	if shown == nil || !shown.Valid() {
		return nil
	}
	fresh := PeerHead{ConnectionID: m.ConnectionID, N: shown.N, Seal: shown.Seal, At: tx.Now()}
	last, err := s.Store.PeerHead(tx, m.ConnectionID)
	if node.CodeOf(err) == node.NotFound {
		return s.Store.KeepPeerHead(tx, fresh)
	}
	if err != nil {
		return err
	}
	fresh.Line = last.Line
	how, err := s.setBack(tx, m, last, fresh)
	if err != nil {
		return err
	}
	if how != "" {
		fresh.Line++
		if err := s.tellSetBack(tx, m, last, fresh, how); err != nil {
			return err
		}
	}
	if how == "" && fresh.N <= last.N {
		return nil // an earlier answer that came late
	}
	if err := s.Store.KeepPeerHead(tx, fresh); err != nil || sameDay(fresh.At, last.At) {
		return err
	}
	return s.Store.DropPeerHeads(tx, m.ConnectionID, fresh.At.Add(-KeepHeads))
}

// The ways in which a head does not go on from those before it.
const (
	headLower = "lower"   // a lower number, in answer to what left after the higher one had come
	headOther = "another" // another head under a number that we have
)

// setBack says how a head contradicts what we keep; "" where it does not. An
// answer with a lower number may just be late. It is not where its message left
// only when we had the higher number already, by more than clocks may differ.
func (s *Service) setBack(tx node.Tx, m Message, last, fresh PeerHead) (string, error) {
	if fresh.N > last.N {
		return "", nil
	}
	same, err := s.Store.PeerHeadNumbered(tx, fresh.ConnectionID, last.Line, fresh.N)
	switch {
	case err == nil && same.Seal != fresh.Seal:
		return headOther, nil
	case err == nil:
		return "", nil
	case node.CodeOf(err) != node.NotFound:
		return "", err
	case m.AttemptedAt.After(last.At.Add(wire.MaxSkew)):
		return headLower, nil
	}
	return "", nil
}

func (s *Service) tellSetBack(tx node.Tx, m Message, last, fresh PeerHead, how string) error {
	return s.audit(tx, audit.Event{
		Type: audit.ConnectionLogDiffers, Actor: peerActor(m.OwnerID, m.AgentID), AgentID: m.AgentID,
		ConnectionID: m.ConnectionID, Subject: m.ID,
		Data: map[string]any{"how": how, "had": last.N, "came": fresh.N, "hadAt": last.At.Format(time.RFC3339)},
	})
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Format(time.DateOnly) == b.UTC().Format(time.DateOnly)
}
