package api

import (
	"time"
)

// timeLayout is RFC 3339 with six decimals, the precision of the node's clock.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is a point in time as agents read it: RFC 3339, UTC, six decimals. The
// zero Time is left out with omitzero.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}
