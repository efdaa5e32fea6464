package identity

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/token"
)

// shelf is a Store with one place, and the database around it.
type shelf struct {
	mu      sync.Mutex
	keys    *Keys
	retired []Retired
	fails   error
	// failsToShow makes View fail, and nothing else.
	failsToShow error
	// looked is called after each View, before its caller goes on.
	looked func()
}

type shelfTx struct {
	node.Tx
	ctx  context.Context
	done *[]func()
}

func (tx shelfTx) OnCommit(f func()) { *tx.done = append(*tx.done, f) }

func (shelfTx) Now() time.Time              { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }
func (tx shelfTx) Context() context.Context { return tx.ctx }

func (s *shelf) InTx(ctx context.Context, f func(node.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, retired := s.keys, slices.Clone(s.retired)
	var done []func()
	err := f(shelfTx{ctx: ctx, done: &done})
	if err != nil {
		s.keys, s.retired = before, retired
		return err
	}
	for _, hook := range done {
		hook()
	}
	return nil
}

func (s *shelf) View(ctx context.Context, f func(node.Tx) error) error {
	if s.failsToShow != nil {
		return s.failsToShow
	}
	s.mu.Lock()
	err := f(shelfTx{ctx: ctx})
	s.mu.Unlock()
	if s.looked != nil {
		s.looked()
	}
	return err
}

func (s *shelf) InsertNodeKeys(_ node.Tx, keys Keys) error {
	if s.keys == nil {
		s.keys = &keys
	}
	return s.fails
}

func (s *shelf) NodeKeys(node.Tx) (Keys, error) {
	if s.fails != nil {
		return Keys{}, s.fails
	}
	if s.keys == nil {
		return Keys{}, node.Errorf(node.NotFound, "There are no keys.")
	}
	return *s.keys, nil
}

func (s *shelf) LockNodeKeys(tx node.Tx) (Keys, error) { return s.NodeKeys(tx) }

func (s *shelf) ReplaceNodeKeys(_ node.Tx, keys Keys, retired Retired) error {
	s.keys, s.retired = &keys, append(s.retired, retired)
	return s.fails
}

func (s *shelf) RetiredKeys(node.Tx) ([]Retired, error) { return slices.Clone(s.retired), s.fails }

func (s *shelf) EraseSeed(tx node.Tx, fingerprint string) error {
	for i := range s.retired {
		if s.retired[i].Fingerprint == fingerprint {
			s.retired[i].Seed, s.retired[i].ErasedAt = nil, tx.Now()
		}
	}
	return s.fails
}

func (s *shelf) EraseAgeIdentity(_ node.Tx, fingerprint string) error {
	for i := range s.retired {
		if s.retired[i].Fingerprint == fingerprint {
			s.retired[i].AgeIdentity = ""
		}
	}
	return s.fails
}

func mustLoad(t *testing.T, s *shelf) *Identity {
	t.Helper()
	identity, err := LoadOrCreate(t.Context(), s, s, node.RandomIDs{})
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func TestLoadOrCreate(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	first := mustLoad(t, s)
	if s.keys == nil || !node.ValidID(s.keys.ID) || s.keys.CreatedAt != (shelfTx{}).Now() {
		t.Fatalf("stored %+v", s.keys)
	}
	second := mustLoad(t, s)
	if first.Signer.Fingerprint() != second.Signer.Fingerprint() || first.Recipient() != second.Recipient() {
		t.Error("another identity at the second start")
	}
	sealed, err := seal.ToRecipient(first.Recipient(), []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := second.Open(sealed); err != nil || string(opened) != "hello" {
		t.Errorf("%q, %v", opened, err)
	}
	if _, err := second.Open(sealed[:len(sealed)-1]); !errors.Is(err, seal.ErrNotOpened) {
		t.Errorf("a cut letter: %v", err)
	}
	compact, err := first.Signer.Sign(token.Ack, map[string]string{"ref": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := token.Open(token.Ack, second.Signer.PublicKey(), compact, &map[string]string{}); err != nil {
		t.Error(err)
	}
}

func TestIdentitiesDiffer(t *testing.T) {
	t.Parallel()
	one, two := mustLoad(t, &shelf{}), mustLoad(t, &shelf{})
	if one.Signer.Fingerprint() == two.Signer.Fingerprint() || one.Recipient() == two.Recipient() {
		t.Error("two nodes share a key")
	}
	if _, err := token.ParseKey(one.Signer.PublicKey()); err != nil {
		t.Error(err)
	}
	if !seal.ValidRecipient(one.Recipient()) {
		t.Errorf("%q is no recipient", one.Recipient())
	}
}

// All replicas look, find nothing, and only then does one of them store keys.
func TestReplicasStartAtOnce(t *testing.T) {
	t.Parallel()
	const replicas = 8
	var barrier sync.WaitGroup
	barrier.Add(replicas)
	var looks atomic.Int32
	s := &shelf{looked: func() {
		if looks.Add(1) <= replicas { // the first look of each
			barrier.Done()
			barrier.Wait()
		}
	}}
	fingerprints := make([]string, replicas)
	var done sync.WaitGroup
	for i := range replicas {
		done.Go(func() {
			identity, err := LoadOrCreate(t.Context(), s, s, node.RandomIDs{})
			if err != nil {
				t.Error(err)
				return
			}
			fingerprints[i] = identity.Signer.Fingerprint() + identity.Recipient()
		})
	}
	done.Wait()
	if different := slices.Compact(fingerprints); len(different) != 1 {
		t.Errorf("%d identities", len(different))
	}
}

func TestLoadOrCreateFails(t *testing.T) {
	t.Parallel()
	down := node.Errorf(node.Unavailable, "The database does not answer.")
	for name, broken := range map[string]*shelf{"a broken store": {fails: down}, "a store that does not show": {failsToShow: down}} {
		if _, err := LoadOrCreate(t.Context(), broken, broken, node.RandomIDs{}); node.CodeOf(err) != node.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
		if broken.keys != nil {
			t.Errorf("%s: keys were made although nobody knows whether there are some", name)
		}
	}
	good := newKeys("id")
	for name, keys := range map[string]Keys{
		"nothing": {}, "short seed": {Seed: good.Seed[1:], AgeIdentity: good.AgeIdentity}, "no recipient": {Seed: good.Seed},
		"damaged recipient": {Seed: good.Seed, AgeIdentity: good.AgeIdentity[:60]},
	} {
		s := &shelf{keys: &keys}
		_, err := LoadOrCreate(t.Context(), s, s, node.RandomIDs{})
		if node.CodeOf(err) != node.Internal || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && bytes.Contains([]byte(err.Error()), []byte("AGE-SECRET")) {
			t.Errorf("%s: the error shows the key", name)
		}
		if diff := cmp.Diff(keys, *s.keys); diff != "" {
			t.Errorf("%s: what was stored was changed: %s", name, diff)
		}
	}
}
