package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/store"
)

// Coordination is what both databases do for connections, messages and tasks.
func Coordination(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"Connections": connections, "OneLiveConnection": oneLiveConnection, "Invitations": invitations, "Lookups": lookups,
		"Messages": messages, "MessageIDsOfPeers": messageIDsOfPeers, "TaskMessages": taskMessages, "Chat": chat,
		"Tasks": tasks, "TaskPages": taskPages, "TaskGuards": taskGuards, "Overdue": overdue, "Acks": acks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

var start = time.Date(2026, 12, 1, 10, 0, 0, 123456000, time.UTC)

func aConnection(id string) coordination.Connection {
	return coordination.Connection{
		ID: id, OwnerID: "owner", AgentID: "agent", Contact: id + "@ben.test", Status: coordination.ConnActive,
		Peer:      coordination.Peer{Fingerprint: "f", PublicKey: []byte{1, 2}, Recipient: "age1x", Inbox: "https://ben.test/", Version: 1},
		Initiated: true, RequestID: "r", Note: "hello", Secret: "secret", Rev: 1, CreatedAt: start, UpdatedAt: start,
	}
}

func insertConnection(t *testing.T, s *store.Store, c coordination.Connection) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error { return s.InsertConnection(tx, c) })
}

func connections(t *testing.T, s *store.Store) {
	c := aConnection("c1")
	insertConnection(t, s, c)
	inTx(t, s, func(tx node.Tx) error {
		locked, err := s.LockConnection(tx, "c1")
		if err != nil {
			return err
		}
		c.Rev = 2
		if diff := cmp.Diff(c, locked); diff != "" {
			t.Errorf("what was stored (-want +got):\n%s", diff)
		}
		c.Status, c.Note, c.KeyChanged, c.Sent, c.Secret = coordination.ConnRevoked, "bye", true, true, ""
		return s.SaveConnection(tx, c, coordination.ConnActive)
	})
	inTx(t, s, func(tx node.Tx) error {
		if err := s.SaveConnection(tx, c, coordination.ConnActive); node.CodeOf(err) != node.Conflict {
			t.Errorf("saved from a status that is gone: %v", err)
		}
		if _, err := s.Connection(tx, "none"); node.CodeOf(err) != node.NotFound {
			t.Errorf("%v, want not_found", err)
		}
		list, err := s.ConnectionsWith(tx, "agent", c.Contact)
		if diff := cmp.Diff([]coordination.Connection{c}, list); diff != "" {
			t.Errorf("by contact (-want +got):\n%s", diff)
		}
		return err
	})
}

func oneLiveConnection(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	second := aConnection("c2")
	second.Contact = "c1@ben.test"
	err := s.InTx(context.Background(), func(tx node.Tx) error { return s.InsertConnection(tx, second) })
	if node.CodeOf(err) != node.Conflict {
		t.Errorf("a second active connection: %v, want conflict", err)
	}
	second.Status = coordination.ConnRevoked
	insertConnection(t, s, second)
	third := aConnection("c3")
	third.Status, third.Initiated = coordination.PendingIncoming, false
	insertConnection(t, s, third)
	inTx(t, s, func(tx node.Tx) error {
		waiting, err := s.IncomingConnections(tx, coordination.Page{Limit: 10})
		if len(waiting) != 1 || waiting[0].ID != "c3" {
			t.Errorf("%d requests wait for the owner, want 1", len(waiting))
		}
		if err != nil {
			return err
		}
		count, err := s.CountIncoming(tx)
		if count != 1 {
			t.Errorf("%d requests are counted, want 1", count)
		}
		return err
	})
}

func invitations(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		for id, expires := range map[string]time.Time{"good": tx.Now().Add(time.Hour), "over": tx.Now()} {
			i := coordination.Invitation{ID: id, OwnerID: "owner", AgentID: "agent", SecretHash: "hash-" + id, ExpiresAt: expires, CreatedAt: start}
			if err := s.InsertInvitation(tx, i); err != nil {
				return err
			}
		}
		return nil
	})
	for _, try := range []struct {
		agent, hash string
		want        bool
	}{{"other", "hash-good", false}, {"agent", "hash-over", false}, {"agent", "none", false}, {"agent", "hash-good", true}, {"agent", "hash-good", false}} {
		inTx(t, s, func(tx node.Tx) error {
			used, err := s.UseInvitation(tx, try.agent, try.hash)
			if used != try.want {
				t.Errorf("%+v: used %v", try, used)
			}
			return err
		})
	}
}

func lookups(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		for i := range 3 {
			if err := s.RecordLookup(tx, "agent", fmt.Sprintf("host%d.test", i%2)); err != nil {
				return err
			}
		}
		count, err := s.CountLookups(tx, "agent", "host0.test", tx.Now().Add(-time.Hour))
		if count != 1 {
			t.Errorf("%d other hosts, want 1: a host counts once", count)
		}
		return err
	})
}

func aMessage(id string) coordination.Message {
	return coordination.Message{
		ID: id, OwnerID: "owner", AgentID: "agent", ConnectionID: "c1", TaskUID: "t1", Direction: coordination.Out,
		Type: wire.TaskPropose, Author: "agent", Status: coordination.MsgQueued, Content: []byte(`{"version":1}`),
		Needs: []string{"task.propose", "disclose.notes"}, CreatedAt: start, ExpiresAt: start.Add(time.Hour),
	}
}

func insertMessages(t *testing.T, s *store.Store, list ...coordination.Message) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		for _, m := range list {
			if err := s.InsertMessage(tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

func messages(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	m := aMessage("m1")
	insertMessages(t, s, m)
	m.Status, m.Code, m.Seq, m.Ack, m.Position, m.Void, m.VoidReason = coordination.MsgDelivered, "x", 3, 2, 4, true, "y"
	m.Envelope, m.Sha256, m.DecidedRev, m.Tries = []byte("bytes"), "s", 7, 2
	m.AttemptedAt, m.SettledAt = start.Add(time.Second), start.Add(2*time.Second)
	inTx(t, s, func(tx node.Tx) error {
		if err := s.SaveMessage(tx, m, coordination.MsgPendingApproval); node.CodeOf(err) != node.Conflict {
			t.Errorf("saved from another status: %v", err)
		}
		if err := s.SaveMessage(tx, m, coordination.MsgQueued); err != nil {
			return err
		}
		got, err := s.Message(tx, "agent", "m1")
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("what was saved (-want +got):\n%s", diff)
		}
		if _, err := s.Message(tx, "other", "m1"); node.CodeOf(err) != node.NotFound {
			t.Errorf("of another agent: %v", err)
		}
		return err
	})
}

// A peer chooses the ids of its messages: one like ours takes nothing away.
func messageIDsOfPeers(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	theirs := aMessage("same")
	theirs.Direction, theirs.Status = coordination.In, coordination.MsgReceived
	insertMessages(t, s, aMessage("same"), theirs)
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.Message(tx, "agent", "same")
		if got.Direction != coordination.Out {
			t.Error("the id gives the peer's message")
		}
		return err
	})
}

func taskMessages(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	var list []coordination.Message
	for i, id := range []string{"late", "early", "never"} {
		m := aMessage(id)
		m.Position, m.Seq = []int64{2, 1, 0}[i], []int64{2, 1, 0}[i]
		list = append(list, m)
	}
	void := aMessage("void")
	void.Type, void.Seq, void.Replaces = wire.TaskVoid, 2, "late"
	insertTask(t, s, aTask("t1"))
	insertConnection(t, s, aConnection("c2"))
	alien := aMessage("alien") // of another contact, that names the same task
	alien.ConnectionID, alien.Type, alien.Seq, alien.CreatedAt = "c2", wire.TaskVoid, 2, start.Add(-time.Hour)
	insertMessages(t, s, append(list, void, alien)...)
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.TaskMessages(tx, "agent", "t1")
		if err != nil {
			return err
		}
		if len(got) != 2 || got[0].ID != "early" || got[1].ID != "late" {
			t.Errorf("in order of their positions: %v", got)
		}
		numbered, err := s.NumberedMessage(tx, "agent", "t1", coordination.Out, 2)
		if numbered.ID != "void" {
			t.Errorf("number 2 is %q, want the task.void that took it", numbered.ID)
		}
		if _, err := s.NumberedMessage(tx, "agent", "t1", coordination.Out, 0); node.CodeOf(err) != node.NotFound {
			t.Errorf("number 0: %v", err)
		}
		if stuck, err := s.CountUndelivered(tx, tx.Now(), 10); stuck != 0 || err != nil {
			t.Errorf("%d undelivered, want none: nothing was tried (%v)", stuck, err)
		}
		queued, err2 := s.QueuedMessages(tx, "agent", "c1")
		if len(queued) != 4 {
			t.Errorf("%d queued, want 4", len(queued))
		}
		if err == nil {
			err = err2
		}
		return err
	})
}

func chat(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	for i := range 5 {
		m := aMessage(fmt.Sprintf("m%d", i))
		m.Type, m.TaskUID, m.CreatedAt = wire.Message, "", start.Add(time.Duration(i/2)*time.Second)
		insertMessages(t, s, m)
	}
	insertMessages(t, s, aMessage("a task message"))
	var ids []string
	inTx(t, s, func(tx node.Tx) error {
		page := coordination.Page{Limit: 2}
		for {
			list, err := s.Chat(tx, "agent", "c1", page)
			if err != nil || len(list) == 0 {
				return err
			}
			for _, m := range list {
				ids = append(ids, m.ID)
			}
			last := list[len(list)-1]
			page.BeforeAt, page.BeforeID = last.CreatedAt, last.ID
		}
	})
	if diff := cmp.Diff([]string{"m4", "m3", "m2", "m1", "m0"}, ids); diff != "" {
		t.Errorf("page by page, newest first:\n%s", diff)
	}
}

func aTask(uid string) coordination.Task {
	return coordination.Task{
		UID: uid, OwnerID: "owner", AgentID: "agent", ConnectionID: "c1", Contact: "c1@ben.test", Role: coordination.Initiator,
		Type: "dinner.coordination", Status: coordination.Negotiating, Deadline: start.Add(time.Hour), Rev: 1,
		Copy: coordination.Copy{Title: "Dinner", Status: coordination.Negotiating, Proposals: []coordination.Proposal{
			{Version: 1, Author: coordination.Initiator, Fields: []byte(`{"date":"2027-01-15"}`), Digest: "d", Status: coordination.ProposalPending, At: start},
		}},
		CreatedAt: start, UpdatedAt: start,
	}
}

func insertTask(t *testing.T, s *store.Store, task coordination.Task) (fresh bool) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) (err error) {
		fresh, err = s.InsertTask(tx, task)
		return err
	})
	return fresh
}

func tasks(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	task := aTask("t1")
	if !insertTask(t, s, task) || insertTask(t, s, task) {
		t.Error("a uid is taken once")
	}
	other := aTask("t1")
	other.AgentID = "other"
	if !insertTask(t, s, other) {
		t.Error("copies are keyed by agent and uid: another agent of this node has its own")
	}
	inTx(t, s, func(tx node.Tx) error {
		locked, err := s.LockTask(tx, "agent", "t1")
		if err != nil {
			return err
		}
		task.Rev = 2
		if diff := cmp.Diff(task, locked, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what was stored (-want +got):\n%s", diff)
		}
		task.Status, task.OutSeq, task.InSeq, task.Positions = coordination.Agreed, 3, 2, 5
		task.OutOfStep, task.InDoubt, task.ConfirmOwed, task.RunID = true, true, true, "run"
		task.Disagreement, task.ExecutedAt = coordination.DoubleRun, start.Add(time.Minute)
		task.Executed = &coordination.Confirmation{By: coordination.Initiator, Action: "a", Code: "AL-1", ExecutedAt: start}
		if err := s.SaveTask(tx, task, coordination.Negotiating); err != nil {
			return err
		}
		got, err := s.Task(tx, "agent", "t1")
		if diff := cmp.Diff(task, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what was saved (-want +got):\n%s", diff)
		}
		owed, err2 := s.OwedTasks(tx, 10)
		if len(owed) != 1 {
			t.Errorf("%d owed confirmations, want 1", len(owed))
		}
		if err == nil {
			err = err2
		}
		return err
	})
}

func taskPages(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	for i := range 4 {
		task := aTask(fmt.Sprintf("t%d", i))
		task.Held = i == 3
		if i == 0 {
			task.Status = coordination.Agreed
		}
		insertTask(t, s, task)
	}
	for _, c := range []struct {
		agent  string
		filter coordination.TaskFilter
		want   []string
	}{
		{"agent", coordination.TaskFilter{}, []string{"t2", "t1", "t0"}},
		{"", coordination.TaskFilter{}, []string{"t3", "t2", "t1", "t0"}},
		{"agent", coordination.TaskFilter{Status: coordination.Agreed}, []string{"t0"}},
		{"agent", coordination.TaskFilter{ConnectionID: "c2"}, nil},
		{"other", coordination.TaskFilter{}, nil},
	} {
		var got []string
		inTx(t, s, func(tx node.Tx) error {
			list, err := s.Tasks(tx, c.agent, c.filter, coordination.Page{Limit: 10})
			for _, task := range list {
				got = append(got, task.UID)
			}
			return err
		})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v:\n%s", c, diff)
		}
	}
}

// The database repeats the rule: no status but the known ones, no write from a
// status that is gone.
func taskGuards(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	insertTask(t, s, aTask("t1"))
	inTx(t, s, func(tx node.Tx) error {
		if err := s.SaveTask(tx, aTask("t1"), coordination.Agreed); node.CodeOf(err) != node.Conflict {
			t.Errorf("saved from a status that is gone: %v", err)
		}
		return nil
	})
	wrong := aTask("t2")
	wrong.Status = "finished"
	if err := s.InTx(context.Background(), func(tx node.Tx) error { _, err := s.InsertTask(tx, wrong); return err }); err == nil {
		t.Error("a status that does not exist was stored")
	}
}

func overdue(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	inTx(t, s, func(tx node.Tx) error {
		for i, left := range []time.Duration{0, time.Second} {
			task, m := aTask(fmt.Sprintf("t%d", i)), aMessage(fmt.Sprintf("m%d", i))
			task.Deadline, m.ExpiresAt = tx.Now().Add(left), tx.Now().Add(left)
			if _, err := s.InsertTask(tx, task); err != nil {
				return err
			}
			if err := s.InsertMessage(tx, m); err != nil {
				return err
			}
		}
		tasks, err := s.OverdueTasks(tx, 10)
		if err != nil {
			return err
		}
		messages, err := s.OverdueMessages(tx, 10)
		if len(tasks) != 1 || tasks[0].UID != "t0" || len(messages) != 1 || messages[0].ID != "m0" {
			t.Errorf("overdue: %d tasks, %d messages; at the deadline it is over, before it is not", len(tasks), len(messages))
		}
		unfinished, err2 := s.UnfinishedTasks(tx, "agent", "c1")
		if len(unfinished) != 2 {
			t.Errorf("%d unfinished, want 2", len(unfinished))
		}
		over := aTask("over")
		over.Status, over.Deadline = coordination.ExpiredTask, tx.Now().Add(-time.Hour)
		_, err3 := s.InsertTask(tx, over)
		for before, want := range map[time.Duration]int{time.Hour + time.Microsecond: 1, time.Hour: 0} {
			expired, err := s.ExpiredTasks(tx, "agent", "c1", tx.Now().Add(-before))
			if err != nil || len(expired) != want {
				t.Errorf("%d expired with a deadline later than %s ago, want %d; %v", len(expired), before, want, err)
			}
		}
		return errors.Join(err, err2, err3)
	})
}

func acks(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		for jti, signed := range map[string][]byte{"answered": []byte("jws"), "withdrawn": nil} {
			if err := s.KeepAck(tx, "agent", jti, "ben@ben.test", signed, tx.Now()); err != nil {
				return err
			}
		}
		signed, ok, err := s.KeptAck(tx, "agent", "answered", "ben@ben.test")
		if !ok || string(signed) != "jws" || err != nil {
			t.Errorf("%q %v %v", signed, ok, err)
		}
		if signed, ok, _ := s.KeptAck(tx, "agent", "withdrawn", "ben@ben.test"); !ok || signed != nil {
			t.Errorf("a withdrawn message: %q %v", signed, ok)
		}
		if _, ok, _ := s.KeptAck(tx, "agent", "answered", "eve@eve.test"); ok {
			t.Error("another contact's answer was given")
		}
		swept, err := s.SweepAcks(tx, 10)
		if swept != 2 {
			t.Errorf("swept %d, want 2", swept)
		}
		return err
	})
}
