package store

import (
	"slices"
	"strings"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/seal"
)

func disclosurePlace(d coordination.Disclosure) seal.Place {
	return seal.Place{Table: "disclosures", Column: "value", Row: d.ID, Owner: d.OwnerID}
}

const disclosureColumns = `id, owner_id, agent_id, contact_key, connection_id, capability, field, value, task_uid, message_id,
	approval_id, author, withdrawn, at`

// disclosuresAtOnce is how many rows one statement writes: a proposal has about as
// many fields.
const disclosuresAtOnce = 8

// InsertDisclosures implements coordination.Store.
func (s *Store) InsertDisclosures(tx node.Tx, list []coordination.Disclosure) error {
	for rows := range slices.Chunk(list, disclosuresAtOnce) {
		w := &where{}
		for _, d := range rows {
			value := s.seal(disclosurePlace(d), d.Value)
			w.values(d.ID, d.OwnerID, d.AgentID, s.ContactKey(d.Contact), d.ConnectionID, d.Capability, d.Field, value, d.TaskUID,
				d.MessageID, d.ApprovalID, d.Author, d.Withdrawn, micros(d.At))
		}
		if _, err := s.exec(tx, `INSERT INTO disclosures (`+disclosureColumns+`)`+w.String(), w.args...); err != nil {
			return err
		}
	}
	return nil
}

// WithdrawDisclosures implements coordination.Store.
func (s *Store) WithdrawDisclosures(tx node.Tx, agentID, messageID string) error {
	_, err := s.exec(tx, `UPDATE disclosures SET withdrawn = 1 WHERE agent_id = $1 AND message_id = $2`, agentID, messageID)
	return err
}

// Disclosures implements coordination.Store.
func (s *Store) Disclosures(tx node.Tx, filter coordination.DisclosureFilter, page coordination.Page) ([]coordination.Disclosure, error) {
	w := (&where{}).and("d.contact_key = ?", s.ContactKey(filter.Contact))
	if filter.Capability != nil {
		w.and("d.capability = ?", *filter.Capability)
	}
	if page.BeforeID != "" {
		w.and("(d.at, d.id) < (?, ?)", micros(page.BeforeAt), page.BeforeID)
	}
	w.write(" ORDER BY d.at DESC, d.id DESC LIMIT ?", limitOf(page.Limit))
	var list []coordination.Disclosure
	err := s.each(tx, `SELECT d.id, d.owner_id, d.agent_id, d.connection_id, d.capability, d.field, d.value, d.task_uid,
			d.message_id, d.approval_id, d.author, d.withdrawn, d.at, COALESCE(m.status, ''), COALESCE(m.attempted_at, 0)
		FROM disclosures d LEFT JOIN messages m ON m.agent_id = d.agent_id AND m.direction = 'out'
			AND m.connection_id = d.connection_id AND m.id = d.message_id`+w.String(), w.args,
		func(scan func(...any) error) error {
			d, err := s.scanDisclosure(scan)
			d.Contact = filter.Contact
			list = append(list, d)
			return err
		})
	return list, err
}

func (s *Store) scanDisclosure(scan func(...any) error) (d coordination.Disclosure, err error) {
	var value []byte
	var at, attempted int64
	err = scan(&d.ID, &d.OwnerID, &d.AgentID, &d.ConnectionID, &d.Capability, &d.Field, &value, &d.TaskUID, &d.MessageID,
		&d.ApprovalID, &d.Author, &d.Withdrawn, &at, &d.Status, &attempted)
	if err != nil {
		return d, err
	}
	d.At, d.AttemptedAt = timeOf(at), timeOf(attempted)
	d.Value, err = s.open(disclosurePlace(d), value)
	return d, err
}

// CountDisclosures implements coordination.Store.
func (s *Store) CountDisclosures(tx node.Tx, contacts []string) ([]coordination.DisclosureCount, error) {
	if len(contacts) == 0 {
		return nil, nil
	}
	byKey, args := map[string]string{}, make([]any, len(contacts))
	for i, contact := range contacts {
		key := s.ContactKey(contact)
		byKey[key], args[i] = contact, key
	}
	w := (&where{}).and("withdrawn = 0").and("contact_key IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
	var list []coordination.DisclosureCount
	err := s.each(tx, `SELECT contact_key, capability, COUNT(*), MAX(at) FROM disclosures`+w.String()+`
		GROUP BY contact_key, capability ORDER BY contact_key, capability`, w.args, func(scan func(...any) error) error {
		var count coordination.DisclosureCount
		var key string
		var last int64
		err := scan(&key, &count.Capability, &count.Told, &last)
		count.Contact, count.LastAt = byKey[key], timeOf(last)
		list = append(list, count)
		return err
	})
	return list, err
}
