package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/store"
)

// PeerHeads tests that the last head of each day and line is kept.
func PeerHeads(t *testing.T, open func(t *testing.T) *store.Store) {
	s := open(t)
	day := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	head := func(connection string, line, n int64, after time.Duration) coordination.PeerHead {
		return coordination.PeerHead{ConnectionID: connection, Line: line, N: n, Seal: "seal", At: day.Add(after)}
	}
	const h = time.Hour
	inTx(t, s, func(tx node.Tx) error {
		for _, kept := range []coordination.PeerHead{
			head("c1", 0, 3, 0), head("c1", 0, 5, h), head("c1", 0, 4, 2*h), // a lower one that came late
			head("c1", 0, 9, 24*h), head("c2", 0, 1, 0), head("c1", 1, 2, 24*h),
		} {
			if err := s.KeepPeerHead(tx, kept); err != nil {
				return err
			}
		}
		return nil
	})
	wants := func(connection string, limit int, want ...coordination.PeerHead) {
		t.Helper()
		inTx(t, s, func(tx node.Tx) error {
			got, err := s.PeerHeads(tx, connection, limit)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", connection, diff)
			}
			return err
		})
	}
	wants("c1", 10, head("c1", 1, 2, 24*h), head("c1", 0, 9, 24*h), head("c1", 0, 5, h))
	wants("c1", 1, head("c1", 1, 2, 24*h))
	wants("c2", 10, head("c2", 0, 1, 0))
	wants("c3", 10)
	inTx(t, s, func(tx node.Tx) error {
		if last, err := s.PeerHead(tx, "c1"); err != nil || last.N != 2 || last.Line != 1 {
			t.Errorf("the last is %+v, %v", last, err)
		}
		if found, err := s.PeerHeadNumbered(tx, "c1", 0, 5); err != nil || found.N != 5 {
			t.Errorf("the fifth is %+v, %v", found, err)
		}
		for _, none := range [][2]int64{{0, 3}, {1, 5}, {2, 2}} {
			if found, err := s.PeerHeadNumbered(tx, "c1", none[0], none[1]); node.CodeOf(err) != node.NotFound {
				t.Errorf("line %d, number %d: %+v, %v", none[0], none[1], found, err)
			}
		}
		if last, err := s.PeerHead(tx, "c3"); node.CodeOf(err) != node.NotFound {
			t.Errorf("nothing was kept, and there is %+v, %v", last, err)
		}
		return s.DropPeerHeads(tx, "c1", day.Add(2*h))
	})
	wants("c1", 10, head("c1", 1, 2, 24*h), head("c1", 0, 9, 24*h))
	wants("c2", 10, head("c2", 0, 1, 0))
}
