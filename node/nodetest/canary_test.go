package nodetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/backup"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestCanaries (G7): 50 strings go through messages, notes, titles, proposals and
// parameters; none is in a file of the data folder, in what a backup holds beneath
// its encryption, or in the audit log as it is shown and exported.
func TestCanaries(t *testing.T) {
	t.Parallel()
	ada, ben := nodetest.Start(t, nodetest.Options{}), nodetest.Start(t, nodetest.Options{Owner: "Ben"})
	scout, juno := ada.CreateAgent("scout", policy.Assisted), ben.CreateAgent("juno", policy.Assisted)
	ofScout, _ := nodetest.Connect(scout, juno)
	for _, capability := range []string{"disclose.availability", "disclose.preferences"} {
		ada.Grant(scout, "", capability, policy.Allow)
	}
	var canaries []string
	canary := func() string {
		canaries = append(canaries, fmt.Sprintf("canary-%02d-zq7x", len(canaries)))
		return canaries[len(canaries)-1]
	}
	for range 20 {
		scout.Post("/v1/agent/messages", map[string]any{"connectionId": ofScout.ID, "text": canary()}).Want(http.StatusCreated)
	}
	for range 10 {
		proposal := map[string]any{"date": "2031-05-09", "time": "20:00", "timezone": "Europe/Rome", "partySize": 2, "venue": map[string]any{"name": canary()}}
		uid := scout.Post("/v1/agent/tasks", map[string]any{
			"connectionId": ofScout.ID, "type": "dinner.coordination", "title": canary(), "proposal": proposal,
		}).Want(http.StatusCreated).Text("taskUid")
		nodetest.Eventually(t, "the task arrives", func() bool { return juno.Get("/v1/agent/tasks/"+uid).Status == http.StatusOK })
	}
	for range 10 {
		asked := scout.Post("/v1/agent/approvals", map[string]any{"action": "reservation.book", "parameters": map[string]any{
			"venue": canary(), "date": "2031-05-09", "time": "20:00", "partySize": 2,
		}})
		if asked.Status != http.StatusCreated {
			t.Fatalf("%d %s", asked.Status, asked.Body)
		}
	}
	if len(canaries) != 50 {
		t.Fatalf("%d canaries", len(canaries))
	}
	for name, n := range map[string]*nodetest.Node{"ada": ada, "ben": ben} {
		content := n.Backup()
		without(t, name+"'s backup", content, canaries)
		var values blobs
		if _, err := backup.Read(bytes.NewReader(content), &values); err != nil {
			t.Fatal(err)
		}
		without(t, "the bytes of "+name+"'s backup", values.all, canaries)
		events, err := json.Marshal(nodetest.Owner[[]socket.Event](n, socket.AuditTail, socket.Tail{After: new(int64), Types: audit.Types, Limit: 100}))
		if err != nil {
			t.Fatal(err)
		}
		without(t, name+"'s log", events, canaries)
		n.Stop()
		err = filepath.WalkDir(n.DataDir(), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			without(t, path, content, canaries)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// blobs collects the values that an archive holds as base64.
type blobs struct {
	backup.Nowhere
	all []byte
}

// Row implements backup.Target.
func (b *blobs) Row(row []any) error {
	for _, value := range row {
		if raw, ok := value.([]byte); ok {
			b.all = append(b.all, raw...)
		}
	}
	return nil
}

func without(t *testing.T, what string, content []byte, canaries []string) {
	t.Helper()
	for _, canary := range canaries {
		if bytes.Contains(content, []byte(canary)) {
			t.Errorf("%s holds %s", what, canary)
		}
	}
	if strings.Contains(what, "backup") && len(content) < 10<<10 {
		t.Errorf("%s has only %d bytes", what, len(content))
	}
}
