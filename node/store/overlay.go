package store

import (
	"math"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/policy"
)

const overlayColumns = `id, owner_id, number, version, source, created_at`

func overlayPlace(o policy.Overlay) seal.Place {
	return seal.Place{Table: "overlays", Column: "source", Row: o.ID, Owner: o.OwnerID}
}

// InsertOverlay implements policy.OverlayStore.
func (s *Store) InsertOverlay(tx node.Tx, o policy.Overlay) (fresh bool, err error) {
	source := s.seal(overlayPlace(o), []byte(o.Source))
	rows, err := s.exec(tx, `INSERT INTO overlays (`+overlayColumns+`) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (owner_id, number) DO NOTHING`, o.ID, o.OwnerID, o.Number, o.Version, source, micros(o.CreatedAt))
	return rows == 1, err
}

// Overlays implements policy.OverlayStore.
func (s *Store) Overlays(tx node.Tx, ownerID string, below int64, limit int) ([]policy.Overlay, error) {
	if below == 0 {
		below = math.MaxInt64
	}
	return s.overlays(tx, `SELECT `+overlayColumns+` FROM overlays WHERE owner_id = $1 AND number < $2
		ORDER BY number DESC LIMIT $3`, ownerID, below, limit)
}

// OverlaySource implements engine.Store.
func (s *Store) OverlaySource(tx node.Tx, ownerID, version string) (string, error) {
	overlay, err := first(s.overlays(tx, `SELECT `+overlayColumns+` FROM overlays WHERE owner_id = $1 AND version = $2
		ORDER BY number DESC LIMIT 1`, ownerID, version))
	return overlay.Source, err
}

// overlayInForce is the version of the owner's own rules that hold for an agent a.
const overlayInForce = `COALESCE((SELECT o.version FROM overlays o WHERE o.owner_id = a.owner_id ORDER BY o.number DESC LIMIT 1), '')`

func (s *Store) overlays(tx node.Tx, query string, args ...any) ([]policy.Overlay, error) {
	var list []policy.Overlay
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		var o policy.Overlay
		var source []byte
		var created int64
		if err := scan(&o.ID, &o.OwnerID, &o.Number, &o.Version, &source, &created); err != nil {
			return err
		}
		plain, err := s.open(overlayPlace(o), source)
		o.Source, o.CreatedAt = string(plain), timeOf(created)
		list = append(list, o)
		return err
	})
	return list, err
}
