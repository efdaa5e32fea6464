package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// narrow is a log that is listed by types too, as the store lists it.
type narrow struct{ *shelf }

func (n narrow) AuditRows(tx node.Tx, filter audit.Filter) ([]audit.Row, error) {
	if filter.Types == nil {
		return n.shelf.AuditRows(tx, filter)
	}
	var rows []audit.Row
	for _, row := range n.rows {
		if slices.Contains(filter.Types, row.Type) {
			rows = append(rows, row)
		}
	}
	return rows, n.failing
}

// grow adds rows at a time.
func grow(t *testing.T, s *shelf, at node.Tx, events ...audit.Event) {
	t.Helper()
	for _, e := range events {
		if err := errors.Join(audit.New(s, key).Append(at, e), s.end()); err != nil {
			t.Fatal(err)
		}
	}
}

// numbered are events that differ.
func numbered(from, to int) (events []audit.Event) {
	for i := from; i < to; i++ {
		e := event
		e.Subject = fmt.Sprint("s", i)
		events = append(events, e)
	}
	return events
}

func restored(rows int64) audit.Event {
	return audit.Event{Type: audit.NodeRestored, Actor: node.Actor{Kind: node.ActorOwner}, Data: map[string]any{
		"auditRows": rows, "backupFrom": now.now.Add(-time.Hour).Format(time.RFC3339),
	}}
}

func later(span time.Duration) moment { return moment{now: now.now.Add(span)} }

// TestCompare: a log of ten rows was shown after five and after ten of them. What
// becomes of it then is found, and named.
func TestCompare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(t *testing.T, s *shelf, kept []audit.Kept)
		verdict audit.Verdict
		agrees  int64 // 0 for none
		differs int64
	}{
		"the same": {func(*testing.T, *shelf, []audit.Kept) {}, audit.Agrees, 10, 0},
		"gone on":  {func(t *testing.T, s *shelf, _ []audit.Kept) { grow(t, s, later(time.Second), event, event) }, audit.Agrees, 10, 0},
		"written anew": {func(t *testing.T, s *shelf, _ []audit.Kept) {
			*s = *newShelf()
			grow(t, s, later(time.Second), numbered(1, 20)...)
		}, audit.Differs, 0, 5},
		"anew from row 8": {func(t *testing.T, s *shelf, _ []audit.Kept) {
			setBack(s, 7)
			grow(t, s, later(time.Second), numbered(30, 40)...)
		}, audit.Differs, 5, 10},
		"anew, the very same rows at another time": {func(t *testing.T, s *shelf, _ []audit.Kept) {
			*s = *newShelf()
			grow(t, s, later(time.Second), numbered(0, 10)...)
		}, audit.Differs, 0, 5},
		"cut":            {func(_ *testing.T, s *shelf, _ []audit.Kept) { setBack(s, 9) }, audit.Fewer, 5, 10},
		"cut to nothing": {func(_ *testing.T, s *shelf, _ []audit.Kept) { *s = *newShelf() }, audit.Fewer, 0, 5},
		"restored": {func(t *testing.T, s *shelf, _ []audit.Kept) {
			setBack(s, 7)
			grow(t, s, later(time.Minute), restored(7))
		}, audit.Restored, 5, 10},
		"restored, and gone on": {func(t *testing.T, s *shelf, _ []audit.Kept) {
			setBack(s, 7)
			grow(t, s, later(time.Minute), append([]audit.Event{restored(7)}, numbered(30, 40)...)...)
		}, audit.Restored, 5, 10},
		"a restore from before it explains nothing that the backup had": {func(t *testing.T, s *shelf, _ []audit.Kept) {
			setBack(s, 7)
			grow(t, s, later(time.Minute), restored(10))
		}, audit.Fewer, 5, 10},
		"a restore that came before it was shown explains nothing": {func(t *testing.T, s *shelf, _ []audit.Kept) {
			setBack(s, 7)
			grow(t, s, later(-time.Minute), restored(7))
		}, audit.Fewer, 5, 10},
		"not sealed by us":       {func(_ *testing.T, _ *shelf, kept []audit.Kept) { kept[1].Sealed = strings.Repeat("A", 140) }, audit.NotOurs, 5, 0},
		"no base64":              {func(_ *testing.T, _ *shelf, kept []audit.Kept) { kept[1].Sealed = "<script>" }, audit.NotOurs, 5, 0},
		"empty":                  {func(_ *testing.T, _ *shelf, kept []audit.Kept) { kept[1].Sealed = "" }, audit.NotOurs, 5, 0},
		"shown somewhere else":   {func(_ *testing.T, _ *shelf, kept []audit.Kept) { kept[1].Place = "c1#1" }, audit.NotOurs, 5, 0},
		"what another was shown": {func(_ *testing.T, _ *shelf, kept []audit.Kept) { kept[1].Sealed = kept[0].Sealed }, audit.NotOurs, 5, 0},
		"one character":          {func(_ *testing.T, _ *shelf, kept []audit.Kept) { kept[1].Sealed = changed(kept[1].Sealed) }, audit.NotOurs, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf()
			log := audit.New(narrow{s}, key)
			grow(t, s, now, numbered(0, 5)...)
			kept := []audit.Kept{show(t, log, "c1#1")}
			grow(t, s, now, numbered(5, 10)...)
			kept = append(kept, show(t, log, "c1#2"))
			test.change(t, s, kept)
			if report, err := log.Verify(now, true); err != nil || !report.OK() {
				t.Fatalf("the log is to be whole by itself: %+v, %v", report, err)
			}
			got, err := log.Compare(now, kept)
			if err != nil || got.Verdict != test.verdict || got.Heads != 2 || position(got.AgreesTo) != test.agrees || position(got.DiffersFrom) != test.differs {
				t.Errorf("%+v (agrees to %d, differs from %d), %v", got, position(got.AgreesTo), position(got.DiffersFrom), err)
			}
			if (got.Restore != nil) != (test.verdict == audit.Restored) {
				t.Errorf("the restore is %+v", got.Restore)
			}
		})
	}
}

// setBack leaves the first rows, with a head that its own key has signed.
func setBack(s *shelf, rows int) {
	first := s.rows[:rows-1]
	last := s.rows[rows-1]
	whole := &shelf{head: audit.Head{Position: int64(rows - 1), Hash: last.Previous}, rows: slices.Clone(first)}
	e := audit.Event{Type: last.Type, Actor: node.Actor{Kind: last.ActorKind, OwnerID: last.OwnerID, Via: last.Via}, AgentID: last.AgentID,
		ConnectionID: last.ConnectionID, TaskUID: last.TaskUID, Subject: last.Subject, Data: dataOf(last)}
	if err := errors.Join(audit.New(whole, key).Append(moment{now: last.At}, e), whole.end()); err != nil {
		panic(err)
	}
	*s = *whole
}

func dataOf(row audit.Row) (data map[string]any) {
	if err := json.Unmarshal(row.Data, &data); err != nil {
		panic(err)
	}
	return data
}

func changed(text string) string {
	other := "A"
	if text[20:21] == other {
		other = "B"
	}
	return text[:20] + other + text[21:]
}

func show(t *testing.T, log *audit.Log, place string) audit.Kept {
	t.Helper()
	sealed, err := log.Show(now, place)
	if err != nil {
		t.Fatal(err)
	}
	return audit.Kept{Place: place, Sealed: sealed}
}

func position(shown *audit.Shown) int64 {
	if shown == nil {
		return 0
	}
	return shown.Position
}

// TestShownTellsNothing: what a peer keeps has always the same length, never comes
// twice, and another node or another master key does not open it.
func TestShownTellsNothing(t *testing.T) {
	t.Parallel()
	s := newShelf()
	log := audit.New(narrow{s}, key)
	first := show(t, log, "c1#1")
	seen := map[string]bool{first.Sealed: true}
	for range 300 {
		grow(t, s, now, event)
		kept := show(t, log, "c1#1")
		if len(kept.Sealed) != len(first.Sealed) || seen[kept.Sealed] || strings.Contains(kept.Sealed, s.head.Hash[:8]) {
			t.Fatalf("%q after %q", kept.Sealed, first.Sealed)
		}
		seen[kept.Sealed] = true
	}
	if again := show(t, log, "c1#1"); seen[again.Sealed] {
		t.Error("the same head is sealed alike twice, so that a peer can tell that nothing happened")
	}
	for name, other := range map[string]*audit.Log{"another key": audit.New(narrow{s}, []byte("another key")), "no key": audit.New(narrow{s}, nil)} {
		if got, err := other.Compare(now, []audit.Kept{first}); err != nil || got.Verdict != audit.NotOurs {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := log.Compare(now, []audit.Kept{first}); err != nil || got.Verdict != audit.Agrees {
		t.Errorf("the head of an empty log: %+v, %v", got, err)
	}
	if got, err := log.Compare(now, nil); err != nil || got.Verdict != audit.Nothing {
		t.Errorf("no head: %+v, %v", got, err)
	}
}

// TestCompareCannotRead: a database that fails is no verdict. A row about a
// restore that does not open explains nothing.
func TestCompareCannotRead(t *testing.T) {
	t.Parallel()
	s := logged(t, numbered(0, 4)...)
	log := audit.New(narrow{s}, key)
	kept := show(t, log, "c1#1")
	s.failing = node.Errorf(node.Unavailable, "no database")
	if got, err := log.Compare(now, []audit.Kept{kept}); node.CodeOf(err) != node.Unavailable {
		t.Errorf("compare gives %+v, %v", got, err)
	}
	if got, err := log.Show(now, "c1#2"); node.CodeOf(err) != node.Unavailable || got != "" {
		t.Errorf("show gives %q, %v", got, err)
	}
	s.failing = nil
	unopened := &sealedShelf{shelf: s, err: &node.Error{Code: node.Internal, Err: &audit.UnopenedError{Position: 1, Err: errors.New("no")}}}
	if _, err := audit.New(unopened, key).Compare(now, nil); err != nil {
		t.Errorf("compare gives %v", err)
	}
}

// TestWitnessedIsBad: which verdicts make a comparison one to look at.
func TestWitnessedIsBad(t *testing.T) {
	t.Parallel()
	for verdict, ok := range map[audit.Verdict]bool{
		audit.Agrees: true, audit.Nothing: true, audit.Unreachable: true, audit.Refused: true, audit.TooOld: true,
		audit.Restored: false, audit.NotOurs: false, audit.Fewer: false, audit.Differs: false,
	} {
		said := audit.Witnessed{Contacts: []audit.WitnessedBy{{Comparison: audit.Comparison{Verdict: audit.Agrees}}, {Comparison: audit.Comparison{Verdict: verdict}}}}
		if said.OK() != ok {
			t.Errorf("%s: OK is %v", verdict, said.OK())
		}
	}
	if (audit.Witnessed{Log: audit.Report{Problem: "row 2 was changed"}}).OK() || !(audit.Witnessed{}).OK() {
		t.Error("the log's own report does not count")
	}
}
