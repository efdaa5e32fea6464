package durability

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/store/storetest"
)

// TestFailingCalls makes the n-th call to the database fail, for every n, in each
// flow: before it is done, and after it was, with only the answer lost. Whatever
// comes of it, the database holds all of a step or nothing, success was said of
// nothing else, the audit log is whole, and a second try succeeds.
func TestFailingCalls(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		every := 1
		if strings.HasSuffix(t.Name(), "/postgres") {
			every = 3 // for the time that it takes; SQLite has them all
		}
		for _, f := range flows {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				for _, late := range []bool{false, true} {
					f.failEach(t, fresh, late, every*max(1, f.every))
				}
			})
		}
	})
}

// prepared is a flow that is about to happen.
type prepared struct {
	*world
	on    *side
	act   func(ctx context.Context) error
	begin dump
}

func (f flow) prepare(t *testing.T, fresh func(*testing.T) storetest.Database) prepared {
	t.Helper()
	w := newWorld(t, fresh)
	p := prepared{world: w}
	p.on, p.act = f.set(w)
	p.begin = p.on.looker.dump(t)
	return p
}

// stages are the shapes of the database after each commit of an undisturbed course.
func (f flow) stages(t *testing.T, fresh func(*testing.T) storetest.Database) (stages []string) {
	t.Helper()
	p := f.prepare(t, fresh)
	stages = []string{p.begin.shape}
	p.on.wire.around = func(_ *conn, statement string, over bool) {
		if over && statement == "COMMIT" {
			stages = append(stages, p.on.looker.dump(t).shape)
		}
	}
	must(t, p.act(t.Context()))
	p.on.wire.around = nil
	stages = slices.Compact(stages)
	if len(stages)-1 != f.commits {
		t.Fatalf("%d commits change something, want %d", len(stages)-1, f.commits)
	}
	return stages
}

// failEach goes on in one world as long as the failures leave no trace; one that
// leaves a step done is followed by a second try, and a new world.
func (f flow) failEach(t *testing.T, fresh func(*testing.T) storetest.Database, late bool, every int) {
	t.Helper()
	stages := f.stages(t, fresh)
	last := stages[len(stages)-1]
	p := f.prepare(t, fresh)
	first := 1
	if late {
		first = min(2, every) // the calls that do not fail early
	}
	for n := first; ; n += every {
		p.on.wire.arm(n, late)
		err := p.act(t.Context())
		fired := p.on.wire.disarm()
		got := p.on.looker.dump(t)
		p.on.wantWholeLog(f.name)
		switch stage := slices.Index(stages, got.shape); {
		case stage < 0 && slices.ContainsFunc(f.halfway, func(state string) bool { return strings.Contains(got.shape, state) }):
		case stage < 0:
			t.Fatalf("call %d (late %v): neither before nor after a step:\n%s", n, late, difference(last, got.shape))
		case stage == 0 && got.rows != p.begin.rows && !f.background: // a delivery may be put off
			t.Fatalf("call %d (late %v): something is left of what failed:\n%s", n, late, difference(p.begin.rows, got.rows))
		case err == nil && got.shape != last && !f.background:
			t.Fatalf("call %d (late %v): success was said, and this is missing:\n%s", n, late, difference(got.shape, last))
		case err != nil && !fired:
			t.Fatalf("call %d (late %v): %v", n, late, err)
		}
		wantFailure(t, err)
		if !fired {
			t.Logf("late %v: about %d calls, every %d. of them failed once; %d commits", late, n-1, every, len(stages)-1)
			return
		}
		if got.rows != p.begin.rows {
			if err != nil || got.shape != last {
				f.again(t, p, last, n, late)
			}
			p = f.prepare(t, fresh)
		}
	}
}

// unlogged leaves out of a dump what is logged of each try.
func unlogged(shape string) string {
	lines := slices.DeleteFunc(strings.Split(shape, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "audit_") || strings.HasPrefix(line, "decisions ")
	})
	return strings.Join(lines, "\n")
}

// wantFailure holds an error to what may be said of a database that fails.
func wantFailure(t *testing.T, err error) {
	t.Helper()
	var answered *refused
	if errors.As(err, &answered) {
		if answered.status != http.StatusInternalServerError && answered.status != http.StatusServiceUnavailable {
			t.Errorf("the agent is told %v", err)
		}
		return
	}
	if code := node.CodeOf(err); err != nil && code != node.Internal && code != node.Unavailable {
		t.Errorf("the failure is told as %s: %v", code, err)
	}
}

// again tries a second time what has failed, and lets the node do what is left.
func (f flow) again(t *testing.T, p prepared, last string, n int, late bool) {
	t.Helper()
	err := p.act(t.Context())
	for range 3 {
		if p.on.looker.dump(t).shape == last {
			break
		}
		p.clock.Advance(61*time.Second + f.lease) // of a delivery or a run that was cut off
		if f.background {
			must(t, p.act(t.Context()))
		}
		must(t, steps(p.on.actions.RecoverStep)(t.Context()))
	}
	got := p.on.looker.dump(t).shape
	if f.twice {
		got, last = unlogged(got), unlogged(last)
	}
	if got != last {
		t.Fatalf("call %d (late %v): a second try gives %v, and differs from what should be:\n%s", n, late, err, difference(last, got))
	}
	p.on.wantWholeLog(f.name)
	for key, count := range p.on.effects {
		if count > 2 {
			t.Errorf("call %d (late %v): the executor ran %d times for %s", n, late, count, key)
		}
	}
	if len(p.on.effects) > 1 {
		t.Errorf("call %d (late %v): %d different runs", n, late, len(p.on.effects))
	}
}
