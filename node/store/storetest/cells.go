package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/identity"
	"agentlink/node/oauth"
	"agentlink/node/owner"
	"agentlink/node/store"
	"agentlink/policy"
)

// Cell is a sealed value that is stored, and how the store reads its row. A row that
// is not what was stored gives an error, or a value that says that it is damaged.
type Cell struct {
	Table, Column string
	Where         string // its row
	Read          func(tx node.Tx) (damaged bool, err error)
}

// filling is a store that is being filled, and its cells so far.
type filling struct {
	s     *store.Store
	cells []Cell
}

func (f *filling) add(table, where string, read func(tx node.Tx) error, columns ...string) {
	f.addMarked(table, where, func(tx node.Tx) (bool, error) { return false, read(tx) }, columns...)
}

func (f *filling) addMarked(table, where string, read func(tx node.Tx) (bool, error), columns ...string) {
	for _, column := range columns {
		f.cells = append(f.cells, Cell{Table: table, Column: column, Where: where, Read: read})
	}
}

// rowsOfEach is how many rows a table gets that can have several.
const rowsOfEach = 3

// Cells fills every table that has sealed columns, and gives all their cells.
func Cells(t *testing.T, s *store.Store) []Cell {
	t.Helper()
	f := &filling{s: s}
	f.ofTheNode(t)
	insertConnection(t, s, aConnection("c1"))
	for n := 1; n <= rowsOfEach; n++ {
		f.ofTheOwner(t, n)
		f.ofAgents(t, n)
		f.ofContacts(t, n)
		f.ofPrograms(t, n)
	}
	return f.cells
}

// ofTheNode fills the tables that have one row.
func (f *filling) ofTheNode(t *testing.T) {
	s := f.s
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.InsertOwner(tx, owner.Owner{ID: "o1", Name: "Ada", CreatedAt: tx.Now()}, "hash of the password")
		first := identity.Keys{ID: "k1", Seed: make([]byte, 32), AgeIdentity: "first", CreatedAt: tx.Now()}
		return errors.Join(err, s.InsertNodeKeys(tx, first))
	})
	for n := range rowsOfEach { // the keys that the node has had
		inTx(t, s, func(tx node.Tx) error {
			public := sha256.Sum256(fmt.Append(nil, n))
			retired := identity.Retired{
				OwnerID: "o1", Number: int64(n + 1), Fingerprint: fmt.Sprint("f", n), PublicKey: public[:], Seed: public[:],
				AgeIdentity: fmt.Sprint("identity ", n), CreatedAt: tx.Now(), RetiredAt: tx.Now(),
			}
			keys := identity.Keys{ID: fmt.Sprint("k", n+2), Seed: public[:], AgeIdentity: fmt.Sprint("new ", n), CreatedAt: tx.Now()}
			f.add("retired_keys", fmt.Sprintf("number = %d", n+1), func(tx node.Tx) error { _, err := s.RetiredKeys(tx); return err }, "detail", "seed", "age_identity")
			return s.ReplaceNodeKeys(tx, keys, retired)
		})
	}
	f.add("owners", "slot = 1", func(tx node.Tx) error { _, err := s.Owner(tx); return err }, "name")
	f.add("owners", "slot = 1", func(tx node.Tx) error { _, err := s.OwnerPassword(tx); return err }, "password_hash")
	f.add("node_keys", "slot = 1", func(tx node.Tx) error { _, err := s.NodeKeys(tx); return err }, "seed", "age_identity")
}

// ofTheOwner fills what belongs to the owner and to the node's own doings.
func (f *filling) ofTheOwner(t *testing.T, n int) {
	s, name := f.s, fmt.Sprint("x", n)
	inTx(t, s, func(tx node.Tx) error {
		_, _, _, err := s.ClaimIdempotency(tx, "a1", name, "hash")
		_, err2 := s.InsertPasskey(tx, owner.Passkey{
			ID: name, OwnerID: "o1", Name: name, Party: "localhost", CredentialID: []byte(name), Credential: []byte(`{}`), CreatedAt: tx.Now(),
		})
		_, err3 := s.InsertOverlay(tx, anOverlay(int64(n), name))
		return errors.Join(err, err2, err3,
			s.KeepAnswer(tx, "a1", name, []byte("answer "+name)), s.SetSetting(tx, name, []byte("value "+name)),
			s.InsertSession(tx, owner.Session{ID: name, OwnerID: "o1", How: owner.HowPasskey, UserAgent: name, IP: "192.0.2.7", CreatedAt: tx.Now()}, name),
			newLog(s).Append(tx, audit.Event{Type: audit.GrantSet, Actor: node.Actor{Kind: node.ActorOwner}, Data: map[string]any{"n": n}}))
	})
	at := func(column string) string { return column + " = '" + name + "'" }
	f.add("idempotency", "hash <> '' AND key = (SELECT key FROM idempotency ORDER BY key LIMIT 1 OFFSET "+fmt.Sprint(n-1)+")", f.everyAnswer, "answer")
	f.add("settings", at("name"), func(tx node.Tx) error { _, err := s.Setting(tx, name); return err }, "value")
	f.add("passkeys", at("id"), func(tx node.Tx) error { _, err := s.LockPasskey(tx, []byte(name)); return err }, "record")
	f.add("overlays", at("version"), func(tx node.Tx) error { _, err := s.OverlaySource(tx, "owner", name); return err }, "source")
	f.add("owner_sessions", at("id"), func(tx node.Tx) error { _, err := s.Sessions(tx); return err }, "client")
	f.addMarked("audit_log", fmt.Sprintf("position = %d", n), func(tx node.Tx) (bool, error) {
		report, err := newLog(s).Verify(tx, true)
		return !report.OK(), err
	}, "data")
}

// everyAnswer reads all: the key of a row is not told by what is stored.
func (f *filling) everyAnswer(tx node.Tx) error {
	var all error
	for n := 1; n <= rowsOfEach; n++ {
		_, _, _, err := f.s.ClaimIdempotency(tx, "a1", fmt.Sprint("x", n), "hash")
		all = errors.Join(all, err)
	}
	return all
}

// ofAgents fills what belongs to an agent.
func (f *filling) ofAgents(t *testing.T, n int) {
	s, id := f.s, fmt.Sprint("a", n)
	insertAgent(t, s, anAgent(id))
	g := aGrant("g" + id)
	g.AgentID, g.Contact = id, id+"@ben.test"
	insertGrant(t, s, g)
	decided := policy.Record{
		Decision: policy.Decision{ID: "d" + id, Outcome: policy.Held, Answers: []policy.Answer{}, Version: "v"}, OwnerID: "owner", AgentID: id,
		At: start, Facts: policy.Facts{Mode: policy.Assisted, Contact: id + "@ben.test", Fields: map[string]any{"n": float64(n)}},
	}
	asked := approval(start, n, func(a *approvals.Approval) {
		a.AgentID, a.Note, a.Parameters = id, "note "+id, json.RawMessage(`{"n":`+fmt.Sprint(n)+`}`)
	})
	ran := run(start, n, func(r *actions.Run) { r.AgentID, r.TaskUID = id, "" })
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.InsertApproval(tx, asked)
		_, err2 := s.InsertRun(tx, ran)
		ran.State, ran.Reason, ran.Result, ran.Code, ran.Settled = actions.Succeeded, actions.SavedAndChecked, json.RawMessage(`{"n":1}`), "AL-"+id, true
		ran.StartedAt, ran.FinishedAt = start, start
		_, err3 := s.SaveRun(tx, ran, actions.Reserved)
		noted := asked
		noted.Note = "note " + id
		return errors.Join(err, err2, err3, s.InsertDecision(tx, decided), s.SaveApproval(tx, noted, approvals.Pending))
	})
	f.add("agents", "id = '"+id+"'", func(tx node.Tx) error { _, err := s.AgentByID(tx, id); return err }, "name")
	f.add("grants", "id = 'g"+id+"'", func(tx node.Tx) error { _, err := s.Grant(tx, "g"+id); return err }, "contact", "constraints")
	f.add("decisions", "id = 'd"+id+"'", func(tx node.Tx) error { _, err := s.DecisionRecord(tx, "d"+id); return err }, "facts")
	f.add("runs", "id = '"+ran.ID+"'", func(tx node.Tx) error { _, err := s.Run(tx, ran.ID); return err }, "request", "answer")
	f.addMarked("approvals", "id = '"+asked.ID+"'", func(tx node.Tx) (bool, error) {
		a, err := s.Approval(tx, asked.ID)
		return a.Damaged && len(a.Parameters) == 0 && a.Note == "", err
	}, "content", "note")
}

// ofContacts fills what goes between two agents.
func (f *filling) ofContacts(t *testing.T, n int) {
	s, id := f.s, fmt.Sprint("m", n)
	c, m, task, told := aConnection("k"+id), aMessage(id), aTask("t"+id), aDisclosure("d"+id, "disclose.notes")
	m.Content, m.Envelope, m.TaskUID = []byte(`{"n":`+fmt.Sprint(n)+`}`), []byte("envelope "+id), ""
	task.Copy.Title, told.Value = "Dinner "+id, []byte(`"`+id+`"`)
	insertConnection(t, s, c)
	insertMessages(t, s, m)
	insertTask(t, s, task)
	disclosed(t, s, told)
	arrives(t, s, id, nil)
	inTx(t, s, func(tx node.Tx) error {
		return errors.Join(s.SettleStranger(tx, id, []byte("answer "+id)), s.KeepAck(tx, "agent", id, c.Contact, []byte("signed "+id), start))
	})
	f.add("answers", "jti = '"+id+"'", func(tx node.Tx) error { _, _, err := s.KeptAck(tx, "agent", id, c.Contact); return err }, "signed")
	f.add("connections", "id = '"+c.ID+"'", func(tx node.Tx) error { _, err := s.Connection(tx, c.ID); return err }, "detail")
	f.add("messages", "id = '"+id+"'", func(tx node.Tx) error { _, err := s.Message(tx, "agent", id); return err }, "content", "envelope")
	f.add("tasks", "uid = '"+task.UID+"'", func(tx node.Tx) error { _, err := s.Task(tx, "agent", task.UID); return err }, "copy")
	f.add("strangers", "id = '"+id+"'", func(tx node.Tx) error { _, err := s.StrangerBySHA256(tx, "hash of "+id); return err }, "envelope", "answer")
	f.add("disclosures", "id = '"+told.ID+"'", func(tx node.Tx) error {
		_, err := s.Disclosures(tx, coordination.DisclosureFilter{Contact: "c1@ben.test"}, coordination.Page{Limit: 10})
		return err
	}, "value")
}

// ofPrograms fills what belongs to programs of others.
func (f *filling) ofPrograms(t *testing.T, n int) {
	s, id := f.s, fmt.Sprint("p", n)
	client, authorization := aClient(id), anAuthorization("z"+id, fmt.Sprint("a", n))
	client.Name, authorization.ClientID = "Program "+id, id
	insertClient(t, s, client)
	insertAuthorization(t, s, authorization)
	inTx(t, s, func(tx node.Tx) error {
		return s.InsertSecret(tx, oauth.Secret{
			Hash: id, Kind: oauth.KindCode, AuthorizationID: "z" + id, CreatedAt: start, ExpiresAt: start.Add(time.Minute),
			RedirectURI: "https://program.example/" + id, Challenge: "challenge",
		})
	})
	f.add("oauth_clients", "id = '"+id+"'", func(tx node.Tx) error { _, err := s.OAuthClient(tx, id); return err }, "record")
	f.add("oauth_authorizations", "id = 'z"+id+"'", func(tx node.Tx) error { _, err := s.Authorization(tx, "z"+id); return err }, "resource")
	f.add("oauth_secrets", "hash = '"+id+"'", func(tx node.Tx) error { _, err := s.LockSecret(tx, id); return err }, "record")
}
