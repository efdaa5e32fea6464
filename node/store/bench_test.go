package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// BenchmarkCommit writes one small row a transaction. Its floor is what the
// disk takes for that.
func BenchmarkCommit(b *testing.B) {
	b.Run("floor: write 4 KiB and sync", syncs)
	for name, database := range storetest.Benchmarked {
		for _, writers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d writers", name, writers), func(b *testing.B) {
				s := database(b).Open(b)
				b.SetParallelism(writers) // times GOMAXPROCS
				b.ResetTimer()
				if writers == 1 {
					for i := range b.N {
						commit(b, s, i)
					}
					return
				}
				b.RunParallel(func(loop *testing.PB) {
					for i := 0; loop.Next(); i++ {
						commit(b, s, i)
					}
				})
			})
		}
	}
}

func commit(b *testing.B, s *store.Store, i int) {
	err := s.InTx(context.Background(), func(tx node.Tx) error {
		_, err := s.Exec(tx, `INSERT INTO leases (name, holder, until) VALUES ($1, '', $2) ON CONFLICT (name) DO UPDATE SET until = $3`,
			fmt.Sprint(i%1000), i, i)
		return err
	})
	if err != nil {
		b.Error(err)
	}
}

func syncs(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := file.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClaim claims and settles an item while 10,000 wait for absent peers.
func BenchmarkClaim(b *testing.B) {
	for name, database := range storetest.Benchmarked {
		b.Run(name, func(b *testing.B) {
			s := database(b).Open(b)
			fill(b, s, 10_000)
			b.ResetTimer()
			for i := range b.N {
				err := s.InTx(context.Background(), func(tx node.Tx) error { return claimAndSettle(tx, s, i) })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func fill(b *testing.B, s *store.Store, items int) {
	err := s.InTx(context.Background(), func(tx node.Tx) error {
		for i := range items {
			id := fmt.Sprint("waiting ", i)
			item := outbox.Item{ID: id, AgentID: "a1", Kind: outbox.Envelope, Lane: fmt.Sprint(i % 500), Order: int64(i), Ref: id, NextAt: tx.Now().Add(time.Hour)}
			if err := s.InsertOutbox(tx, item); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func claimAndSettle(tx node.Tx, s *store.Store, i int) error {
	id := fmt.Sprint("i", i)
	if err := s.InsertOutbox(tx, outbox.Item{ID: id, AgentID: "a1", Kind: outbox.Envelope, Lane: id, Ref: id, NextAt: tx.Now()}); err != nil {
		return err
	}
	due, _, err := s.DueOutbox(tx)
	if err != nil || due.ID != id {
		return fmt.Errorf("%q is due: %w", due.ID, err)
	}
	item, ok, err := s.ClaimOutbox(tx, due.ID, "token", tx.Now().Add(time.Minute))
	if err != nil || !ok {
		return fmt.Errorf("claimed %q: %w", item.ID, err)
	}
	_, err = s.DeleteOutbox(tx, item.ID, "token")
	return err
}
