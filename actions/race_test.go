package actions_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// replicas are two nodes over one database where it allows that, and twice the
// same one where it does not.
func replicas(t *testing.T, database storetest.Database, executor *executor) [2]*world {
	t.Helper()
	database.Clock = node.NewFakeClock(noon)
	first := on(t, database.Open(t), with(executor))
	if !strings.HasPrefix(database.URL, "postgres") {
		return [2]*world{first, first}
	}
	return [2]*world{first, on(t, database.Open(t), with(executor))}
}

// came says what came of a request: the outcome, or the code of its refusal.
func came(run actions.Run, err error) string {
	if err != nil {
		code, _, _ := strings.Cut(problem(err), " ")
		return code
	}
	return string(run.Outcome())
}

// putBack is a database in which somebody puts an approval that was used back as
// it was, with its old MAC.
type putBack struct{ approvals.Store }

func (s putBack) SaveApproval(tx node.Tx, a approvals.Approval, from approvals.Status) error {
	if a.Status == approvals.Consumed {
		return nil
	}
	return s.Store.SaveApproval(tx, a, from)
}

// TestUsedApprovalPutBack: the row looks whole, and still opens nothing twice.
func TestUsedApprovalPutBack(t *testing.T) {
	t.Parallel()
	executor := &executor{execute: succeeds}
	w := newWorld(t, with(executor))
	w.approvals.Store = putBack{w.approvals.Store}
	a := w.approved(book(aloneBooking))
	w.mustRun(start(aloneBooking, a.ID))
	if got := w.status(a.ID); got != approvals.Approved {
		t.Fatalf("the approval was not put back, it is %s", got)
	}
	if _, err := w.run(start(aloneBooking, a.ID)); problem(err) != "conflict approval_used" || executor.calls() != 1 {
		t.Errorf("a second use gives %v, %d calls", err, executor.calls())
	}
}

// rounds is how often an approval is used 1,000 times at once: 3, or what
// AGENTLINK_ROUNDS says. "make uses" says 200.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("AGENTLINK_ROUNDS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 24*60 {
		t.Fatalf("AGENTLINK_ROUNDS=%q: want 1 to 1440", text)
	}
	return n
}

// TestRunOnce is one approval, used 1,000 times at once over two replicas, round
// after round: one run each, all others a clean conflict.
func TestRunOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) storetest.Database) {
		executor := &executor{execute: succeeds}
		two := replicas(t, fresh(t), executor)
		rounds := rounds(t)
		for round := range rounds {
			parameters := strings.Replace(aloneBooking, "19:30", fmt.Sprintf("%02d:%02d", round/60, round%60), 1)
			two[0].runOnce(t, parameters, two)
		}
		if events := two[0].events(); executor.calls() != rounds || events[audit.ActionExecuted] != rounds || events[audit.ApprovalConsumed] != rounds {
			t.Errorf("%d rounds: %d calls, audit log %v", rounds, executor.calls(), events)
		}
	})
}

// TestRunOnceOfATask is the same for the action of a task.
func TestRunOnceOfATask(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) storetest.Database) {
		executor := &executor{execute: succeeds}
		two := replicas(t, fresh(t), executor)
		two[0].task()
		two[0].runOnce(t, booking, two)
		if executor.calls() != 1 {
			t.Errorf("the executor was called %d times", executor.calls())
		}
	})
}

func (w *world) runOnce(t *testing.T, parameters string, over [2]*world) {
	t.Helper()
	a := w.approved(book(parameters))
	got := race(1000, func(i int) string { return came(over[i%2].run(start(parameters, a.ID))) })
	if diff := cmp.Diff(map[string]int{"done": 1, "conflict": 999}, got); diff != "" {
		t.Fatalf("%s:\n%s", parameters, diff)
	}
}

// TestRunOnceOfTwo (S9) is two approvals for one task, each used 500 times at once,
// round after round: one run each. It is 5 rounds, or half of AGENTLINK_ROUNDS.
func TestRunOnceOfTwo(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) storetest.Database) {
		executor := &executor{execute: succeeds}
		two := replicas(t, fresh(t), executor)
		rounds := max(5, rounds(t)/2)
		for round := range rounds {
			uid := fmt.Sprint("dinner", round)
			two[0].task(func(task *coordination.Task) { task.UID = uid })
			one := strings.Replace(booking, `"dinner"`, fmt.Sprintf("%q", uid), 1)
			other := strings.Replace(one, "19:30", "20:00", 1)
			requests := [2]actions.Start{start(one, two[0].approved(book(one)).ID), start(other, two[0].approved(book(other)).ID)}
			got := race(1000, func(i int) string { return came(two[i%2].run(requests[i/2%2])) })
			if diff := cmp.Diff(map[string]int{"done": 1, "conflict": 999}, got); diff != "" {
				t.Fatalf("round %d: %s", round, diff)
			}
		}
		if executor.calls() != rounds {
			t.Errorf("the executor was called %d times", executor.calls())
		}
	})
}

// TestAutomaticOnce is one allow grant, tried 200 times at once for one task: one
// run, whether or not its confirmation goes out.
func TestAutomaticOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) storetest.Database) {
		executor := &executor{execute: succeeds}
		two := replicas(t, fresh(t), executor)
		for _, w := range two {
			w.rules.set(policy.GrantAllows)
			w.tasks.set(func(f *tasks) { f.barred = true })
		}
		two[0].task()
		got := race(200, func(i int) string { return came(two[i%2].run(start(booking, ""))) })
		if diff := cmp.Diff(map[string]int{"done": 1, "conflict": 199}, got); diff != "" {
			t.Error(diff)
		}
		if executor.calls() != 1 {
			t.Errorf("the executor was called %d times", executor.calls())
		}
	})
}

// TestKeyAtOnce is one request under one key, 200 times at once: one run, which
// is what each of them is told.
func TestKeyAtOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) storetest.Database) {
		executor := &executor{execute: succeeds}
		two := replicas(t, fresh(t), executor)
		request := start(aloneBooking, two[0].approved(book(aloneBooking)).ID)
		request.Key = "once"
		got := race(200, func(i int) string {
			run, err := two[i%2].run(request)
			return problem(err) + run.ID
		})
		if len(got) != 1 || executor.calls() != 1 {
			t.Errorf("%d calls, answers %v", executor.calls(), got)
		}
	})
}

// TestAgentAndNodeAtOnce: the agent runs what the node is to run as well.
func TestAgentAndNodeAtOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) storetest.Database) {
		executor := &executor{execute: succeeds}
		two := replicas(t, fresh(t), executor)
		two[0].task()
		a := two[0].runnable(booking)
		two[0].decideOrFail(a, true)
		got := race(100, func(i int) string {
			if i%2 == 0 {
				return came(two[0].run(start(booking, a.ID)))
			}
			if _, err := two[1].RecoverStep(t.Context()); err != nil {
				return err.Error()
			}
			return "stepped"
		})
		if got["done"]+got["conflict"] != 50 || got["stepped"] != 50 || executor.calls() != 1 {
			t.Errorf("%d calls, answers %v", executor.calls(), got)
		}
		if status := two[0].status(a.ID); status != approvals.Consumed || two[0].dinner().Status != coordination.Confirmed {
			t.Errorf("approval %s, task %s", status, two[0].dinner().Status)
		}
	})
}
