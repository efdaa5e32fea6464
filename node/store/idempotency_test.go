package store_test

import (
	"fmt"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/store/storetest"
)

// TestIdempotencyEnds: a key is remembered for a day from its answer, and free
// again afterwards, swept or not.
func TestIdempotencyEnds(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		clock := node.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		database := fresh(t)
		database.Clock = clock
		s := database.Open(t)
		claim := func(key string) (claimed bool, answer string) {
			inTx(t, s, func(tx node.Tx) error {
				yes, _, stored, err := s.ClaimIdempotency(tx, "ada", key, "h")
				claimed, answer = yes, string(stored)
				return err
			})
			return claimed, answer
		}
		sweep := func(limit int) (swept int) {
			inTx(t, s, func(tx node.Tx) (err error) { swept, err = s.SweepIdempotency(tx, limit); return err })
			return swept
		}
		for i := range 5 {
			if claimed, _ := claim(fmt.Sprint("k", i)); !claimed {
				t.Errorf("key %d is taken", i)
			}
		}
		clock.Advance(time.Hour)
		inTx(t, s, func(tx node.Tx) error { return s.KeepAnswer(tx, "ada", "k0", []byte("first")) })
		clock.Advance(24*time.Hour - time.Microsecond)
		if claimed, answer := claim("k0"); claimed || answer != "first" {
			t.Errorf("within the day: claimed is %v, answer %q", claimed, answer)
		}
		if claimed, _ := claim("k1"); !claimed {
			t.Error("a key without an answer is taken for longer than a day")
		}
		clock.Advance(time.Microsecond)
		if got := []int{sweep(2), sweep(10), sweep(10)}; got[0] != 2 || got[1] != 2 || got[2] != 0 {
			t.Errorf("swept %v, want 2, 2 and 0: four of five are over", got)
		}
		if claimed, answer := claim("k0"); !claimed || answer != "" {
			t.Errorf("after the day: claimed is %v, answer %q", claimed, answer)
		}
	})
}
