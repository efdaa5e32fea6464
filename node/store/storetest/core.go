package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/store"
)

// Core tests transactions, settings, leases and waking.
func Core(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"commit and roll back":         commitAndRollBack,
		"hooks":                        hooks,
		"one time a transaction":       oneTime,
		"context":                      contextEnds,
		"panic":                        panics,
		"goexit":                       goexits,
		"a view writes nothing":        viewWritesNothing,
		"a view sees one state":        viewSeesOneState,
		"no transaction inside one":    noNesting,
		"an ended transaction is over": endedIsOver,
		"writers":                      writers,
		"settings":                     settings,
		"leases":                       leases,
		"wake":                         wake,
		"closed":                       closed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func inTx(t *testing.T, s *store.Store, f func(tx node.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), f); err != nil {
		t.Fatalf("InTx: %v", err)
	}
}

// setting reads a setting, "" where there is none.
func setting(t *testing.T, s *store.Store, name string) string {
	t.Helper()
	var value []byte
	err := s.View(t.Context(), func(tx node.Tx) (err error) {
		value, err = s.Setting(tx, name)
		return err
	})
	if err != nil && node.CodeOf(err) != node.NotFound {
		t.Fatalf("read setting %s: %v", name, err)
	}
	return string(value)
}

func wantCode(t *testing.T, err error, code node.Code) {
	t.Helper()
	if known, ok := node.AsError(err); !ok || known.Code != code {
		t.Errorf("got %v, want an error with code %s", err, code)
	}
}

func commitAndRollBack(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error { return s.SetSetting(tx, "kept", []byte("yes")) })
	no := errors.New("no")
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		return errors.Join(s.SetSetting(tx, "lost", []byte("yes")), no)
	})
	if !errors.Is(err, no) {
		t.Errorf("InTx gives %v, want the function's own error", err)
	}
	if got := setting(t, s, "kept") + setting(t, s, "lost"); got != "yes" {
		t.Errorf("kept %q, want only the committed value", got)
	}
}

func hooks(t *testing.T, s *store.Store) {
	var seen []string
	hook := func(text string) func() {
		return func() { seen = append(seen, text+setting(t, s, "a")) } // sees what was committed
	}
	inTx(t, s, func(tx node.Tx) error {
		tx.OnCommit(hook("first "))
		tx.OnCommit(hook("second "))
		return s.SetSetting(tx, "a", []byte("1"))
	})
	_ = s.InTx(t.Context(), func(tx node.Tx) error {
		tx.OnCommit(hook("never "))
		return errors.New("no")
	})
	if diff := cmp.Diff([]string{"first 1", "second 1"}, seen); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

func oneTime(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		first := tx.Now()
		time.Sleep(time.Millisecond)
		if !tx.Now().Equal(first) || first.Location() != time.UTC || first.Nanosecond()%1000 != 0 {
			t.Errorf("Now gives %v after %v, want one time in UTC and microseconds", tx.Now(), first)
		}
		return nil
	})
}

func contextEnds(t *testing.T, s *store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	err := s.InTx(ctx, func(tx node.Tx) error {
		if err := s.SetSetting(tx, "a", []byte("1")); err != nil {
			return err
		}
		cancel()
		_ = s.SetSetting(tx, "b", []byte("1")) // refused; what f makes of that does not matter
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("InTx gives %v, want the context's error", err)
	}
	called := false
	err = s.View(ctx, func(node.Tx) error { called = true; return nil })
	if !errors.Is(err, context.Canceled) || called {
		t.Errorf("View gives %v and called is %v, want the context's error and no call", err, called)
	}
	if got := setting(t, s, "a"); got != "" {
		t.Errorf("the setting is %q, want it rolled back", got)
	}
}

func panics(t *testing.T, s *store.Store) {
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v, want the panic of the function", got)
			}
		}()
		_ = s.InTx(t.Context(), func(tx node.Tx) error {
			_ = s.SetSetting(tx, "a", []byte("1"))
			panic("boom")
		})
	}()
	goesOn(t, s)
}

func goexits(t *testing.T, s *store.Store) {
	var done sync.WaitGroup
	done.Go(func() {
		_ = s.InTx(context.Background(), func(tx node.Tx) error {
			_ = s.SetSetting(tx, "a", []byte("1"))
			runtime.Goexit()
			return nil
		})
	})
	done.Wait()
	goesOn(t, s)
}

// goesOn checks that setting "a" was rolled back and the store still works.
func goesOn(t *testing.T, s *store.Store) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error { return s.SetSetting(tx, "b", []byte("2")) })
	if got := setting(t, s, "a") + setting(t, s, "b"); got != "2" {
		t.Errorf("settings are %q, want only what came after", got)
	}
}

func viewWritesNothing(t *testing.T, s *store.Store) {
	err := s.View(t.Context(), func(tx node.Tx) error { return s.SetSetting(tx, "a", []byte("1")) })
	wantCode(t, err, node.Internal)
	if got := setting(t, s, "a"); got != "" {
		t.Errorf("the setting is %q, want none", got)
	}
}

func viewSeesOneState(t *testing.T, s *store.Store) {
	if !concurrent(t, s) {
		return
	}
	var before, after string
	err := s.View(t.Context(), func(tx node.Tx) error {
		value, _ := s.Setting(tx, "a")
		before = string(value)
		done := make(chan error, 1)
		go func() {
			done <- s.InTx(context.Background(), func(tx node.Tx) error { return s.SetSetting(tx, "a", []byte("new")) })
		}()
		if err := <-done; err != nil {
			return err
		}
		value, _ = s.Setting(tx, "a")
		after = string(value)
		return nil
	})
	if err != nil || before != after {
		t.Errorf("the view sees %q and then %q (%v), want one state", before, after, err)
	}
	if got := setting(t, s, "a"); got != "new" {
		t.Errorf("the next view sees %q, want the new value", got)
	}
}

// concurrent says whether a view and a write can run at once.
func concurrent(t *testing.T, s *store.Store) (yes bool) {
	t.Helper()
	err := s.View(t.Context(), func(node.Tx) error {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		yes = s.View(ctx, func(node.Tx) error { return nil }) == nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

func noNesting(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		wantCode(t, s.InTx(tx.Context(), func(node.Tx) error { return nil }), node.Internal)
		wantCode(t, s.View(tx.Context(), func(node.Tx) error { return nil }), node.Internal)
		tx.OnCommit(func() { // a hook is outside again
			if err := s.View(tx.Context(), func(node.Tx) error { return nil }); err != nil {
				t.Errorf("a view of a hook: %v", err)
			}
		})
		return nil
	})
}

func endedIsOver(t *testing.T, s *store.Store) {
	var leaked node.Tx
	inTx(t, s, func(tx node.Tx) error { leaked = tx; return nil })
	wantCode(t, s.SetSetting(leaked, "a", nil), node.Internal)
	_, err := s.Setting(leaked, "a")
	wantCode(t, err, node.Internal)
}

// writers: of 16 that write at once, each third transaction of which fails, all
// get what they were promised.
func writers(t *testing.T, s *store.Store) {
	const count, each = 16, 30
	var committed atomic.Int64
	var done sync.WaitGroup
	for writer := range count {
		done.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%02d %02d", writer, i)
				err := s.InTx(context.Background(), func(tx node.Tx) error {
					tx.OnCommit(func() { committed.Add(1) })
					if err := s.SetSetting(tx, name, []byte(name)); err != nil {
						return err
					}
					if i%3 == 0 {
						return errors.New("no")
					}
					return nil
				})
				if (err != nil) != (i%3 == 0) {
					t.Errorf("%s: %v", name, err)
				}
				if got := setting(t, s, name); (got == name) != (i%3 != 0) {
					t.Errorf("%s reads %q right after its transaction", name, got)
				}
			}
		})
	}
	done.Wait()
	if want := int64(count * each * 2 / 3); committed.Load() != want {
		t.Errorf("%d hooks ran, want %d", committed.Load(), want)
	}
}

func settings(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.Setting(tx, "a")
		wantCode(t, err, node.NotFound)
		return errors.Join(s.SetSetting(tx, "a", []byte("1")), s.SetSetting(tx, "a", []byte("2")), s.SetSetting(tx, "b", nil))
	})
	if got := setting(t, s, "a"); got != "2" {
		t.Errorf("the setting is %q, want 2", got)
	}
	inTx(t, s, func(tx node.Tx) error {
		value, err := s.Setting(tx, "b")
		if len(value) != 0 {
			t.Errorf("the empty setting is %q", value)
		}
		return err
	})
}

func leases(t *testing.T, s *store.Store) {
	take := func(holder string, life time.Duration) (held bool) {
		inTx(t, s, func(tx node.Tx) (err error) {
			held, err = s.Lease(tx, "expiry", holder, life)
			return err
		})
		return held
	}
	steps := []struct {
		what string
		got  bool
		want bool
	}{
		{"first", take("a", time.Hour), true},
		{"other", take("b", time.Hour), false},
		{"renewed, and over at once", take("a", 0), true},
		{"other, after its end", take("b", time.Hour), true},
		{"first, too late", take("a", time.Hour), false},
	}
	for _, step := range steps {
		if step.got != step.want {
			t.Errorf("%s: held is %v, want %v", step.what, step.got, step.want)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		return errors.Join(s.EndLease(tx, "expiry", "a"), s.EndLease(tx, "expiry", "b"))
	})
	var winners atomic.Int64
	var done sync.WaitGroup
	for i := range 16 {
		done.Go(func() {
			var held bool
			err := s.InTx(context.Background(), func(tx node.Tx) (err error) {
				held, err = s.Lease(tx, "expiry", fmt.Sprint("holder ", i), time.Hour)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if held {
				winners.Add(1)
			}
		})
	}
	done.Wait()
	if winners.Load() != 1 {
		t.Errorf("%d of 16 hold the lease, want 1", winners.Load())
	}
}

func wake(t *testing.T, s *store.Store) {
	feed, endFeed := s.Subscribe(store.TopicFeed)
	outbox, endOutbox := s.Subscribe(store.TopicOutbox)
	defer endOutbox()
	drain(feed)
	drain(outbox)
	// Everybody is woken once when the store begins to listen to others, which may
	// be late; therefore what must not wake is tried twice.
	unexpected := 0
	for range 2 {
		_ = s.InTx(t.Context(), func(tx node.Tx) error { return errors.Join(s.Notify(tx, store.TopicFeed), errors.New("no")) })
		if woken(feed, 50*time.Millisecond) {
			unexpected++
		}
	}
	if unexpected == 2 {
		t.Error("woken by what was rolled back")
	}
	unexpected = 0
	for range 2 {
		inTx(t, s, func(tx node.Tx) error {
			return errors.Join(s.Notify(tx, store.TopicFeed), s.Notify(tx, store.TopicFeed))
		})
		if !woken(feed, 5*time.Second) {
			t.Error("the subscriber of the topic is not woken")
		}
		if woken(feed, 50*time.Millisecond) || woken(outbox, 0) {
			unexpected++
		}
	}
	if unexpected == 2 {
		t.Error("woken twice, or by another topic")
	}
	endFeed()
	inTx(t, s, func(tx node.Tx) error { return s.Notify(tx, store.TopicFeed) })
	if woken(feed, 50*time.Millisecond) {
		t.Error("woken after the end of the subscription")
	}
}

func drain(c <-chan struct{}) {
	for woken(c, 300*time.Millisecond) {
	}
}

func woken(c <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

func closed(t *testing.T, s *store.Store) {
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	wantCode(t, s.InTx(context.Background(), func(node.Tx) error { return nil }), node.Unavailable)
	wantCode(t, s.View(context.Background(), func(node.Tx) error { return nil }), node.Unavailable)
	wantCode(t, s.Ping(context.Background()), node.Unavailable)
}
