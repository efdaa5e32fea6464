package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
)

// Audit tests the audit log.
func Audit(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"rows come back":     auditRows,
		"filters":            auditFilters,
		"appended at once":   auditAtOnce,
		"pages":              auditPages,
		"rolled back":        auditRolledBack,
		"verified meanwhile": auditMeanwhile,
		"written last":       auditLast,
		"in a view":          auditInView,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func newLog(s *store.Store) *audit.Log {
	return audit.New(s, []byte("the key of the audit head, for tests"))
}

func verify(t *testing.T, s *store.Store, rows int64) {
	t.Helper()
	err := s.View(t.Context(), func(tx node.Tx) error {
		for _, deep := range []bool{false, true} {
			report, err := newLog(s).Verify(tx, deep)
			if err != nil {
				return err
			}
			if !report.OK() || report.Rows != rows {
				t.Errorf("verify gives %+v, want %d whole rows", report, rows)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func auditRows(t *testing.T, s *store.Store) {
	var want []audit.Row
	inTx(t, s, func(tx node.Tx) error {
		actor := node.Actor{Kind: node.ActorOwner, OwnerID: "o1", AgentID: "a1", Via: "uid=1000 pid=1"}
		events := []audit.Event{
			{Type: audit.GrantSet, Actor: actor, AgentID: "a1", ConnectionID: "c1", TaskUID: "t1", Subject: "g1", Data: map[string]any{"capability": "disclose.*"}},
			{Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode}},
		}
		data := []string{`{"capability":"disclose.*"}`, `{}`}
		for i, event := range events {
			if err := newLog(s).Append(tx, event); err != nil {
				return err
			}
			want = append(want, audit.Row{
				Position: int64(i + 1), At: tx.Now(), OwnerID: event.Actor.OwnerID, Type: event.Type, ActorKind: event.Actor.Kind,
				Via: event.Actor.Via, AgentID: event.AgentID, ConnectionID: event.ConnectionID, TaskUID: event.TaskUID,
				Subject: event.Subject, Data: []byte(data[i]),
			})
		}
		return nil
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.AuditRows(tx, audit.Filter{})
		for i := range got {
			got[i].DataHash, got[i].Previous, got[i].Hash = "", "", ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		return err
	})
	verify(t, s, 2)
}

func auditFilters(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		for i := range 120 {
			event := audit.Event{Type: audit.MessageQueued, Actor: node.Actor{Kind: node.ActorNode}, AgentID: fmt.Sprint("a", i%3)}
			if i%2 == 0 {
				event.Type = audit.MessageReceived
			}
			if err := newLog(s).Append(tx, event); err != nil {
				return err
			}
		}
		return nil
	})
	for _, test := range []struct {
		what   string
		filter audit.Filter
		want   []int64 // first, second and last position, and how many
	}{
		{"all", audit.Filter{}, []int64{1, 2, 100, 100}},
		{"after", audit.Filter{After: 100}, []int64{101, 102, 120, 20}},
		{"limit", audit.Filter{Limit: 3}, []int64{1, 2, 3, 3}},
		{"agent", audit.Filter{AgentID: "a1"}, []int64{2, 5, 119, 40}},
		{"type", audit.Filter{Types: []audit.Type{audit.MessageReceived}}, []int64{1, 3, 119, 60}},
		{"types", audit.Filter{Types: []audit.Type{audit.MessageReceived, audit.MessageQueued}, Limit: 10}, []int64{1, 2, 10, 10}},
		{"agent, type and after", audit.Filter{AgentID: "a0", Types: []audit.Type{audit.MessageQueued}, After: 4}, []int64{10, 16, 118, 19}},
	} {
		inTx(t, s, func(tx node.Tx) error {
			rows, err := s.AuditRows(tx, test.filter)
			if err != nil || len(rows) < 2 {
				return fmt.Errorf("%s: %d rows: %w", test.what, len(rows), err)
			}
			got := []int64{rows[0].Position, rows[1].Position, rows[len(rows)-1].Position, int64(len(rows))}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: first, second, last position and count (-want +got):\n%s", test.what, diff)
			}
			return nil
		})
	}
	inTx(t, s, func(tx node.Tx) error {
		rows, err := s.AuditRows(tx, audit.Filter{Hashes: true, Limit: 1})
		if err == nil && rows[0].Data != nil {
			t.Errorf("Hashes gives data %s", rows[0].Data)
		}
		return err
	})
}

func auditAtOnce(t *testing.T, s *store.Store) {
	const writers, each = 8, 20
	var done sync.WaitGroup
	for writer := range writers {
		done.Go(func() {
			for i := range each {
				err := s.InTx(context.Background(), func(tx node.Tx) error {
					for range 2 {
						event := audit.Event{Type: audit.TaskProposed, Actor: node.Actor{Kind: node.ActorAgent}, Data: map[string]any{"writer": writer}}
						if err := newLog(s).Append(tx, event); err != nil {
							return err
						}
					}
					if i%5 == 0 {
						return errUndone
					}
					return nil
				})
				if err != nil && !errors.Is(err, errUndone) {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	verify(t, s, writers*each*2*4/5)
}

var errUndone = errors.New("undone")

func auditPages(t *testing.T, s *store.Store) {
	const rows = 2001 // Verify reads pages of 1000
	inTx(t, s, func(tx node.Tx) error {
		for range rows {
			if err := newLog(s).Append(tx, audit.Event{Type: audit.TaskProposed, Actor: node.Actor{Kind: node.ActorAgent}}); err != nil {
				return err
			}
		}
		return nil
	})
	verify(t, s, rows)
}

func auditRolledBack(t *testing.T, s *store.Store) {
	event := audit.Event{Type: audit.TaskProposed, Actor: node.Actor{Kind: node.ActorAgent}}
	_ = s.InTx(t.Context(), func(tx node.Tx) error {
		err := newLog(s).Append(tx, event)
		return errors.Join(err, errUndone)
	})
	inTx(t, s, func(tx node.Tx) error {
		position, err := newLog(s).AppendPlaced(tx, event)
		if position != 1 {
			t.Errorf("the first row is at %d, want 1: positions have no gaps", position)
		}
		return err
	})
	inTx(t, s, func(tx node.Tx) error {
		head, err := s.AuditHead(tx)
		if head.Position != 1 || head.Hash == audit.GenesisHash || head.MAC == "" {
			t.Errorf("the head is %+v", head)
		}
		return err
	})
}

// auditMeanwhile: a log that grows is whole at each moment.
func auditMeanwhile(t *testing.T, s *store.Store) {
	if !concurrent(t, s) {
		return
	}
	var done sync.WaitGroup
	done.Go(func() {
		for range 100 {
			err := s.InTx(context.Background(), func(tx node.Tx) error {
				return newLog(s).Append(tx, audit.Event{Type: audit.TaskProposed, Actor: node.Actor{Kind: node.ActorAgent}})
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		err := s.View(t.Context(), func(tx node.Tx) error {
			report, err := newLog(s).Verify(tx, false)
			if !report.OK() {
				t.Errorf("verify gives %+v", report)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	done.Wait()
	verify(t, s, 100)
}

// auditLast: rows get their places at the end, in the order in which they were
// appended; one whose place was told early gets that one.
func auditLast(t *testing.T, s *store.Store) {
	event := func(subject string) audit.Event {
		return audit.Event{Type: audit.TaskProposed, Actor: node.Actor{Kind: node.ActorAgent}, Subject: subject}
	}
	told := map[string]int64{}
	for turn := range 3 {
		inTx(t, s, func(tx node.Tx) error {
			name := func(n int) string { return fmt.Sprint(turn, " ", n) }
			err := newLog(s).Append(tx, event(name(0)))
			placed, err2 := newLog(s).AppendPlaced(tx, event(name(1)))
			told[name(1)] = placed
			err3 := newLog(s).Append(tx, event(name(2)))
			rows, err4 := s.AuditRows(tx, audit.Filter{})
			if len(rows) != 3*turn {
				t.Errorf("%d rows before the end of transaction %d", len(rows), turn)
			}
			return errors.Join(err, err2, err3, err4)
		})
	}
	inTx(t, s, func(tx node.Tx) error {
		rows, err := s.AuditRows(tx, audit.Filter{})
		for i, row := range rows {
			if want := fmt.Sprint(i/3, " ", i%3); row.Subject != want {
				t.Errorf("row %d is %q, want %q", row.Position, row.Subject, want)
			}
			if position, ok := told[row.Subject]; ok && position != row.Position {
				t.Errorf("%q was told position %d, and has %d", row.Subject, position, row.Position)
			}
		}
		return err
	})
	verify(t, s, 9)
}

func auditInView(t *testing.T, s *store.Store) {
	err := s.View(t.Context(), func(tx node.Tx) error {
		return newLog(s).Append(tx, audit.Event{Type: audit.TaskProposed, Actor: node.Actor{Kind: node.ActorAgent}})
	})
	wantCode(t, err, node.Internal)
	verify(t, s, 0)
}
