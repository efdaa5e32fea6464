package nodetest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/node/seal"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// TestReplaceMaster: a node that has lived gets a new master key. The old one opens
// nothing, and all that was begun goes on: what waits for the owner, what they have
// approved, what an agent asks again, what contacts keep of the log.
func TestReplaceMaster(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		bookings := &counting{}
		ada := nodetest.Start(t, nodetest.Options{DatabaseURL: fresh(t).URL, Executors: []actions.Executor{bookings}})
		ben := nodetest.Start(t, nodetest.Options{Owner: "Ben"})
		scout, quill, juno := ada.CreateAgent("scout", policy.Assisted), ada.CreateAgent("quill", policy.Manual), ben.CreateAgent("juno", policy.Assisted)
		ofScout, _ := nodetest.Connect(scout, juno)
		nodetest.Connect(quill, juno)
		var ofQuill struct{ Items []struct{ ID string } }
		quill.Get("/v1/agent/connections").Into(&ofQuill)
		for _, capability := range []string{"disclose.availability", "disclose.preferences"} {
			ada.Grant(scout, juno.Address, capability, policy.Allow)
		}
		done := approved(t, ada, scout, agreed(t, scout, juno, ofScout.ID))
		uid := agreed(t, scout, juno, ofScout.ID)
		ran := book(scout, done)
		unused := approved(t, ada, scout, uid)
		held := quill.Post("/v1/agent/messages", map[string]any{"connectionId": ofQuill.Items[0].ID, "text": "Held."}).Want(http.StatusAccepted).Text("approvalId")
		folder := ada.DataDir()
		old, err := seal.LoadMaster(filepath.Join(folder, "master.key"), nil)
		if err != nil {
			t.Fatal(err)
		}

		if report := ada.ReplaceMaster(); report.Values == 0 || report.Damaged != 0 || report.Finished {
			t.Errorf("report %+v", report)
		}
		opensNothing(t, ada, old)
		if left, _ := filepath.Glob(filepath.Join(folder, "*.new")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if again := book(scout, done); again != ran {
			t.Errorf("the same request gives another run: %s, was %s", again, ran)
		}
		book(scout, unused)
		until(t, juno, uid, "status", "confirmed")
		if count := bookings.count(); count != 2 {
			t.Errorf("%d bookings, want 2", count)
		}
		ada.Approve(Owner(ada, held))
		nodetest.Eventually(t, "what was held arrives", func() bool { return len(chat(juno)) == 1 })
		agreed(t, scout, juno, ofScout.ID) // the grants hold, and the copies of contacts' rows are found
		contactsAgree(t, ada)
		ada.SignIn().Get("/").Want(http.StatusOK)
		if events := nodetest.Owner[[]socket.Event](ada, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.NodeMasterReplaced}}); len(events) != 1 {
			t.Errorf("%d rows of the log say it", len(events))
		}
		ada.VerifyAudit()
		ben.VerifyAudit()

		ada.ReplaceMaster() // and once more
		book(scout, done)
		contactsAgree(t, ada)
		ada.VerifyAudit()
	})
}

func book(agent *nodetest.Agent, approval string) (run string) {
	return agent.Do(http.MethodPost, "/v1/agent/actions", map[string]any{"approvalId": approval}, map[string]string{"Idempotency-Key": "key-of-" + approval}).
		Want(http.StatusCreated).Text("runId")
}

func chat(agent *nodetest.Agent) []json.RawMessage {
	var list struct{ Items []json.RawMessage }
	agent.Get("/v1/agent/messages").Into(&list)
	return list.Items
}

// contactsAgree compares the log with what contacts keep of its head, from before too.
func contactsAgree(t *testing.T, n *nodetest.Node) {
	t.Helper()
	said := nodetest.Owner[audit.Witnessed](n, socket.AuditWitness, struct{}{})
	agrees := slices.ContainsFunc(said.Contacts, func(by audit.WitnessedBy) bool { return by.Verdict == audit.Agrees })
	if !said.OK() || !agrees {
		t.Errorf("what contacts keep: %+v", said)
	}
}

// opensNothing reads the database with a master key that is no longer the node's.
func opensNothing(t *testing.T, n *nodetest.Node, old seal.Master) {
	t.Helper()
	s := n.InsideWith(old)
	err := s.View(t.Context(), func(tx node.Tx) error {
		_, err := s.NodeKeys(tx)
		_, err2 := s.Owner(tx)
		_, err3 := s.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.GrantSet}})
		for _, err := range []error{err, err2, err3} {
			if !errors.Is(err, seal.ErrNotOpened) {
				t.Errorf("the key from before: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReplaceMasterRefuses: while another process of the node runs, or where the log is
// not whole, nothing is replaced and nothing is left behind.
func TestReplaceMasterRefuses(t *testing.T) {
	t.Parallel()
	t.Run("another process", func(t *testing.T) {
		t.Parallel()
		ada := nodetest.Start(t, nodetest.Options{DatabaseURL: storetest.Postgres(t).URL})
		replica := ada.Replica()
		refuses(t, replica, "Another process of this node uses the database")
		ada.Restart()
		ada.VerifyAudit()
		ada.Stop()
		if _, err := replica.TryReplaceMaster(); err != nil {
			t.Errorf("with nobody else there: %v", err)
		}
	})
	t.Run("a changed log", func(t *testing.T) {
		t.Parallel()
		ada := nodetest.Start(t, nodetest.Options{})
		s, _ := ada.Inside()
		err := s.InTx(t.Context(), func(tx node.Tx) error {
			head, err := s.LockHead(tx)
			if err != nil {
				return err
			}
			head.MAC = "made up"
			return s.AppendAudit(tx, nil, head)
		})
		if err != nil {
			t.Fatal(err)
		}
		ada.Stop()
		refuses(t, ada, "The audit log is not whole")
		ada.Restart()
	})
	t.Run("nobody's node", func(t *testing.T) {
		t.Parallel()
		ada := nodetest.Start(t, nodetest.Options{New: true})
		ada.Stop()
		refuses(t, ada, "")
	})
}

func refuses(t *testing.T, n *nodetest.Node, why string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(n.DataDir(), "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.TryReplaceMaster()
	if e, ok := node.AsError(err); !ok || (why != "" && !strings.Contains(e.Message, why)) {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(filepath.Join(n.DataDir(), "master.key"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the master key is another one: %v", err)
	}
	if _, err := os.Lstat(seal.Successor(filepath.Join(n.DataDir(), "master.key"))); err == nil {
		t.Error("a new key is left behind")
	}
}
