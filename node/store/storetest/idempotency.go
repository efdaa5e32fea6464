package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/store"
)

// Idempotency tests what an Idempotency-Key remembers.
func Idempotency(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"claim, answer, drop": claimAnswerDrop,
		"claimed at once":     claimedAtOnce,
		"rolled back":         claimRolledBack,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

type claimed struct {
	Claimed bool
	Hash    string
	Answer  string
}

func claim(t *testing.T, s *store.Store, caller, key, hash string) (c claimed) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		yes, stored, answer, err := s.ClaimIdempotency(tx, caller, key, hash)
		c = claimed{yes, stored, string(answer)}
		return err
	})
	return c
}

func claimAnswerDrop(t *testing.T, s *store.Store) {
	keep := func(tx node.Tx) error { return s.KeepAnswer(tx, "ada", "k", []byte("201 made")) }
	drop := func(tx node.Tx) error { return s.DropIdempotency(tx, "ada", "k") }
	wantCode(t, s.InTx(t.Context(), keep), node.NotFound)
	steps := []struct {
		what              string
		do                func(node.Tx) error
		caller, key, hash string
		want              claimed
	}{
		{"new", nil, "ada", "k", "h", claimed{Claimed: true}},
		{"no answer yet", nil, "ada", "k", "h", claimed{Hash: "h"}},
		{"answered", keep, "ada", "k", "h", claimed{Hash: "h", Answer: "201 made"}},
		{"another caller's", nil, "ben", "k", "h", claimed{Claimed: true}},
		{"another key", nil, "ada", "l", "h", claimed{Claimed: true}},
		{"given back", drop, "ada", "k", "other", claimed{Claimed: true}},
		{"without the old answer", nil, "ada", "k", "other", claimed{Hash: "other"}},
	}
	for _, step := range steps {
		if step.do != nil {
			inTx(t, s, step.do)
		}
		if diff := cmp.Diff(step.want, claim(t, s, step.caller, step.key, step.hash)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		swept, err := s.SweepIdempotency(tx, 100)
		if swept != 0 {
			t.Errorf("%d keys were forgotten within their day", swept)
		}
		return err
	})
	if got := claim(t, s, "ada", "k", "third"); got.Claimed || got.Hash == "third" {
		t.Errorf("claim for another request gives %+v, want another hash", got)
	}
}

func claimedAtOnce(t *testing.T, s *store.Store) {
	var winners atomic.Int64
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			var first bool
			err := s.InTx(context.Background(), func(tx node.Tx) error {
				yes, _, answer, err := s.ClaimIdempotency(tx, "ada", "k", "h")
				if first = yes; err != nil || !yes {
					if string(answer) != "done" && err == nil {
						t.Error("the key is taken and its answer, of the same commit, is not there")
					}
					return err
				}
				return s.KeepAnswer(tx, "ada", "k", []byte("done"))
			})
			if err != nil {
				t.Error(err)
			}
			if first {
				winners.Add(1)
			}
		})
	}
	done.Wait()
	if winners.Load() != 1 {
		t.Errorf("%d of 16 claimed the key, want 1", winners.Load())
	}
}

func claimRolledBack(t *testing.T, s *store.Store) {
	_ = s.InTx(t.Context(), func(tx node.Tx) error {
		_, _, _, err := s.ClaimIdempotency(tx, "ada", "k", "h")
		return errors.Join(err, errors.New("no"))
	})
	if got := claim(t, s, "ada", "k", "other"); !got.Claimed {
		t.Errorf("claim gives %+v, want the key to be free", got)
	}
}
