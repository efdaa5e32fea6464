package requirement

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/nodetest"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/policy"
)

// TestHeldMessageIsComparedBeforeItLeaves: somebody who can write to the sealed
// store puts another text into a held message; the owner's yes was for the first.
func TestHeldMessageIsComparedBeforeItLeaves(t *testing.T) {
	p := connected(t, policy.Manual, policy.Assisted)
	p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": "On Friday?"}).Want(http.StatusAccepted)
	held := p.ada.Pending()
	p.ada.Stop()
	p.changeHeldText("On Sunday?")
	p.ada.Restart()
	if effect := p.ada.Approve(p.ada.Pending()); effect.Approval.ID != held.ID || effect.Outcome != "failed" || effect.Code != "hash_mismatch" {
		t.Errorf("approving gave %+v", effect)
	}
	if status, _ := p.messageStatus(p.scout, "On Sunday?"); status != "failed" {
		t.Errorf("the message is %s", status)
	}
	if approval := p.approval(p.ada, held.ID); approval.Status != "consumed" {
		t.Errorf("the approval is %s", approval.Status)
	}
	if chat := p.chat(p.juno); len(chat) != 0 {
		t.Errorf("Juno reads %+v", chat)
	}
}

// changeHeldText opens the stopped node's store with its own keys.
func (p *pair) changeHeldText(text string) {
	p.Helper()
	master, err := seal.LoadMaster(filepath.Join(p.ada.DataDir(), "master.key"), nil)
	if err != nil {
		p.Fatal(err)
	}
	opened, err := store.Open(p.Context(), store.Config{
		URL: "sqlite:" + filepath.Join(p.ada.DataDir(), "node.db"), Box: master.Box(), Clock: p.clock,
	})
	if err != nil {
		p.Fatal(err)
	}
	defer opened.Close()
	err = opened.InTx(p.Context(), func(tx node.Tx) error {
		messages, err := opened.Chat(tx, p.scout.ID, "", coordination.Page{Limit: 1})
		if err != nil {
			return err
		}
		messages[0].Content, err = json.Marshal(body{"text": text})
		if err != nil {
			return err
		}
		return opened.SaveMessage(tx, messages[0], coordination.MsgPendingApproval)
	})
	if err != nil {
		p.Fatal(err)
	}
}

// TestRestoredCopy is D13: Ben's database is put back to an earlier day. The
// other side knows more of his than he does; both say so, and nothing is applied.
func TestRestoredCopy(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.dinner()
	p.ben.Stop()
	backup := p.database(p.ben)
	p.ben.Restart()
	p.propose(p.juno, uid, terms(body{"time": "20:00"})).Want(http.StatusCreated)
	nodetest.Eventually(t, "Juno's version arrives", func() bool { return len(p.proposals(p.scout, uid)) == 2 })

	p.ben.Stop()
	p.restore(p.ben, backup)
	p.ben.Restart()
	p.propose(p.scout, uid, terms(body{"time": "21:00"})).Want(http.StatusCreated)
	for _, agent := range []*nodetest.Agent{p.scout, p.juno} {
		nodetest.Eventually(t, agent.Handle+"'s copy says that it is out of step", func() bool {
			p.clock.Advance(time.Second)
			outOfStep, _ := p.get(agent, "/v1/agent/tasks/"+uid).Value("outOfStep").(bool)
			return outOfStep
		})
	}
	if got := p.proposals(p.juno, uid); !slices.Equal(got, []string{"pending"}) {
		t.Errorf("Juno's copy has the versions %v", got)
	}
	p.conflict(p.propose(p.juno, uid, terms(nil)), "out_of_step")
	p.conflict(p.propose(p.scout, uid, terms(nil)), "out_of_step")
}

// database reads the files of a stopped node's database.
func (p *pair) database(n *nodetest.Node) map[string][]byte {
	p.Helper()
	names, err := filepath.Glob(filepath.Join(n.DataDir(), "node.db*"))
	if err != nil || len(names) == 0 {
		p.Fatalf("no database in %s: %v", n.DataDir(), err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = os.ReadFile(name); err != nil {
			p.Fatal(err)
		}
	}
	return files
}

func (p *pair) restore(n *nodetest.Node, files map[string][]byte) {
	p.Helper()
	for name := range p.database(n) {
		if err := os.Remove(name); err != nil {
			p.Fatal(err)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			p.Fatal(err)
		}
	}
}
