package durability

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// twoLogs are two nodes that write to one another: ben keeps heads of ada's log.
type twoLogs struct {
	t            *testing.T
	ada, ben     *nodetest.Node
	url          string // of ada's database, "" for SQLite in her folder
	clock        *shifted
	ofAda, ofBen string // each side's connection
}

func newTwoLogs(t *testing.T, url string) *twoLogs {
	t.Helper()
	l := &twoLogs{t: t, url: url, clock: &shifted{}}
	l.ada = nodetest.Start(t, nodetest.Options{DatabaseURL: url, Clock: l.clock})
	l.ben = nodetest.Start(t, nodetest.Options{Owner: "Ben", Clock: l.clock})
	ofAda, ofBen := nodetest.Connect(l.ada.CreateAgent("scout", policy.Manual), l.ben.CreateAgent("juno", policy.Manual))
	l.ofAda, l.ofBen = ofAda.ID, ofBen.ID
	return l
}

// say sends a message, and returns when it is acknowledged.
func (l *twoLogs) say(from *nodetest.Node, connection string) {
	l.t.Helper()
	sent := nodetest.Owner[socket.Sent](from, socket.MessageSend, socket.SendMessage{Connection: connection, Text: "Hello."})
	from.Eventually("a message is delivered", func() bool {
		list := nodetest.Owner[[]socket.Message](from, socket.MessageList, socket.ListMessages{})
		return slices.ContainsFunc(list, func(m socket.Message) bool { return m.ID == sent.ID && m.Status == coordination.MsgDelivered })
	})
}

// talk makes ben keep a head of a log of some length.
func (l *twoLogs) talk() {
	l.t.Helper()
	for range 4 {
		l.say(l.ada, l.ofAda)
		l.say(l.ben, l.ofBen)
	}
}

// says compares the log of a node with what the other one keeps, and expects a
// verdict. The log by itself is always whole.
func (l *twoLogs) says(of *nodetest.Node, want audit.Verdict) audit.WitnessedBy {
	l.t.Helper()
	said := nodetest.Owner[audit.Witnessed](of, socket.AuditWitness, struct{}{})
	if !said.Log.OK() {
		l.t.Errorf("the log by itself is not whole: %s", said.Log.Problem)
	}
	of.VerifyAudit()
	if len(said.Contacts) != 1 {
		l.t.Fatalf("%d contacts were asked", len(said.Contacts))
	}
	if by := said.Contacts[0]; by.Verdict != want {
		l.t.Fatalf("%s, want %s: %+v", by.Verdict, want, by)
	}
	fine := slices.Contains([]audit.Verdict{audit.Agrees, audit.Nothing, audit.Unreachable}, want)
	if said.OK() != fine {
		l.t.Errorf("%s: OK is %v", want, said.OK())
	}
	return said.Contacts[0]
}

func (l *twoLogs) databaseOf(n *nodetest.Node) string {
	if n == l.ada && l.url != "" {
		return l.url
	}
	return "sqlite:" + filepath.Join(n.DataDir(), "node.db")
}

// replaceLog writes the whole log of ada anew, as somebody can who holds her
// database and her master key: from the rows that forge gives, each chained and
// the head signed with her key.
func (l *twoLogs) replaceLog(forge func([]audit.Row) []audit.Row) {
	l.t.Helper()
	l.ada.Stop()
	master, err := seal.LoadMaster(filepath.Join(l.ada.DataDir(), "master.key"), nil)
	must(l.t, err)
	s, err := store.Open(l.t.Context(), store.Config{URL: l.databaseOf(l.ada), Box: master.Box(), Clock: l.clock})
	must(l.t, err)
	defer func() { must(l.t, s.Close()) }()
	var rows []audit.Row
	must(l.t, s.View(l.t.Context(), func(tx node.Tx) (err error) {
		rows, err = s.AuditRows(tx, audit.Filter{Limit: 1000})
		return err
	}))
	db := newLooker(l.t, l.databaseOf(l.ada)).db
	for _, statement := range []string{`DELETE FROM audit_log`, `UPDATE audit_head SET position = 0, hash = '` + audit.GenesisHash + `', mac = ''`} {
		_, err := db.ExecContext(l.t.Context(), statement)
		must(l.t, err)
	}
	log := audit.New(s, master.Key(seal.UseAudit))
	for _, row := range forge(rows) {
		must(l.t, s.InTx(l.t.Context(), func(tx node.Tx) error { return log.Append(tx, eventOf(l.t, row)) }))
	}
	l.ada.Restart()
}

func eventOf(t *testing.T, row audit.Row) audit.Event {
	t.Helper()
	var data map[string]any
	must(t, json.Unmarshal(row.Data, &data))
	return audit.Event{
		Type: row.Type, Actor: node.Actor{Kind: row.ActorKind, OwnerID: row.OwnerID, Via: row.Via}, AgentID: row.AgentID,
		ConnectionID: row.ConnectionID, TaskUID: row.TaskUID, Subject: row.Subject, Data: data,
	}
}

// TestWitness (G8): what somebody does to a whole log who holds the database and
// the master key. The log is whole by itself each time, and ben's node knows better.
func TestWitness(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return storetest.Postgres(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, course := range map[string]func(*twoLogs){
				"written anew": writtenAnew, "cut": cutShort, "restored": setBackByRestore,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					course(newTwoLogs(t, url(t)))
				})
			}
		})
	}
}

// writtenAnew changes one word in a row, and every hash after it. Before, ben's
// node is old, lies, and is away.
func writtenAnew(l *twoLogs) {
	l.says(l.ada, audit.Nothing)
	l.talk()
	by := l.says(l.ada, audit.Agrees)
	if by.AgreesTo.Position < 20 || by.Contact != "juno@"+l.ben.Info.Host || by.ConnectionID != l.ofAda {
		l.t.Errorf("%+v", by)
	}
	l.says(l.ben, audit.Agrees)
	l.lies()
	l.ben.Stop()
	l.says(l.ada, audit.Unreachable)
	l.ben.Restart()
	l.replaceLog(func(rows []audit.Row) []audit.Row {
		for i := range rows {
			if rows[i].Type == audit.ConnectionAccepted || rows[i].Type == audit.ConnectionRequested {
				rows[i].Via = "somebody else"
			}
		}
		return rows
	})
	by = l.says(l.ada, audit.Differs)
	if by.DiffersFrom.Position < 20 || by.AgreesTo != nil {
		l.t.Errorf("%+v", by)
	}
	l.says(l.ben, audit.Agrees)
	compared := nodetest.Owner[[]socket.Event](l.ada, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.Compared}})
	if last := string(compared[len(compared)-1].Data); !strings.Contains(last, `"speakAgainst":1`) {
		l.t.Errorf("the log says of it: %s", last)
	}
}

// lies makes ben give what ada never sealed, and a head that she sealed for
// another number. Neither says that her log differs.
func (l *twoLogs) lies() {
	l.t.Helper()
	db := newLooker(l.t, l.databaseOf(l.ben)).db
	change := func(statement string) {
		l.t.Helper()
		_, err := db.ExecContext(l.t.Context(), statement)
		must(l.t, err)
	}
	for there, back := range map[string]string{
		`UPDATE peer_heads SET n = n + 1`:          `UPDATE peer_heads SET n = n - 1`,
		`UPDATE peer_heads SET seal = 'x' || seal`: `UPDATE peer_heads SET seal = substr(seal, 2)`,
	} {
		change(there)
		if by := l.says(l.ada, audit.NotOurs); by.DiffersFrom != nil {
			l.t.Errorf("%+v", by)
		}
		change(back)
	}
	l.says(l.ada, audit.Agrees)
}

func cutShort(l *twoLogs) {
	l.talk()
	l.says(l.ada, audit.Agrees)
	l.replaceLog(func(rows []audit.Row) []audit.Row { return rows[:3] })
	if by := l.says(l.ada, audit.Fewer); by.DiffersFrom.Position < 20 {
		l.t.Errorf("%+v", by)
	}
}

// setBackByRestore: an honest restore is found too, and named. Ben's owner learns
// that ada's log is not the one that it was.
func setBackByRestore(l *twoLogs) {
	l.talk()
	content := l.ada.Backup()
	l.talk()
	l.says(l.ada, audit.Agrees)
	fresh := ""
	if l.url != "" {
		fresh = storetest.Postgres(l.t).URL
	}
	l.url = fresh
	l.ada.Restore(content, fresh)
	by := l.says(l.ada, audit.Restored)
	if by.Restore == nil || by.DiffersFrom.Position <= by.Restore.Rows || !by.DiffersFrom.At.Before(by.Restore.At) || by.Restore.BackupFrom.IsZero() {
		l.t.Errorf("%+v", by)
	}
	l.tells(0)
	l.clock.ahead.Add(int64(10 * time.Minute))
	l.say(l.ben, l.ofBen)
	l.tells(1)
	l.ben.SignIn().Get("/").Says("Log set back", "scout@")
	if by := l.says(l.ada, audit.Restored); by.AgreesTo == nil || by.AgreesTo.At.Before(by.Restore.At) {
		l.t.Errorf("what was shown since does not agree: %+v", by)
	}
}

// tells counts the rows by which ben's owner learns that ada's log differs.
func (l *twoLogs) tells(want int) {
	l.t.Helper()
	rows := nodetest.Owner[[]socket.Event](l.ben, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.ConnectionLogDiffers}})
	if len(rows) != want || want > 0 && rows[0].ConnectionID != l.ofBen {
		l.t.Fatalf("ben's owner is told %+v, want %d rows", rows, want)
	}
}
