package store

import (
	"time"

	"agentlink/node"
	"agentlink/node/outbox"
)

const outboxColumns = `id, owner_id, agent_id, kind, lane, lane_order, ref, next_at, attempts, lease_until, lease_token, created_at`

// outboxFree says of o that nothing of its lane comes before it or is in flight.
const outboxFree = `NOT EXISTS (SELECT 1 FROM outbox e
	WHERE e.agent_id = o.agent_id AND e.lane = o.lane AND e.id <> o.id
	  AND (e.lane_order < o.lane_order OR (e.lane_order = o.lane_order AND e.id < o.id) OR e.lease_until > `

// InsertOutbox implements outbox.Store and announces TopicOutbox. Code: conflict
// where (agent, kind, ref) is queued already.
func (s *Store) InsertOutbox(tx node.Tx, item outbox.Item) error {
	inserted, err := s.exec(tx, `INSERT INTO outbox (`+outboxColumns+`, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
		item.ID, item.OwnerID, item.AgentID, string(item.Kind), item.Lane, item.Order, item.Ref, micros(item.NextAt),
		item.Attempts, micros(item.LeaseUntil), item.LeaseToken, micros(item.CreatedAt), micros(item.NextAt))
	if err != nil {
		return err
	}
	if inserted != 1 {
		return node.Errorf(node.Conflict, "This is waiting to be sent already.")
	}
	return s.Notify(tx, TopicOutbox)
}

// DueOutbox implements outbox.Store.
func (s *Store) DueOutbox(tx node.Tx) (item outbox.Item, ok bool, err error) {
	now := micros(tx.Now())
	return s.outboxItem(tx, `SELECT `+outboxColumns+` FROM outbox o WHERE o.due_at <= $1 AND `+outboxFree+`$1))
		ORDER BY o.due_at, o.id LIMIT 1`, now)
}

// ClaimOutbox implements outbox.Store.
func (s *Store) ClaimOutbox(tx node.Tx, id, token string, until time.Time) (item outbox.Item, ok bool, err error) {
	now := micros(tx.Now())
	return s.outboxItem(tx, `UPDATE outbox AS o SET lease_until = $1, due_at = $1, lease_token = $2, attempts = attempts + 1
		WHERE o.id = $3 AND o.due_at <= $4 AND `+outboxFree+`$4)) RETURNING `+outboxColumns, micros(until), token, id, now)
}

// outboxItem runs a statement that gives one item or none.
func (s *Store) outboxItem(tx node.Tx, query string, args ...any) (item outbox.Item, ok bool, err error) {
	err = s.each(tx, query, args, func(scan func(...any) error) (err error) {
		item, err = scanOutbox(scan)
		return err
	})
	return item, err == nil && item.ID != "", err
}

func scanOutbox(scan func(...any) error) (item outbox.Item, err error) {
	var next, lease, created int64
	err = scan(&item.ID, &item.OwnerID, &item.AgentID, &item.Kind, &item.Lane, &item.Order, &item.Ref, &next,
		&item.Attempts, &lease, &item.LeaseToken, &created)
	item.NextAt, item.LeaseUntil, item.CreatedAt = timeOf(next), timeOf(lease), timeOf(created)
	return item, err
}

// DeleteOutbox implements outbox.Store. What waited behind the item may leave.
func (s *Store) DeleteOutbox(tx node.Tx, id, token string) (bool, error) {
	return s.leave(tx, `DELETE FROM outbox WHERE id = $1 AND lease_token = $2 AND lease_token <> ''
		RETURNING agent_id, lane, lane_order`, id, token)
}

// DropOutbox implements outbox.Store.
func (s *Store) DropOutbox(tx node.Tx, agentID string, kind outbox.Kind, ref string) error {
	_, err := s.leave(tx, `DELETE FROM outbox WHERE agent_id = $1 AND kind = $2 AND ref = $3
		RETURNING agent_id, lane, lane_order`, agentID, string(kind), ref)
	return err
}

// leave deletes at most one item and lets the rest of its lane be due when it
// wants to.
func (s *Store) leave(tx node.Tx, query string, args ...any) (gone bool, err error) {
	lane, ok, err := s.laneOf(tx, query, args...)
	if err != nil || !ok {
		return false, err
	}
	if err := s.wakeLane(tx, `UPDATE outbox SET due_at = next_at
		WHERE agent_id = $1 AND lane = $2 AND lane_order >= $3 AND due_at > next_at AND lease_until <= $4`,
		lane.agent, lane.lane, lane.order, micros(tx.Now())); err != nil {
		return false, err
	}
	return true, nil
}

type lane struct {
	agent, lane string
	order       int64
}

// laneOf runs a statement that returns the lane of the one item it changed.
func (s *Store) laneOf(tx node.Tx, query string, args ...any) (l lane, ok bool, err error) {
	err = s.one(tx, query, args, &l.agent, &l.lane, &l.order)
	if node.CodeOf(err) == node.NotFound {
		return lane{}, false, nil
	}
	return l, err == nil, err
}

func (s *Store) wakeLane(tx node.Tx, query string, args ...any) error {
	woken, err := s.exec(tx, query, args...)
	if err != nil || woken == 0 {
		return err
	}
	return s.Notify(tx, TopicOutbox)
}

// RescheduleOutbox implements outbox.Store. What waits behind the item is put
// off with it, so that a long lane of an absent peer is not looked through at
// each claim.
func (s *Store) RescheduleOutbox(tx node.Tx, id, token string, next time.Time) (bool, error) {
	lane, ok, err := s.laneOf(tx, `UPDATE outbox SET next_at = $1, due_at = $1, lease_until = 0, lease_token = ''
		WHERE id = $2 AND lease_token = $3 AND lease_token <> '' RETURNING agent_id, lane, lane_order`, micros(next), id, token)
	if err != nil || !ok {
		return false, err
	}
	_, err = s.exec(tx, `UPDATE outbox SET due_at = $1
		WHERE agent_id = $2 AND lane = $3 AND lane_order > $4 AND due_at < $1 AND lease_until <= $5`,
		micros(next), lane.agent, lane.lane, lane.order, micros(tx.Now()))
	return err == nil, err
}

// WakeOutbox implements outbox.Store.
func (s *Store) WakeOutbox(tx node.Tx, agentID, lane string) error {
	return s.wakeLane(tx, `UPDATE outbox SET next_at = $1, due_at = $1
		WHERE agent_id = $2 AND lane = $3 AND due_at > $1 AND lease_until <= $1`, micros(tx.Now()), agentID, lane)
}

// NextOutbox implements outbox.Store: when an item that nothing of its lane
// holds back is due, or a lease ends, whichever is sooner.
func (s *Store) NextOutbox(tx node.Tx) (at time.Time, ok bool, err error) {
	var due int64
	err = s.one(tx, `SELECT o.due_at FROM outbox o WHERE o.lease_until > $1 OR `+outboxFree+`$1))
		ORDER BY o.due_at, o.id LIMIT 1`, []any{micros(tx.Now())}, &due)
	if node.CodeOf(err) == node.NotFound {
		return time.Time{}, false, nil
	}
	return timeOf(due), err == nil, err
}
