package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/store"
)

// Disclosures is what both databases do for the ledger of what contacts were
// told, and for the lists that an owner reads of contacts and messages.
func Disclosures(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"Ledger": ledger, "LedgerPages": ledgerPages, "LedgerCounts": ledgerCounts, "OneRowAField": oneRowAField,
		"Contacts": contacts, "Thread": thread, "LatestChat": latestChat, "Unsent": unsent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func aDisclosure(id, capability string) coordination.Disclosure {
	return coordination.Disclosure{
		ID: id, OwnerID: "owner", AgentID: "agent", Contact: "c1@ben.test", ConnectionID: "c1", Capability: capability,
		Field: "field " + id, Value: []byte(`"19:30"`), TaskUID: "t1", MessageID: "m1", Author: "agent", At: start,
	}
}

func disclosed(t *testing.T, s *store.Store, list ...coordination.Disclosure) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error { return s.InsertDisclosures(tx, list) })
}

func ledger(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	m := aMessage("m1")
	insertMessages(t, s, m)
	first, second := aDisclosure("d1", "disclose.availability"), aDisclosure("d2", "")
	second.ApprovalID, second.Author, second.Value = "approval", "owner", []byte(`{"name":"Da Piero"}`)
	disclosed(t, s, first, second)
	inTx(t, s, func(tx node.Tx) error {
		m.Status, m.AttemptedAt = coordination.MsgDelivered, start.Add(time.Second)
		if err := s.SaveMessage(tx, m, coordination.MsgQueued); err != nil {
			return err
		}
		if err := s.WithdrawDisclosures(tx, "other", "m1"); err != nil {
			return err
		}
		got, err := s.Disclosures(tx, coordination.DisclosureFilter{Contact: "c1@ben.test"}, coordination.Page{Limit: 10})
		want := []coordination.Disclosure{second, first}
		for i := range want {
			want[i].Status, want[i].AttemptedAt = m.Status, m.AttemptedAt
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what was stored (-want +got):\n%s", diff)
		}
		if err != nil {
			return err
		}
		if err := s.WithdrawDisclosures(tx, "agent", "m1"); err != nil {
			return err
		}
		got, err = s.Disclosures(tx, coordination.DisclosureFilter{Contact: "c1@ben.test"}, coordination.Page{Limit: 10})
		if len(got) != 2 || !got[0].Withdrawn || !got[1].Withdrawn {
			t.Errorf("withdrawn: %+v", got)
		}
		return err
	})
}

// Two agents of the owner tell one contact something: the contact knows both.
func ledgerPages(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	var list []coordination.Disclosure
	for i := range 5 {
		d := aDisclosure(fmt.Sprintf("d%d", i), []string{"disclose.notes", ""}[i%2])
		d.AgentID, d.At = []string{"agent", "other"}[i%2], start.Add(time.Duration(i/2)*time.Second)
		list = append(list, d)
	}
	stranger := aDisclosure("d9", "disclose.notes")
	stranger.Contact = "eve@eve.test"
	disclosed(t, s, append(list, stranger)...)
	none, notes := "", "disclose.notes"
	for _, c := range []struct {
		capability *string
		want       []string
	}{
		{nil, []string{"d4", "d3", "d2", "d1", "d0"}}, {&notes, []string{"d4", "d2", "d0"}}, {&none, []string{"d3", "d1"}},
	} {
		var ids []string
		filter := coordination.DisclosureFilter{Contact: "c1@ben.test", Capability: c.capability}
		page := coordination.Page{Limit: 2}
		for more := true; more; {
			inTx(t, s, func(tx node.Tx) error {
				got, err := s.Disclosures(tx, filter, page)
				for _, d := range got {
					ids = append(ids, d.ID)
					page.BeforeAt, page.BeforeID = d.At, d.ID
				}
				more = len(got) > 0
				return err
			})
		}
		if diff := cmp.Diff(c.want, ids); diff != "" {
			t.Errorf("page by page, newest first:\n%s", diff)
		}
	}
}

func ledgerCounts(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	withdrawn := aDisclosure("d3", "disclose.notes")
	withdrawn.MessageID = "m2"
	later := aDisclosure("d4", "disclose.budget")
	later.At = start.Add(time.Minute)
	stranger := aDisclosure("d5", "disclose.budget")
	stranger.Contact, stranger.MessageID = "eve@eve.test", "m3"
	disclosed(t, s, aDisclosure("d1", "disclose.budget"), aDisclosure("d2", ""), withdrawn, later, stranger)
	inTx(t, s, func(tx node.Tx) error {
		if err := s.WithdrawDisclosures(tx, "agent", "m2"); err != nil {
			return err
		}
		got, err := s.CountDisclosures(tx, []string{"c1@ben.test", "nobody@ben.test"})
		want := []coordination.DisclosureCount{
			{Contact: "c1@ben.test", Told: 1, LastAt: start},
			{Contact: "c1@ben.test", Capability: "disclose.budget", Told: 2, LastAt: later.At},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if err != nil {
			return err
		}
		got, err = s.CountDisclosures(tx, nil)
		if got != nil {
			t.Errorf("of nobody: %v", got)
		}
		return err
	})
}

// A field of a message stands in the ledger once.
func oneRowAField(t *testing.T, s *store.Store) {
	insertConnection(t, s, aConnection("c1"))
	disclosed(t, s, aDisclosure("d1", ""))
	again := aDisclosure("d2", "")
	again.Field = "field d1"
	if err := s.InTx(t.Context(), func(tx node.Tx) error { return s.InsertDisclosures(tx, []coordination.Disclosure{again}) }); err == nil {
		t.Error("a field stands in the ledger twice")
	}
}

func contacts(t *testing.T, s *store.Store) {
	for i, c := range []struct {
		id, agent, contact string
		status             coordination.ConnectionStatus
	}{
		{"ben1", "agent", "ben@ben.test", coordination.ConnRevoked}, {"ben2", "agent", "ben@ben.test", coordination.ConnActive},
		{"gone1", "agent", "eve@eve.test", coordination.ConnRejected}, {"gone2", "agent", "eve@eve.test", coordination.ConnRevoked},
		{"other", "other", "eve@eve.test", coordination.ConnRevoked},
		{"live", "agent", "kay@kay.test", coordination.PendingIncoming}, {"late", "agent", "kay@kay.test", coordination.ConnRevoked},
	} {
		connection := aConnection(c.id)
		connection.AgentID, connection.Contact, connection.Status = c.agent, c.contact, c.status
		connection.CreatedAt = start.Add(time.Duration(i/2) * time.Second)
		insertConnection(t, s, connection)
	}
	var ids []string
	page := coordination.Page{Limit: 2}
	for more := true; more; {
		inTx(t, s, func(tx node.Tx) error {
			got, err := s.Contacts(tx, page)
			for _, c := range got {
				ids = append(ids, c.ID)
				page.BeforeAt, page.BeforeID = c.CreatedAt, c.ID
			}
			more = len(got) > 0
			return err
		})
	}
	if diff := cmp.Diff([]string{"late", "other", "live", "gone2", "ben2"}, ids); diff != "" {
		t.Errorf("contacts, newest first:\n%s", diff)
	}
}

// said stores messages of two connections, minute by minute.
func said(t *testing.T, s *store.Store) {
	t.Helper()
	insertConnection(t, s, aConnection("c1"))
	insertConnection(t, s, aConnection("c2"))
	for i, m := range []struct {
		id, connection string
		typ            wire.Type
		status         coordination.MessageStatus
	}{
		{"m0", "c1", wire.Message, coordination.MsgFailed}, {"m1", "c1", wire.TaskPropose, coordination.MsgFailed},
		{"m2", "c2", wire.Message, coordination.MsgReceived}, {"m3", "c1", wire.Message, coordination.MsgPendingApproval},
		{"m4", "c1", wire.TaskCancel, coordination.MsgDelivered}, {"m5", "c1", wire.Message, coordination.MsgRejected},
	} {
		message := aMessage(m.id)
		message.ConnectionID, message.Type, message.Status = m.connection, m.typ, m.status
		message.CreatedAt = start.Add(time.Duration(i) * time.Minute)
		if m.status == coordination.MsgReceived || m.id == "m5" {
			message.Direction = coordination.In
		}
		insertMessages(t, s, message)
	}
}

// wantMessages reads a list page by page.
func wantMessages(t *testing.T, s *store.Store, want []string, read func(tx node.Tx, page coordination.Page) ([]coordination.Message, error)) {
	t.Helper()
	var ids []string
	page := coordination.Page{Limit: 1}
	for more := true; more; {
		inTx(t, s, func(tx node.Tx) error {
			got, err := read(tx, page)
			for _, m := range got {
				ids = append(ids, m.ID)
				page.BeforeAt, page.BeforeID = m.CreatedAt, m.ID
			}
			more = len(got) > 0
			return err
		})
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("page by page (-want +got):\n%s", diff)
	}
}

func thread(t *testing.T, s *store.Store) {
	said(t, s)
	wantMessages(t, s, []string{"m5", "m4", "m3", "m1", "m0"}, func(tx node.Tx, page coordination.Page) ([]coordination.Message, error) {
		return s.Thread(tx, "c1", page)
	})
}

func latestChat(t *testing.T, s *store.Store) {
	said(t, s)
	wantMessages(t, s, []string{"m5", "m2"}, s.LatestChat)
}

// What a peer sent us and we rejected is not unsent.
func unsent(t *testing.T, s *store.Store) {
	said(t, s)
	for status, want := range map[coordination.MessageStatus][]string{
		coordination.MsgFailed: {"m1", "m0"}, coordination.MsgPendingApproval: {"m3"}, coordination.MsgRejected: nil, coordination.MsgDelivered: nil,
	} {
		wantMessages(t, s, want, func(tx node.Tx, page coordination.Page) ([]coordination.Message, error) {
			return s.Unsent(tx, status, page)
		})
	}
}
