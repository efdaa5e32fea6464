package hostile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/token"
)

// stage is where one type of message would be taken, and what it would say.
type stage struct {
	typ wire.Type
	// set makes everything ready, and gives the message without a number.
	set func(r *rogue) (uid string, seq int64, content string)
	// ends says that the unchanged message is taken in the end. Of a request to a
	// contact, and the rest that has no place on an active connection, it is not.
	ends bool
}

var stages = []stage{
	{wire.Message, func(*rogue) (string, int64, string) { return "", 0, `{"text":"hello"}` }, true},
	{wire.ConnectionRequest, func(r *rogue) (string, int64, string) { return "", 0, r.request() }, false},
	{wire.ConnectionAccept, func(*rogue) (string, int64, string) { return "", 0, `{"request":"` + anID + `"}` }, true},
	{wire.ConnectionReject, func(*rogue) (string, int64, string) { return "", 0, `{"request":"` + anID + `"}` }, false},
	{wire.TaskCreate, func(r *rogue) (string, int64, string) {
		uid := node.RandomIDs{}.New()
		return uid, 1, strings.Replace(r.createContent(), "PROPOSAL", proposal(uid, 1, coordination.Initiator), 1)
	}, true},
	{wire.TaskPropose, func(r *rogue) (string, int64, string) {
		uid := r.creates()
		return uid, 2, proposal(uid, 2, coordination.Initiator)
	}, true},
	{wire.TaskRespond, func(r *rogue) (string, int64, string) {
		uid := r.creates()
		r.home.post("/tasks/"+uid+"/proposals", map[string]any{"fields": dinner("21:00")}).Want(http.StatusCreated)
		r.home.Step()
		latest := r.home.task(uid).Proposals[1]
		return uid, 2, fmt.Sprintf(`{"version":2,"digest":%q,"decision":"accept"}`, latest.Digest)
	}, true},
	{wire.TaskCancel, func(r *rogue) (string, int64, string) { return r.creates(), 2, `{"reason":"ill"}` }, true},
	{wire.TaskConfirm, func(r *rogue) (string, int64, string) {
		uid := r.creates()
		r.home.post("/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"}).Want(http.StatusCreated)
		r.home.Step()
		return uid, 2, fmt.Sprintf(`{"version":1,"digest":%q,"action":"reservation.book","code":"AL-1","executedAt":%q}`,
			coordination.Digest(uid, coordination.Initiator, 1, []byte(fields)), r.home.world.clock.Now().Format(time.RFC3339))
	}, true},
	{wire.TaskVoid, func(r *rogue) (string, int64, string) { return r.creates(), 2, `{"jti":"` + anID + `"}` }, true},
	{wire.KeyRotate, func(*rogue) (string, int64, string) { return "", 0, `{}` }, false},
	{wire.KeyAnswer, func(*rogue) (string, int64, string) { return "", 0, `{}` }, false},
	{wire.ConnectionRevoke, func(*rogue) (string, int64, string) { return "", 0, `{}` }, true},
}

// leastMutants is how many of each type are thrown (S1).
const leastMutants = 200

// TestMutantsOfEachType (S1): a contact that signs properly sends each type of
// message, spoilt in 200 ways, where the unspoilt one would be taken: none is,
// nothing that the owner sees changes, and the answers tell nothing. Then the
// unspoilt one comes, and is taken.
func TestMutantsOfEachType(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	r := newRogue(t, w.homes[0], "eve")
	r.connect()
	random := rand.New(rand.NewPCG(1, 2))
	if got, want := len(stages), len(wire.Types); got != want {
		t.Fatalf("%d stages of %d types", got, want)
	}
	for _, s := range stages {
		p := &mutating{rogue: r, stage: s}
		p.uid, p.seq, p.content = s.set(r)
		p.before = p.seen()
		for name, mutate := range mutations(random, p) {
			p.try(name, mutate)
		}
		if p.count < leastMutants {
			t.Errorf("%s: only %d mutants", s.typ, p.count)
		}
		if a := r.post(r.envelope(p.claims(), p.content)); s.ends && a.ack.Status != wire.Applied {
			t.Errorf("%s: the message itself: %d %s %+v", s.typ, a.status, a.body, a.ack)
		}
		t.Logf("%s: %d mutants, answers %v", s.typ, p.count, p.statuses)
	}
	w.homes[0].VerifyAudit()
}

// mutating is one type on its stage.
type mutating struct {
	*rogue
	stage    stage
	uid      string
	seq      int64
	content  string
	before   string
	count    int
	statuses map[string]int
}

// claims are those of the message with the number that is next.
func (p *mutating) claims() wire.Envelope {
	e := p.rogue.claims(p.stage.typ)
	if p.stage.typ.ForTask() {
		e.Task, e.Seq = p.uid, p.seq
		e.Exp = p.home.world.clock.Now().Add(24 * time.Hour).Unix()
		if p.stage.typ == wire.TaskRespond {
			e.Ack = 1
		}
	}
	return e
}

// seen is what the owner sees: contacts, messages and tasks, but for what was
// rejected.
func (p *mutating) seen() string {
	p.t.Helper()
	task := ""
	if p.stage.typ.ForTask() && p.stage.typ != wire.TaskCreate {
		task = fmt.Sprint(p.home.task(p.uid))
	}
	return fmt.Sprint(p.home.with(p.address()), task, p.home.looker.count(p.t, "messages", "status <> 'rejected'"),
		p.home.looker.count(p.t, "tasks", "1 = 1"), p.home.looker.count(p.t, "connections", "1 = 1"), p.home.looker.count(p.t, "outbox", "1 = 1"))
}

// try sends one mutant. It is far enough from the last one that no limit stands
// before the checks.
func (p *mutating) try(name string, mutate func(e wire.Envelope) string) {
	p.t.Helper()
	if p.count++; p.statuses == nil {
		p.statuses = map[string]int{}
	}
	p.home.world.clock.Advance(90 * time.Second)
	a := p.post(mutate(p.claims()))
	p.statuses[fmt.Sprint(a.status, " ", a.ack.Code)]++
	switch {
	case a.status == http.StatusOK && a.ack.Status == wire.Rejected:
		if p.stage.typ.ForTask() && a.ack.Ack >= p.seq {
			p.seq = a.ack.Ack + 1
		}
	case a.status == http.StatusAccepted && p.stage.typ == wire.ConnectionRequest:
		p.home.Step() // it waited for the card of its sender, which knows nothing of it
	case a.status != http.StatusBadRequest && a.status != http.StatusUnauthorized && a.status != http.StatusRequestEntityTooLarge:
		p.t.Errorf("%s, %s: %d %s", p.stage.typ, name, a.status, a.body)
	}
	if a.ack.Code == wire.CodeDigestMismatch && p.stage.typ == wire.TaskConfirm {
		// A contact that says to have booked something else is told to the owner (D4).
		if task := p.home.task(p.uid); task.Status != coordination.Agreed || task.Disagreement == "" {
			p.t.Fatalf("%s: status %s, disagreement %q", name, task.Status, task.Disagreement)
		}
		p.before = p.seen()
	}
	if after := p.seen(); after != p.before {
		p.t.Fatalf("%s, %s: something has changed:\n%s\n%s\nanswer %+v", p.stage.typ, name, p.before, after, a)
	}
}

// mutations are the ways to spoil a message: its bytes, its claims, the sealed
// part, and the content in it.
func mutations(random *rand.Rand, p *mutating) map[string]func(e wire.Envelope) string {
	r, all := p.rogue, map[string]func(wire.Envelope) string{}
	for i := range 60 {
		all[fmt.Sprint("bytes ", i)] = func(e wire.Envelope) string { return spoiltBytes(random, r.envelope(e, p.content)) }
	}
	const header = `{"alg":"EdDSA","kid":"KID","typ":"agentlink-envelope+jwt"}`
	head := strings.Replace(header, "KID", r.signer.Fingerprint(), 1)
	for name, spoil := range spoils("v", "iss", "aud", "jti", "iat", "exp", "type", "body") {
		all["claims: "+name] = func(e wire.Envelope) string {
			return r.signRaw(head, spoil(canonical(r.sealed(e, canonical(innerOf(e, p.content))))))
		}
	}
	for name, spoil := range spoils("iss", "aud", "jti", "type", "author", "content") {
		all["sealed: "+name] = func(e wire.Envelope) string {
			return r.sign(token.Envelope, r.sealed(e, spoil(canonical(innerOf(e, p.content)))))
		}
	}
	for name, spoil := range spoils(slices.Sorted(maps.Keys(members(p.content)))...) {
		if required := !strings.HasPrefix(name, "without "); required {
			all["content: "+name] = func(e wire.Envelope) string {
				return r.sign(token.Envelope, r.sealed(e, strings.Replace(canonical(innerOf(e, `"CONTENT"`)), `"CONTENT"`, spoil(p.content), 1)))
			}
		}
	}
	for name, compact := range forgeries(r, head) {
		all["forged: "+name] = func(e wire.Envelope) string { return compact(e, p.content) }
	}
	return all
}

// forgeries are right in everything but who signed, and as what.
func forgeries(r *rogue, head string) map[string]func(e wire.Envelope, content string) string {
	claims := func(e wire.Envelope, content string) wire.Envelope {
		return r.sealed(e, canonical(innerOf(e, content)))
	}
	eve := newParty()
	as := func(header string) func(wire.Envelope, string) string {
		return func(e wire.Envelope, content string) string { return r.signRaw(header, canonical(claims(e, content))) }
	}
	return map[string]func(wire.Envelope, string) string{
		"another key":          func(e wire.Envelope, c string) string { return eve.sign(token.Envelope, claims(e, c)) },
		"another key, our kid": func(e wire.Envelope, c string) string { return eve.signRaw(head, canonical(claims(e, c))) },
		"another kid":          as(strings.Replace(head, r.signer.Fingerprint(), eve.signer.Fingerprint(), 1)),
		"alg none":             as(strings.Replace(head, "EdDSA", "none", 1)),
		"alg HS256":            as(strings.Replace(head, "EdDSA", "HS256", 1)),
		"alg in another case":  as(strings.Replace(head, "EdDSA", "eddsa", 1)),
		"a receipt":            func(e wire.Envelope, c string) string { return r.sign(token.Receipt, claims(e, c)) },
		"an acknowledgement":   func(e wire.Envelope, c string) string { return r.sign(token.Ack, claims(e, c)) },
		"a card":               func(e wire.Envelope, c string) string { return r.sign(token.Card, claims(e, c)) },
		"an access token":      func(e wire.Envelope, c string) string { return r.sign(token.Access, claims(e, c)) },
		"a key in the header":  as(strings.Replace(head, "{", `{"jwk":{"kty":"OKP"},`, 1)),
		"crit in the header":   as(strings.Replace(head, "{", `{"crit":["exp"],`, 1)),
		"b64 in the header":    as(strings.Replace(head, "{", `{"b64":false,`, 1)),
		"no signature":         func(e wire.Envelope, c string) string { s := r.envelope(e, c); return s[:strings.LastIndex(s, ".")+1] },
		"two signatures": func(e wire.Envelope, c string) string {
			s := r.envelope(e, c)
			return s + s[strings.LastIndex(s, "."):]
		},
		"the body of another": func(e wire.Envelope, c string) string {
			other := r.claims(e.Type)
			e.Body = r.sealed(e, canonical(innerOf(other, c))).Body
			return r.sign(token.Envelope, e)
		},
		"sealed for nobody": func(e wire.Envelope, c string) string {
			e.Body = base64.RawURLEncoding.EncodeToString([]byte("age-encryption.org/v1\n"))
			return r.sign(token.Envelope, e)
		},
		"in the name of the node": func(e wire.Envelope, c string) string { e.Iss = e.Aud; return r.envelope(e, c) },
		"for nobody": func(e wire.Envelope, c string) string {
			e.Aud = "nobody@" + strings.SplitN(e.Aud, "@", 2)[1]
			return r.envelope(e, c)
		},
		"for another node": func(e wire.Envelope, c string) string { e.Aud = "ana@node.example"; return r.envelope(e, c) },
		"from the future":  func(e wire.Envelope, c string) string { e.Iat += 302; e.Exp += 302; return r.envelope(e, c) },
		"over":             func(e wire.Envelope, c string) string { e.Iat -= 3600; e.Exp = e.Iat + 3000; return r.envelope(e, c) },
		"for too long":     func(e wire.Envelope, c string) string { e.Exp += 70 * 24 * 3600; return r.envelope(e, c) },
		"version 0":        func(e wire.Envelope, c string) string { e.V = 0; return r.envelope(e, c) },
		"version 2":        func(e wire.Envelope, c string) string { e.V = 2; return r.envelope(e, c) },
		"a type that is none": func(e wire.Envelope, c string) string {
			e.Type, e.Task, e.Seq, e.Ack = "approval.decide", "", 0, 0
			return r.envelope(e, c)
		},
		"a number that is too large": func(e wire.Envelope, c string) string { e.Seq += 1 << 40; return r.envelope(e, c) },
		"a negative number":          func(e wire.Envelope, c string) string { e.Seq = -1; return r.envelope(e, c) },
		"a task of nobody":           func(e wire.Envelope, c string) string { e.Task = "../../etc/passwd"; return r.envelope(e, c) },
	}
}

func canonical(value any) string { return string(node.MustCanonical(value)) }

func members(object string) (all map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(object), &all)
	return all
}

// spoils are the ways to spoil a JSON object with these members.
func spoils(names ...string) map[string]func(object string) string {
	all := map[string]func(string) string{
		"an unknown member": func(o string) string { return `{"approved":true,` + o[1:] },
		"deep": func(o string) string {
			return `{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "," + o[1:]
		},
		"very deep": func(o string) string {
			return `{"x":` + strings.Repeat(`{"a":`, 3000) + "1" + strings.Repeat("}", 3000) + "," + o[1:]
		},
		"twice":             func(o string) string { return o + o },
		"in an array":       func(o string) string { return "[" + o + "]" },
		"in a string":       func(o string) string { quoted, _ := json.Marshal(o); return string(quoted) },
		"a comment":         func(o string) string { return "/**/" + o },
		"a byte order mark": func(o string) string { return "\ufeff" + o },
		"a null byte":       func(o string) string { return o + "\x00" },
		"not UTF-8":         func(o string) string { return "{\"\xff\":1," + o[1:] },
		"a lone surrogate":  func(o string) string { return `{"\ud800":1,` + o[1:] },
		"cut":               func(o string) string { return o[:len(o)-1] },
		"a trailing comma":  func(o string) string { return o[:len(o)-1] + ",}" },
		"null":              func(string) string { return "null" },
		"empty":             func(string) string { return "" },
	}
	for _, name := range names {
		quoted := `"` + name + `"`
		replace := func(to func(value string) string) func(string) string {
			return func(o string) string {
				value := string(members(o)[name])
				return strings.Replace(o, quoted+":"+value, quoted+":"+to(value), 1)
			}
		}
		all["without "+name] = func(o string) string {
			rest := members(o)
			delete(rest, name)
			return canonical(rest)
		}
		all[name+" twice"] = func(o string) string { return "{" + quoted + ":" + string(members(o)[name]) + "," + o[1:] }
		all[name+" in another case"] = func(o string) string {
			return strings.Replace(o, quoted+":", strings.ToUpper(quoted[:2])+quoted[2:]+":", 1)
		}
		all[name+" in both cases"] = func(o string) string {
			return "{" + strings.ToUpper(quoted) + ":" + string(members(o)[name]) + "," + o[1:]
		}
		all[name+" in an array"] = replace(func(v string) string { return "[" + v + "]" })
		all[name+" in an object"] = replace(func(v string) string { return `{"a":` + v + "}" })
		all[name+" true"] = replace(func(string) string { return "true" })
		all[name+" beyond 2^53"] = replace(func(string) string { return "9007199254740993" })
		all[name+" beyond all"] = replace(func(string) string { return "1e400" })
		all[name+" half"] = replace(func(string) string { return "0.5" })
		all[name+" minus one"] = replace(func(string) string { return "-1" })
	}
	return all
}

func spoiltBytes(random *rand.Rand, original string) string {
	for {
		mutant := []byte(original)
		at := random.IntN(len(mutant))
		switch random.IntN(4) {
		case 0:
			mutant[at] ^= byte(1 + random.IntN(255))
		case 1:
			mutant = append(mutant[:at], mutant[at+1:]...)
		case 2:
			mutant = append(mutant[:at], append([]byte{byte(random.IntN(256))}, mutant[at:]...)...)
		case 3:
			mutant = mutant[:at]
		}
		if string(mutant) != original {
			return string(mutant)
		}
	}
}

// jsonSuite are the texts of the JSONTestSuite: a skip in one line where a
// stranger's clone has none.
func jsonSuite(t *testing.T) (texts []string) {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "shared", "vectors", "jsontestsuite")
	entries, err := os.ReadDir(folder)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("the public vectors are not there: %v", err)
	}
	if err != nil {
		t.Log("without the JSONTestSuite: ../shared/vectors is not there")
		return nil
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		must(t, err)
		texts = append(texts, string(text))
	}
	return texts
}
