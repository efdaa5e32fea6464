package owner

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
)

const wrongPassword = "incorrect horse battery"

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	if err := service.CheckPassword(t.Context(), actor, rightPassword); err != nil {
		t.Fatal(err)
	}
	if len(b.state.guesses) != 0 || len(b.state.rows) != 1 {
		t.Errorf("a right password leaves %d guesses and %v", len(b.state.guesses), b.types())
	}
	for _, wrong := range []string{wrongPassword, "", "x"} {
		if err := service.CheckPassword(t.Context(), actor, wrong); node.CodeOf(err) != node.Unauthorized {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if len(b.state.guesses) != 3 {
		t.Errorf("%d guesses counted", len(b.state.guesses))
	}
	row := b.state.rows[len(b.state.rows)-1]
	if row.Type != audit.OwnerAuthFailed || row.OwnerID != b.state.owner.ID || row.Via != actor.Via || string(row.Data) != `{"how":"password"}` {
		t.Errorf("audit row %+v", row)
	}
}

func TestCheckPasswordWithoutOwner(t *testing.T) {
	t.Parallel()
	b, service := empty()
	if err := service.CheckPassword(t.Context(), actor, rightPassword); node.CodeOf(err) != node.NotFound {
		t.Error(err)
	}
	if len(b.state.guesses) != 0 || len(b.state.rows) != 0 {
		t.Error("something was stored")
	}
}

func TestCheckPasswordLimit(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	for range MaxGuesses {
		if err := service.CheckPassword(t.Context(), actor, wrongPassword); node.CodeOf(err) != node.Unauthorized {
			t.Fatal(err)
		}
		b.clock.Advance(time.Second)
	}
	limited := func(password string, seconds int) {
		t.Helper()
		err := service.CheckPassword(t.Context(), actor, password)
		e, _ := node.AsError(err)
		if node.CodeOf(err) != node.RateLimited || !cmp.Equal(e.Details, map[string]any{"retryAfterSeconds": seconds}) {
			t.Fatalf("%v, details %v; want %d seconds", err, e.Details, seconds)
		}
	}
	limited(wrongPassword, 50)
	limited(rightPassword, 50) // not even the right one is looked at
	if len(b.state.rows) != 1+MaxGuesses || len(b.state.guesses) != MaxGuesses {
		t.Errorf("%d audit rows, %d guesses", len(b.state.rows), len(b.state.guesses))
	}
	b.clock.Advance(49*time.Second + 500*time.Millisecond)
	limited(rightPassword, 1)
	b.clock.Advance(500 * time.Millisecond) // the first guess is now a minute old
	if err := service.CheckPassword(t.Context(), actor, wrongPassword); node.CodeOf(err) != node.Unauthorized {
		t.Fatal(err)
	}
	limited(rightPassword, 1)
	b.clock.Advance(time.Second)
	if err := service.CheckPassword(t.Context(), actor, rightPassword); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

// However many try at once, over two replicas: no more than MaxGuesses are
// compared, and each of them is audited.
func TestCheckPasswordLimitAtOnce(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	replica := New(b, b, audit.New(b, []byte("key")), node.RandomIDs{})
	var mu sync.Mutex
	codes := map[node.Code]int{}
	var done sync.WaitGroup
	for i := range 200 {
		done.Go(func() {
			err := []*Service{service, replica}[i%2].CheckPassword(t.Context(), actor, wrongPassword)
			mu.Lock()
			defer mu.Unlock()
			codes[node.CodeOf(err)]++
		})
	}
	done.Wait()
	if diff := cmp.Diff(map[node.Code]int{node.Unauthorized: MaxGuesses, node.RateLimited: 200 - MaxGuesses}, codes); diff != "" {
		t.Error(diff)
	}
	if len(b.state.rows) != 1+MaxGuesses {
		t.Errorf("%d audit rows", len(b.state.rows))
	}
}

// An owner who is right many times at once is never refused.
func TestCheckPasswordRightAtOnce(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	var done sync.WaitGroup
	for range 100 {
		done.Go(func() {
			if err := service.CheckPassword(t.Context(), actor, rightPassword); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if len(b.state.guesses) != 0 {
		t.Errorf("%d guesses are left", len(b.state.guesses))
	}
}

// Whatever fails, the answer is never yes, and a guess that was compared stays
// counted.
func TestCheckPasswordFailsClosed(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Guesses", "InsertGuess", "DeleteGuess", "AppendAudit"} {
		b, service := setup(t)
		b.fails = method
		if method != "AppendAudit" {
			if err := service.CheckPassword(t.Context(), actor, rightPassword); node.CodeOf(err) != node.Unavailable {
				t.Errorf("%s, right password: %v", method, err)
			}
		}
		err := service.CheckPassword(t.Context(), actor, wrongPassword)
		if code := node.CodeOf(err); code != node.Unavailable && code != node.Unauthorized {
			t.Errorf("%s, wrong password: %v", method, err)
		}
		if method == "AppendAudit" && len(b.state.guesses) != 1 {
			t.Errorf("%d guesses counted", len(b.state.guesses))
		}
	}
	b, service := setup(t)
	b.state.hash = "$argon2id$damaged"
	if err := service.CheckPassword(t.Context(), actor, rightPassword); node.CodeOf(err) != node.Internal {
		t.Errorf("a damaged hash: %v", err)
	}
}

// A caller who leaves does not take the audit row along.
func TestCheckPasswordCallerLeaves(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	ctx, leave := context.WithCancel(t.Context())
	b.guessed = leave
	err := service.CheckPassword(ctx, actor, wrongPassword)
	if node.CodeOf(err) != node.Unauthorized || len(b.state.rows) != 2 {
		t.Errorf("%v, %v", err, b.types())
	}
	leave()
	service.checking <- struct{}{} // somebody else's turn
	if err := service.CheckPassword(ctx, actor, rightPassword); node.CodeOf(err) != node.Unavailable {
		t.Errorf("left while waiting: %v", err)
	}
	if len(b.state.guesses) != 1 {
		t.Error("who only waited is counted")
	}
}
