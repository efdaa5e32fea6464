package store

import (
	"time"

	"agentlink/coordination"
	"agentlink/node"
)

const peerHeadColumns = `connection_id, line, n, seal, at`

func dayOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// PeerHead implements coordination.HeadStore.
func (s *Store) PeerHead(tx node.Tx, connectionID string) (coordination.PeerHead, error) {
	return first(s.PeerHeads(tx, connectionID, 1))
}

// PeerHeadNumbered implements coordination.HeadStore.
func (s *Store) PeerHeadNumbered(tx node.Tx, connectionID string, line, n int64) (coordination.PeerHead, error) {
	return first(s.peerHeads(tx, `SELECT `+peerHeadColumns+` FROM peer_heads WHERE connection_id = $1 AND line = $2 AND n = $3`,
		connectionID, line, n))
}

// KeepPeerHead implements coordination.HeadStore.
func (s *Store) KeepPeerHead(tx node.Tx, h coordination.PeerHead) error {
	_, err := s.exec(tx, `INSERT INTO peer_heads (connection_id, line, day, n, seal, at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (connection_id, line, day) DO UPDATE SET n = excluded.n, seal = excluded.seal, at = excluded.at
		WHERE peer_heads.n < excluded.n`, h.ConnectionID, h.Line, dayOf(h.At), h.N, h.Seal, micros(h.At))
	return err
}

// DropPeerHeads implements coordination.HeadStore.
func (s *Store) DropPeerHeads(tx node.Tx, connectionID string, before time.Time) error {
	_, err := s.exec(tx, `DELETE FROM peer_heads WHERE connection_id = $1 AND at < $2`, connectionID, micros(before))
	return err
}

// PeerHeads implements coordination.HeadStore.
func (s *Store) PeerHeads(tx node.Tx, connectionID string, limit int) ([]coordination.PeerHead, error) {
	return s.peerHeads(tx, `SELECT `+peerHeadColumns+` FROM peer_heads WHERE connection_id = $1
		ORDER BY line DESC, day DESC LIMIT $2`, connectionID, limit)
}

func (s *Store) peerHeads(tx node.Tx, query string, args ...any) (list []coordination.PeerHead, err error) {
	err = s.each(tx, query, args, func(scan func(...any) error) error {
		var h coordination.PeerHead
		var at int64
		err := scan(&h.ConnectionID, &h.Line, &h.N, &h.Seal, &at)
		h.At = timeOf(at)
		list = append(list, h)
		return err
	})
	return list, err
}
