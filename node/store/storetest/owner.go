package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/identity"
	"agentlink/node/owner"
	"agentlink/node/store"
)

// Owner tests the owner, the guesses at the password and the node's keys.
func Owner(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"one owner":         oneOwner,
		"locked":            lockedOwner,
		"guesses":           guesses,
		"keys":              keys,
		"keys made at once": keysAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func oneOwner(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.Owner(tx)
		wantCode(t, err, node.NotFound)
		_, _, err = s.LockOwner(tx)
		wantCode(t, err, node.NotFound)
		_, err = s.OwnerPassword(tx)
		wantCode(t, err, node.NotFound)
		wantCode(t, s.SetOwnerPassword(tx, "o1", "hash"), node.NotFound)
		return nil
	})
	var ada owner.Owner
	inTx(t, s, func(tx node.Tx) error {
		ada = owner.Owner{ID: "o1", Name: "Ada", CreatedAt: tx.Now()}
		first, err := s.InsertOwner(tx, ada, "hash 1")
		second, err2 := s.InsertOwner(tx, owner.Owner{ID: "o2", Name: "Ben", CreatedAt: tx.Now()}, "hash 2")
		if !first || second {
			t.Errorf("inserted %v and %v, want only the first", first, second)
		}
		return errors.Join(err, err2)
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.Owner(tx)
		if diff := cmp.Diff(ada, got); diff != "" {
			t.Errorf("owner (-want +got):\n%s", diff)
		}
		return errors.Join(err, s.SetOwnerPassword(tx, "o1", "hash 3"))
	})
	inTx(t, s, func(tx node.Tx) error {
		got, hash, err := s.LockOwner(tx)
		if diff := cmp.Diff(ada, got); diff != "" || hash != "hash 3" {
			t.Errorf("locked owner has hash %q (-want +got):\n%s", hash, diff)
		}
		if hash, err := s.OwnerPassword(tx); err != nil || hash != "hash 3" {
			t.Errorf("the owner's hash is %q, %v", hash, err)
		}
		return err
	})
}

// lockedOwner: of what is done between LockOwner and the commit nothing
// interleaves.
func lockedOwner(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.InsertOwner(tx, owner.Owner{ID: "o1", Name: "Ada", CreatedAt: tx.Now()}, "hash")
		return err
	})
	var inside, most atomic.Int64
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			err := s.InTx(context.Background(), func(tx node.Tx) error {
				if _, _, err := s.LockOwner(tx); err != nil {
					return err
				}
				most.Store(max(most.Load(), inside.Add(1)))
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held the lock at once", most.Load())
	}
}

func guesses(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		now := tx.Now()
		for i := range 5 {
			if err := s.InsertGuess(tx, "password", fmt.Sprint("g", i), now.Add(time.Duration(i)*time.Second)); err != nil {
				return err
			}
		}
		if err := s.InsertGuess(tx, "recovery code", "other", now.Add(3*time.Second)); err != nil {
			return err
		}
		count, oldest, err := s.Guesses(tx, "password", now.Add(time.Second))
		if count != 3 || !oldest.Equal(now.Add(2*time.Second)) {
			t.Errorf("%d guesses since %v, want 3 since %v", count, oldest, now.Add(2*time.Second))
		}
		if err := errors.Join(err, s.DeleteGuess(tx, "g2"), s.DeleteGuess(tx, "unknown")); err != nil {
			return err
		}
		count, oldest, err = s.Guesses(tx, "password", now.Add(time.Hour))
		if count != 0 || !oldest.IsZero() {
			t.Errorf("%d guesses since %v, want none", count, oldest)
		}
		return err
	})
}

func keys(t *testing.T, s *store.Store) {
	var made identity.Keys
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.NodeKeys(tx)
		wantCode(t, err, node.NotFound)
		made = identity.Keys{ID: "k1", Seed: []byte("a seed of 32 bytes, or nearly so"), AgeIdentity: "AGE-SECRET-KEY-1", CreatedAt: tx.Now()}
		if err := s.InsertNodeKeys(tx, made); err != nil {
			return err
		}
		return s.InsertNodeKeys(tx, identity.Keys{ID: "k2", Seed: []byte("other"), AgeIdentity: "other", CreatedAt: tx.Now()})
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.NodeKeys(tx)
		if diff := cmp.Diff(made, got); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		return err
	})
}

func keysAtOnce(t *testing.T, s *store.Store) {
	recipients := make([]string, 8)
	var done sync.WaitGroup
	for i := range recipients {
		done.Go(func() {
			loaded, err := identity.LoadOrCreate(context.Background(), s, s, node.RandomIDs{})
			if err != nil {
				t.Error(err)
				return
			}
			recipients[i] = loaded.Recipient()
		})
	}
	done.Wait()
	for _, recipient := range recipients {
		if recipient == "" || recipient != recipients[0] {
			t.Errorf("replicas have different identities: %v", recipients)
			return
		}
	}
}
