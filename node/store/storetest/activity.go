package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/policy"
)

// Activity tests what the owner's pages list of the log and of decisions.
func Activity(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"newest first":       auditNewest,
		"decisions per day":  decisionTally,
		"tasks of the owner": ownersTasks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func auditNewest(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		var failed error
		for i := range 60 {
			event := audit.Event{
				Type: []audit.Type{audit.MessageQueued, audit.MessageReceived}[i%2], Actor: node.Actor{Kind: node.ActorNode}, AgentID: fmt.Sprint("a", i%3),
			}
			if i%5 == 0 {
				event.TaskUID, event.ConnectionID = fmt.Sprint("t", i%4), "c1"
			}
			failed = errors.Join(failed, newLog(s).Append(tx, event))
		}
		return failed
	})
	for _, test := range []struct {
		what   string
		filter audit.Filter
		want   []int64
	}{
		{"all", audit.Filter{Limit: 3}, []int64{60, 59, 58}},
		{"before", audit.Filter{Before: 4}, []int64{3, 2, 1}},
		{"between", audit.Filter{Before: 9, After: 6}, []int64{8, 7}},
		{"agent", audit.Filter{AgentID: "a1", Before: 10}, []int64{8, 5, 2}},
		{"type", audit.Filter{Types: []audit.Type{audit.MessageReceived}, Before: 7}, []int64{6, 4, 2}},
		{"types", audit.Filter{Types: []audit.Type{audit.MessageReceived, audit.MessageQueued}, Before: 4}, []int64{3, 2, 1}},
		{"type and agent", audit.Filter{Types: []audit.Type{audit.MessageReceived}, AgentID: "a0", Before: 20}, []int64{16, 10, 4}},
		{"task", audit.Filter{TaskUID: "t1"}, []int64{46, 26, 6}},
		{"task, type and agent", audit.Filter{TaskUID: "t1", Types: []audit.Type{audit.MessageReceived}, AgentID: "a2"}, []int64{6}},
		{"connection", audit.Filter{ConnectionID: "c1", Before: 20}, []int64{16, 11, 6, 1}},
		{"connection and task", audit.Filter{ConnectionID: "c1", TaskUID: "t2"}, []int64{51, 31, 11}},
		{"nothing", audit.Filter{TaskUID: "t9"}, nil},
	} {
		for _, newest := range []bool{true, false} {
			test.filter.Newest = newest
			inTx(t, s, func(tx node.Tx) error {
				rows, err := s.AuditRows(tx, test.filter)
				var got []int64
				for _, row := range rows {
					got = append(got, row.Position)
				}
				want := test.want
				if !newest {
					if want = slices.Clone(want); test.filter.Limit > 0 {
						want = []int64{3, 2, 1}
					}
					slices.Reverse(want)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, newest first %v (-want +got):\n%s", test.what, newest, diff)
				}
				return err
			})
		}
	}
}

func decisionTally(t *testing.T, s *store.Store) {
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	inTx(t, s, func(tx node.Tx) error {
		if _, err := s.InsertAgent(tx, policy.Agent{
			ID: "a1", OwnerID: "o1", Handle: "scout", Mode: policy.Manual, Status: policy.Active, KeyHash: "k", KeyGeneration: 1, RulesRev: 1, RulesStamp: "s",
		}); err != nil {
			return err
		}
		var failed error
		for i, made := range []struct {
			at      time.Time
			outcome policy.Outcome
		}{
			{day.Add(-time.Microsecond), policy.Allowed}, {day, policy.Allowed}, {day.Add(24*time.Hour - time.Microsecond), policy.Allowed},
			{day.Add(time.Hour), policy.Refused}, {day.Add(49 * time.Hour), policy.Held},
		} {
			record := policy.Record{OwnerID: "o1", AgentID: "a1", At: made.at}
			record.ID, record.Outcome = fmt.Sprint("d", i), made.outcome
			failed = errors.Join(failed, s.InsertDecision(tx, record))
		}
		return failed
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.DecisionTally(tx, day.Add(3*time.Hour))
		want := []policy.Tally{
			{Day: day, Outcome: policy.Allowed, Count: 2}, {Day: day, Outcome: policy.Refused, Count: 1},
			{Day: day.Add(48 * time.Hour), Outcome: policy.Held, Count: 1},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tally (-want +got):\n%s", diff)
		}
		return err
	})
	inTx(t, s, func(tx node.Tx) error {
		for agent, want := range map[string]int{"a1": 1, "a2": 0} {
			got, err := s.DecisionsAt(tx, agent, day.Add(time.Hour))
			if err != nil {
				return err
			}
			if len(got) != want || (want == 1 && got[0].Outcome != policy.Refused) {
				t.Errorf("at one o'clock %s was answered %v", agent, got)
			}
		}
		return nil
	})
}

// ownersTasks: the owner sees every agent's tasks, narrowed by one of them, and
// those that need a look.
func ownersTasks(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	for i, change := range []func(*coordination.Task){
		func(*coordination.Task) {},
		func(task *coordination.Task) { task.Held = true },
		func(task *coordination.Task) {
			task.Status, task.Disagreement = coordination.Confirmed, coordination.DoubleRun
		},
		func(task *coordination.Task) { task.AgentID, task.OutOfStep = "other", true },
		func(task *coordination.Task) { task.InDoubt = true },
		func(task *coordination.Task) { task.ConfirmOwed = true },
		func(task *coordination.Task) { task.AgentID, task.UID = "other", "t0" },
	} {
		task := aTask(fmt.Sprint("t", i))
		task.CreatedAt = start.Add(time.Duration(i) * time.Second)
		change(&task)
		insertTask(t, s, task)
	}
	for _, test := range []struct {
		filter coordination.TaskFilter
		want   []string
	}{
		{coordination.TaskFilter{}, []string{"t0", "t5", "t4", "t3", "t2", "t1", "t0"}},
		{coordination.TaskFilter{Of: "agent"}, []string{"t5", "t4", "t2", "t1", "t0"}},
		{coordination.TaskFilter{Of: "other"}, []string{"t0", "t3"}},
		{coordination.TaskFilter{Status: coordination.Confirmed}, []string{"t2"}},
		{coordination.TaskFilter{Status: coordination.Confirmed, Of: "other"}, nil},
		{coordination.TaskFilter{ConnectionID: "c1", Status: coordination.Confirmed}, []string{"t2"}},
		{coordination.TaskFilter{Flagged: true}, []string{"t5", "t4", "t3", "t2"}},
		{coordination.TaskFilter{Flagged: true, Of: "other"}, []string{"t3"}},
	} {
		inTx(t, s, func(tx node.Tx) error {
			list, err := s.Tasks(tx, "", test.filter, coordination.Page{Limit: 10})
			var got []string
			for _, task := range list {
				got = append(got, task.UID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", test.filter, diff)
			}
			return err
		})
	}
	inTx(t, s, func(tx node.Tx) error {
		first, err := s.Task(tx, "", "t0")
		if first.AgentID != "agent" {
			t.Errorf("of two copies the owner gets %s's, want the older", first.AgentID)
		}
		return err
	})
}
