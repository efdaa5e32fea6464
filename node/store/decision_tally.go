package store

import (
	"time"

	"agentlink/node"
	"agentlink/policy"
)

// dayMicros is what the index decisions_day divides by.
const dayMicros = int64(24 * time.Hour / time.Microsecond)

// DecisionTally counts the decisions of each day (UTC) and outcome, from the day
// of a time on, in order. It reads the index alone.
func (s *Store) DecisionTally(tx node.Tx, since time.Time) ([]policy.Tally, error) {
	var list []policy.Tally
	err := s.each(tx, `SELECT at / 86400000000, outcome, COUNT(*) FROM decisions WHERE at / 86400000000 >= $1
		GROUP BY at / 86400000000, outcome ORDER BY at / 86400000000, outcome`, []any{micros(since) / dayMicros},
		func(scan func(...any) error) error {
			var day int64
			var one policy.Tally
			err := scan(&day, &one.Outcome, &one.Count)
			one.Day = timeOf(day * dayMicros)
			list = append(list, one)
			return err
		})
	return list, err
}
