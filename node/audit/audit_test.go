package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
)

// shelf is a log in memory that a test can change at will.
type shelf struct {
	rows    []audit.Row
	head    audit.Head
	failing error
	kept    []audit.Row // by a transaction that has not ended
	write   func([]audit.Row) error
}

func newShelf() *shelf { return &shelf{head: audit.Head{Hash: audit.GenesisHash}} }

func (s *shelf) LockHead(node.Tx) (audit.Head, error)  { return s.head, s.failing }
func (s *shelf) AuditHead(node.Tx) (audit.Head, error) { return s.head, s.failing }

func (s *shelf) KeepAudit(_ node.Tx, row audit.Row, write func([]audit.Row) error) (int64, error) {
	s.kept, s.write = append(s.kept, row), write
	return int64(len(s.kept)), nil
}

// end is the end of a transaction.
func (s *shelf) end() error {
	kept := s.kept
	s.kept = nil
	if len(kept) == 0 {
		return nil
	}
	return s.write(kept)
}

func (s *shelf) AppendAudit(_ node.Tx, rows []audit.Row, head audit.Head) error {
	s.rows, s.head = append(s.rows, rows...), head
	return nil
}

func (s *shelf) AuditRows(_ node.Tx, filter audit.Filter) (rows []audit.Row, err error) {
	for _, row := range s.rows {
		if row.Position > filter.After && (filter.Before == 0 || row.Position < filter.Before) && len(rows) < filter.Limit {
			rows = append(rows, row)
		}
	}
	return rows, s.failing
}

// moment is a transaction at a fixed time.
type moment struct {
	node.Tx
	now time.Time
}

func (m moment) Now() time.Time { return m.now }

var (
	key = []byte("the key of the audit head")
	now = moment{now: time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)}
)

// logged is a log of these events, two in each transaction.
func logged(t *testing.T, events ...audit.Event) *shelf {
	t.Helper()
	s := newShelf()
	for pair := range slices.Chunk(events, 2) {
		for _, event := range pair {
			if err := audit.New(s, key).Append(now, event); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var event = audit.Event{
	Type:    audit.ConnectionAccepted,
	Actor:   node.Actor{Kind: node.ActorOwner, OwnerID: "o1", AgentID: "acted upon", Via: "uid=1000 pid=4711"},
	AgentID: "a1", ConnectionID: "c1", TaskUID: "t1", Subject: "s1",
	Data: map[string]any{"b": 1, "a": []string{"ä", "<&>"}},
}

// TestRow fixes how a row is built and hashed. Logs that exist depend on it.
func TestRow(t *testing.T) {
	t.Parallel()
	got := logged(t, event, audit.Event{Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode}})
	first := audit.Row{
		Position: 1, At: now.now, OwnerID: "o1", Type: audit.ConnectionAccepted, ActorKind: node.ActorOwner, Via: "uid=1000 pid=4711",
		AgentID: "a1", ConnectionID: "c1", TaskUID: "t1", Subject: "s1", Data: []byte(`{"a":["ä","<&>"],"b":1}`),
		DataHash: "099a4b3e9c401502af72ffde27310a5ff8396b3b88397817133b7d65ef33ec14", Previous: audit.GenesisHash,
		Hash: "79785e612ef13aabb1153834b1bf2b1fc69c3c0ea61c49bd3d3769df7ea035ca",
	}
	second := audit.Row{
		Position: 2, At: now.now, Type: audit.NodeStarted, ActorKind: node.ActorNode, Data: []byte(`{}`),
		DataHash: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", Previous: first.Hash,
		Hash: "b2aeb8eb7b3539992ef34d14d436bb42b66496171ad229242ed38ccda8dd2c58",
	}
	if diff := cmp.Diff([]audit.Row{first, second}, got.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	head := audit.Head{Position: 2, Hash: second.Hash, MAC: "b7c1ddf73abb14a550b67aafe20004ce6b9ceb6f7fb7ba47517c0ae8807f5af4"}
	if diff := cmp.Diff(head, got.head); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
}

// TestVerify: each column, the order and the head are covered.
func TestVerify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*shelf)
		want   string // begins the problem; "" for none
	}{
		"whole":             {func(*shelf) {}, ""},
		"at":                {func(s *shelf) { s.rows[1].At = s.rows[1].At.Add(time.Microsecond) }, "row 2 was changed"},
		"owner":             {func(s *shelf) { s.rows[1].OwnerID = "o2" }, "row 2 was changed"},
		"type":              {func(s *shelf) { s.rows[1].Type = audit.ConnectionRejected }, "row 2 was changed"},
		"actor":             {func(s *shelf) { s.rows[1].ActorKind = node.ActorAgent }, "row 2 was changed"},
		"via":               {func(s *shelf) { s.rows[1].Via = "" }, "row 2 was changed"},
		"agent":             {func(s *shelf) { s.rows[1].AgentID = "a2" }, "row 2 was changed"},
		"connection":        {func(s *shelf) { s.rows[1].ConnectionID = "c2" }, "row 2 was changed"},
		"task":              {func(s *shelf) { s.rows[1].TaskUID = "t2" }, "row 2 was changed"},
		"subject":           {func(s *shelf) { s.rows[1].Subject = "s2" }, "row 2 was changed"},
		"two columns":       {func(s *shelf) { s.rows[1].AgentID, s.rows[1].ConnectionID = "", "a1c1" }, "row 2 was changed"},
		"data hash":         {func(s *shelf) { s.rows[1].DataHash = s.rows[0].Hash }, "row 2 was changed"},
		"data":              {func(s *shelf) { s.rows[1].Data = []byte(`{}`) }, "the data of row 2 was changed"},
		"previous":          {func(s *shelf) { s.rows[1].Previous = audit.GenesisHash }, "row 2 does not follow row 1"},
		"hash":              {func(s *shelf) { s.rows[1].Hash = s.rows[0].Hash }, "row 2 was changed"},
		"first gone":        {func(s *shelf) { s.rows = s.rows[1:] }, "row 1 is missing"},
		"one gone":          {func(s *shelf) { s.rows = slices.Delete(s.rows, 1, 2) }, "row 2 is missing"},
		"last gone":         {func(s *shelf) { s.rows = s.rows[:2] }, "the log ends at row 2, the head says 3"},
		"all gone":          {func(s *shelf) { s.rows = nil }, "the log ends at row 0, the head says 3"},
		"one more":          {func(s *shelf) { logMore(s, []byte("another key")) }, "the head was not written by this node"},
		"head's hash":       {func(s *shelf) { s.head.Hash = s.rows[1].Hash }, "the head was not written by this node"},
		"head's position":   {func(s *shelf) { s.head.Position = 2 }, "the head was not written by this node"},
		"head's MAC":        {func(s *shelf) { s.head.MAC = "" }, "the head was not written by this node"},
		"head put to empty": {func(s *shelf) { s.head = audit.Head{Hash: audit.GenesisHash} }, "the log ends at row 3, the head says 0"},
		"head gone":         {func(s *shelf) { s.failing = node.Errorf(node.NotFound, "nothing") }, "the head is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := logged(t, event, event, event)
			test.change(s)
			report, err := audit.New(s, key).Verify(now, true)
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() != (test.want == "") || !strings.HasPrefix(report.Problem, test.want) {
				t.Errorf("the problem is %q, want %q", report.Problem, test.want)
			}
			if report.OK() && (report.Rows != 3 || report.Head != s.head.Hash) {
				t.Errorf("the report is %+v", report)
			}
		})
	}
}

func logMore(s *shelf, key []byte) {
	_ = errors.Join(audit.New(s, key).Append(now, event), s.end())
}

// TestVerifyCannotRead: a database that fails is no report about the log, and
// sealed data that does not open is one.
func TestVerifyCannotRead(t *testing.T) {
	t.Parallel()
	s := logged(t, event)
	s.failing = node.Errorf(node.Unavailable, "no database")
	if report, err := audit.New(s, key).Verify(now, true); node.CodeOf(err) != node.Unavailable {
		t.Errorf("verify gives %+v, %v", report, err)
	}
	cause := errors.New("does not open")
	sealed := &sealedShelf{shelf: logged(t, event), err: &node.Error{Code: node.Internal, Err: &audit.UnopenedError{Position: 1, Err: cause}}}
	report, err := audit.New(sealed, key).Verify(now, true)
	if err != nil || report.Problem != "the data of row 1 does not open" {
		t.Errorf("verify gives %+v, %v", report, err)
	}
	if !errors.Is(sealed.err, cause) {
		t.Error("the cause is lost")
	}
}

// sealedShelf is a log whose data does not open.
type sealedShelf struct {
	*shelf
	err error
}

func (s *sealedShelf) AuditRows(node.Tx, audit.Filter) ([]audit.Row, error) { return nil, s.err }

// TestVerifyPages: pages meet without a gap.
func TestVerifyPages(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 1, 999, 1000, 1001, 2000, 2001} {
		events := make([]audit.Event, rows)
		for i := range events {
			events[i] = audit.Event{Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode}}
		}
		report, err := audit.New(logged(t, events...), key).Verify(now, false)
		if err != nil || !report.OK() || report.Rows != int64(rows) {
			t.Errorf("%d rows: %+v, %v", rows, report, err)
		}
	}
}

// TestAppendFails: without a place in the log nothing is appended.
func TestAppendFails(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.failing = node.Errorf(node.Unavailable, "no database")
	if err := errors.Join(audit.New(s, key).Append(now, event), s.end()); node.CodeOf(err) != node.Unavailable {
		t.Errorf("append gives %v", err)
	}
	if _, err := audit.New(s, key).AppendPlaced(now, event); node.CodeOf(err) != node.Unavailable {
		t.Errorf("an append with a place gives %v", err)
	}
	s.failing, s.kept = nil, nil
	odd := event
	odd.Data = map[string]any{"f": func() {}}
	if err := audit.New(s, key).Append(now, odd); node.CodeOf(err) != node.Internal || len(s.kept)+len(s.rows) != 0 {
		t.Errorf("append of what is no JSON gives %v; %d rows", err, len(s.kept)+len(s.rows))
	}
}

// TestAppendPlaced: a position that is told early is the one that the row gets.
func TestAppendPlaced(t *testing.T) {
	t.Parallel()
	s := logged(t, event, event)
	log := audit.New(s, key)
	var told []int64
	for _, placed := range []bool{false, true, true, false} {
		if !placed {
			if err := log.Append(now, event); err != nil {
				t.Fatal(err)
			}
			continue
		}
		receipt := event
		receipt.Subject = fmt.Sprint("told ", len(told))
		position, err := log.AppendPlaced(now, receipt)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, position)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, row := range s.rows {
		if strings.HasPrefix(row.Subject, "told ") {
			got = append(got, row.Position)
		}
	}
	if !slices.Equal(told, got) || !slices.Equal(told, []int64{4, 5}) {
		t.Errorf("told %v, got %v, want 4 and 5", told, got)
	}
}

// TestFeed: what agents see are known types, each once, and none about the
// owner or the node.
func TestFeed(t *testing.T) {
	t.Parallel()
	seen := map[audit.Type]bool{}
	for _, kind := range audit.Feed {
		if seen[kind] {
			t.Errorf("%s stands in the feed twice", kind)
		}
		seen[kind] = true
		for _, private := range []string{"owner.", "node.", "policy.", "invitation."} {
			if strings.HasPrefix(string(kind), private) {
				t.Errorf("agents see %s", kind)
			}
		}
	}
}
