package peer

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/token"
)

// question is a valid one of ben's about the heads of its log that ana keeps.
func (w *world) question(change func(*wire.WitnessRequest)) wire.WitnessRequest {
	now := w.clock.Now()
	q := wire.WitnessRequest{V: wire.Version, Iss: ben, Aud: ana, JTI: node.RandomIDs{}.New(), Iat: now.Unix(), Exp: now.Add(time.Minute).Unix()}
	if change != nil {
		change(&q)
	}
	return q
}

func held(n int64, seal string) wire.HeldHead {
	return wire.HeldHead{Head: wire.Head{N: n, Seal: seal}, At: start.Unix()}
}

// TestTestimony: an active contact is told what is kept of its own log, and of
// nobody else's, signed for its very question.
func TestTestimony(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := []wire.HeldHead{held(7, "seven"), held(3, "three")}
	w.state.kept = map[string][]wire.HeldHead{"connection of " + ben: mine, "connection of eve@peer.example": {held(9, "hers")}}
	q := w.question(nil)
	response, text := do(t, "POST", serve(t, w).URL+wire.WitnessPath, nil, bytes.NewReader(w.peer.sign(t, token.WitnessRequest, q)))
	var got wire.WitnessAnswer
	if err := token.Open(token.WitnessAnswer, w.us.signer.PublicKey(), text, &got); response.StatusCode != http.StatusOK || err != nil {
		t.Fatalf("%d %s: %v", response.StatusCode, text, err)
	}
	want := wire.WitnessAnswer{Iss: ana, Aud: ben, Ref: q.JTI, Heads: mine, Iat: start.Unix()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNobodyElseIsTold: whatever is wrong with a question, its answer is the same
// in every byte, so that nobody learns who is known here.
func TestNobodyElseIsTold(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, w *world) []byte{
		"noise":                    func(*testing.T, *world) []byte { return []byte("noise") },
		"nothing":                  func(*testing.T, *world) []byte { return nil },
		"another key":              asked(nil, func(t *testing.T, w *world) party { return newParty(t) }),
		"no such contact":          asked(func(q *wire.WitnessRequest) { q.Iss = "eve@peer.example" }, nil),
		"no such agent":            asked(func(q *wire.WitnessRequest) { q.Aud = "nobody@" + ourHost }, nil),
		"an agent of another host": asked(func(q *wire.WitnessRequest) { q.Aud = "ana@elsewhere.example" }, nil),
		"no address":               asked(func(q *wire.WitnessRequest) { q.Iss = "eve" }, nil),
		"too old":                  asked(func(q *wire.WitnessRequest) { q.Iat, q.Exp = q.Iat-1000, q.Exp-1000 }, nil),
		"too new":                  asked(func(q *wire.WitnessRequest) { q.Iat, q.Exp = q.Iat+1000, q.Exp+1000 }, nil),
		"good for too long":        asked(func(q *wire.WitnessRequest) { q.Exp += 3600 }, nil),
		"another version":          asked(func(q *wire.WitnessRequest) { q.V = 2 }, nil),
		"an id that is none":       asked(func(q *wire.WitnessRequest) { q.JTI = "1" }, nil),
		"another kind of object":   func(t *testing.T, w *world) []byte { return w.peer.sign(t, token.Envelope, w.question(nil)) },
		"an envelope":              func(t *testing.T, w *world) []byte { return w.envelope(t, w.peer, wire.Message, nil) },
		"one claim more": func(t *testing.T, w *world) []byte {
			return w.peer.sign(t, token.WitnessRequest, map[string]any{"v": 1, "x": 1})
		},
		"a connection that ended":   standing(func(c *coordination.Connection) { c.Status = coordination.ConnRevoked }),
		"one that waits":            standing(func(c *coordination.Connection) { c.Status = coordination.PendingIncoming }),
		"one that asks":             standing(func(c *coordination.Connection) { c.Status = coordination.PendingOutgoing }),
		"one with another key now":  standing(func(c *coordination.Connection) { c.KeyChanged = true }),
		"a key that cannot be used": standing(func(c *coordination.Connection) { c.Peer.PublicKey = []byte{1} }),
	}
	answers := map[string][]string{}
	for name, ask := range cases {
		w := newWorld(t)
		w.state.kept = map[string][]wire.HeldHead{"connection of " + ben: {held(7, "seven")}}
		response, text := do(t, "POST", serve(t, w).URL+wire.WitnessPath, nil, bytes.NewReader(ask(t, w)))
		response.Header.Del("Date")
		var all bytes.Buffer
		if err := response.Header.Write(&all); err != nil {
			t.Fatal(err)
		}
		answer := response.Status + "\n" + all.String() + text
		answers[answer] = append(answers[answer], name)
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", name, answer)
		}
	}
	if len(answers) != 1 {
		t.Errorf("they can be told apart: %v", answers)
	}
}

func asked(change func(*wire.WitnessRequest), by func(*testing.T, *world) party) func(*testing.T, *world) []byte {
	return func(t *testing.T, w *world) []byte {
		from := w.peer
		if by != nil {
			from = by(t, w)
		}
		return from.sign(t, token.WitnessRequest, w.question(change))
	}
}

func standing(change func(*coordination.Connection)) func(*testing.T, *world) []byte {
	return func(t *testing.T, w *world) []byte {
		c := w.state.connections[ana+" "+ben]
		change(&c)
		w.state.connections[ana+" "+ben] = c
		return w.peer.sign(t, token.WitnessRequest, w.question(nil))
	}
}

// TestQuestionsAreCounted: of a contact, and of everybody else.
func TestQuestionsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := serve(t, w)
	ask := func(body []byte) int {
		response, _ := do(t, "POST", server.URL+wire.WitnessPath, nil, bytes.NewReader(body))
		return response.StatusCode
	}
	for i := range witnessPerMinute + 5 {
		want := 200
		if i >= witnessPerMinute {
			want = 429
		}
		if got := ask(w.peer.sign(t, token.WitnessRequest, w.question(nil))); got != want {
			t.Errorf("question %d: %d, want %d", i, got, want)
		}
	}
	if got := ask([]byte("noise")); got != 401 {
		t.Errorf("noise beside them: %d", got)
	}
	for range unknownPerMinute {
		ask([]byte("noise"))
	}
	if got := ask([]byte("noise")); got != 429 {
		t.Errorf("much noise: %d", got)
	}
	w.clock.Advance(time.Minute)
	if got := ask(w.peer.sign(t, token.WitnessRequest, w.question(nil))); got != 200 {
		t.Errorf("a minute later: %d", got)
	}
}

func TestTheWitnessDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := serve(t, w)
	for _, tt := range []struct {
		name, method string
		header       http.Header
		body         string
		status       int
	}{
		{"reading", "GET", nil, "", 405},
		{"too large", "POST", nil, strings.Repeat("x", wire.MaxWitness+1), 413},
		{"encoded", "POST", http.Header{"Content-Encoding": {"gzip"}}, "x", 400},
	} {
		response, text := do(t, tt.method, server.URL+wire.WitnessPath, tt.header, strings.NewReader(tt.body))
		if response.StatusCode != tt.status {
			t.Errorf("%s: %d %s", tt.name, response.StatusCode, text)
		}
	}
	w.setDown(true)
	response, text := do(t, "POST", server.URL+wire.WitnessPath, nil, bytes.NewReader(w.peer.sign(t, token.WitnessRequest, w.question(nil))))
	if response.StatusCode != 503 || strings.Contains(text, "secret") {
		t.Errorf("a database that is down: %d %s", response.StatusCode, text)
	}
}

// TestWhoReadsHeadsSaysSo: a head is only for a sender that knows what it is.
func TestWhoReadsHeadsSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := serve(t, w)
	for _, tt := range []struct {
		header http.Header
		want   bool
	}{
		{nil, false}, {http.Header{wire.HeadHeader: {wire.HeadWanted}}, true}, {http.Header{wire.HeadHeader: {"0"}}, false},
	} {
		do(t, "POST", server.URL+wire.InboxPath, tt.header, bytes.NewReader(w.envelope(t, w.peer, wire.Message, nil)))
		if got := w.state.received[len(w.state.received)-1].Head; got != tt.want {
			t.Errorf("%v: %v", tt.header, got)
		}
	}
}
