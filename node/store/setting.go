package store

import (
	"agentlink/node"
	"agentlink/node/seal"
)

// Setting reads a value that the node remembers about itself. Code: not_found
// where it was never set.
func (s *Store) Setting(tx node.Tx, name string) ([]byte, error) {
	var sealed []byte
	if err := s.one(tx, `SELECT value FROM settings WHERE name = $1`, []any{name}, &sealed); err != nil {
		return nil, err
	}
	return s.open(settingPlace(name), sealed)
}

// SetSetting writes such a value.
func (s *Store) SetSetting(tx node.Tx, name string, value []byte) error {
	sealed := s.seal(settingPlace(name), value)
	_, err := s.exec(tx, `INSERT INTO settings (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = $3`, name, sealed, sealed)
	return err
}

func settingPlace(name string) seal.Place {
	return seal.Place{Table: "settings", Column: "value", Row: name}
}
