package hostile

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/node/outbox"
	"agentlink/node/token"
)

// faults are the ways in which a peer fails to answer.
var faults = []fault{
	{name: "silence", arrives: true, answer: func(_ http.ResponseWriter, r *http.Request, _ post) { <-r.Context().Done() }},
	{name: "one byte a second", arrives: true, answer: dribbles},
	{name: "TLS that breaks", tls: "broken"},
	{name: "a certificate that nobody trusts", tls: "forged"},
	{name: "429", answer: says(429, nil, "")},
	{name: "429 with Retry-After", answer: says(429, http.Header{"Retry-After": {"600"}}, ""), asks: 10 * time.Minute},
	{name: "429 with too long a Retry-After", answer: says(429, http.Header{"Retry-After": {"86400"}}, ""), asks: outbox.MaxPause},
	{name: "500", answer: says(500, nil, `{"error":{"code":"internal"}}`)},
	{name: "503", answer: says(503, nil, "")},
	{name: "503, and it had arrived", arrives: true, answer: says(503, nil, "")},
	{name: "502 with a page", answer: says(502, http.Header{"Content-Type": {"text/html"}}, "<html>Bad gateway</html>")},
	{name: "200 and nothing", answer: says(200, nil, "")},
	{name: "200 and garbage", arrives: true, answer: says(200, nil, "\x00\xff\xfe not a token")},
	{name: "200 and a page", answer: says(200, http.Header{"Content-Type": {"text/html"}}, "<html>Welcome</html>")},
	{name: "a body that is cut", arrives: true, answer: func(w http.ResponseWriter, _ *http.Request, truth post) {
		w.Header().Set("Content-Length", fmt.Sprint(len(truth.answer)))
		_, _ = w.Write(truth.answer[:len(truth.answer)/2])
	}},
	{name: "a connection that is cut", arrives: true, answer: func(http.ResponseWriter, *http.Request, post) { panic(http.ErrAbortHandler) }},
	{name: "signed by another key", arrives: true, answer: func(w http.ResponseWriter, _ *http.Request, truth post) {
		writeToken(w, newParty().sign(token.Ack, truth.ack()))
	}},
	{name: "about another envelope", answer: aboutAnother},
	{name: "redirect to loopback", answer: redirects},
}

// dribbles tells the truth, a byte a second.
func dribbles(w http.ResponseWriter, r *http.Request, truth post) {
	for _, b := range truth.answer {
		_, _ = w.Write([]byte{b})
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func says(status int, header http.Header, body string) func(http.ResponseWriter, *http.Request, post) {
	return func(w http.ResponseWriter, _ *http.Request, _ post) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func writeToken(w http.ResponseWriter, compact string) {
	w.Header().Set("Content-Type", "application/jose")
	_, _ = w.Write([]byte(compact))
}

// aboutAnother answers with an acknowledgement that the peer did sign: for a
// message that came before. It is put in by play.
func aboutAnother(w http.ResponseWriter, r *http.Request, _ post) {
	earlier, _ := r.Context().Value(http.ServerContextKey).(*http.Server).Handler.(*door).earlier.Load().([]byte)
	writeToken(w, string(earlier))
}

// redirects sends the client elsewhere, by each of the ways in turn.
func redirects(w http.ResponseWriter, r *http.Request, _ post) {
	d := r.Context().Value(http.ServerContextKey).(*http.Server).Handler.(*door)
	n := int(d.redirected.Add(1))
	w.Header().Set("Location", []string{d.url + "/elsewhere", "http://169.254.169.254/latest/meta-data/"}[n%2])
	w.WriteHeader([]int{301, 302, 307, 308}[n/2%4])
}

// TestFaultyPeers: fifty messages for a peer that fails for a whole day, in each
// of these ways. It is asked a hundred times at most, less and less often; when
// it is well again, everything arrives: once, and of each task in order.
func TestFaultyPeers(t *testing.T) {
	t.Parallel()
	for i, f := range faults {
		if raceDetector && i%4 != 1 { // it costs five times as much
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, f)
			p.fail(f)
			asked := p.day()
			p.wantBackOff(asked, f.asks)
			p.recover()
			p.wantAll()
			if n := p.ben.door.elsewhere.Load(); n != 0 {
				t.Errorf("%d requests to where it was sent", n)
			}
		})
	}
}

// play is ana, who has fifty messages for ben.
type play struct {
	t        *testing.T
	world    *world
	ana, ben *home
	uids     []string
}

const (
	playTasks  = 7
	proposals  = 6 // in each, the first of which comes with the task
	playChats  = 8
	playWrites = playTasks*proposals + playChats
)

func newPlay(t *testing.T, f fault) *play {
	t.Helper()
	w := emptyWorld(t)
	w.patience = 200 * time.Millisecond
	w.add("ana", newDoor(t))
	scheme := "http"
	if f.tls != "" {
		scheme = "https"
	}
	p := &play{t: t, world: w, ana: w.homes[0], ben: w.add("ben", openDoor(t, scheme))}
	w.connect(p.ana, p.ben)
	return p
}

// fail makes ben's node fail, and lets ana write.
func (p *play) fail(f fault) {
	p.t.Helper()
	seen := p.ben.door.seen()
	p.ben.door.earlier.Store(seen[len(seen)-1].answer)
	p.ben.door.fault.Store(&f)
	for range playTasks {
		p.uids = append(p.uids, p.ana.starts(p.ben.agent.Address))
	}
	for version := 2; version <= proposals; version++ {
		for _, uid := range p.uids {
			p.ana.post("/tasks/"+uid+"/proposals", map[string]any{"fields": dinner(fmt.Sprintf("20:%02d", version))}).Want(http.StatusCreated)
		}
	}
	for i := range playChats {
		p.ana.post("/messages", map[string]any{"connectionId": p.ana.with(p.ben.agent.Address).ID, "text": fmt.Sprintf("chat %d", i)}).Want(http.StatusCreated)
	}
}

// day lets ana's node try for a day, and says when it did.
func (p *play) day() (asked []time.Time) {
	p.t.Helper()
	before, began := len(p.ben.door.seen()), p.world.clock.Now()
	for p.world.clock.Now().Before(began.Add(24 * time.Hour)) {
		p.ana.Step()
		if !p.ana.next() {
			p.t.Fatal("nothing waits any more")
		}
	}
	for _, post := range p.ben.door.seen()[before:] {
		asked = append(asked, post.at)
	}
	return asked
}

// wantBackOff: a hundred times a day at most, at first after a second, in the end
// every quarter of an hour and a bit, and never before the time that was asked for.
func (p *play) wantBackOff(asked []time.Time, pause time.Duration) {
	p.t.Helper()
	if len(asked) > 100 || len(asked) < 50 {
		p.t.Errorf("the peer was asked %d times in a day", len(asked))
	}
	var gaps []time.Duration
	for i := 1; i < len(asked); i++ {
		if gap := asked[i].Sub(asked[i-1]); gap > 0 { // what came together is one round
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) < 10 {
		p.t.Fatalf("gaps %v", gaps)
	}
	longest := outbox.MaxPause + outbox.MaxPause/4 + 2*time.Second
	if least, most := slices.Min(gaps), slices.Max(gaps); least < time.Second || least < pause || most > longest || most < outbox.MaxPause/2 {
		p.t.Errorf("pauses from %s to %s, asked for %s", least, most, pause)
	}
	if pause == 0 && gaps[0] > 3*time.Second {
		p.t.Errorf("the first pause is %s", gaps[0])
	}
	p.t.Logf("asked %d times in a day; pauses from %s to %s", len(asked), slices.Min(gaps).Round(time.Millisecond), slices.Max(gaps).Round(time.Second))
}

// recover makes ben's node well, and lets time go on until nothing waits.
func (p *play) recover() {
	p.t.Helper()
	p.ben.door.fault.Store(nil)
	healed := p.world.clock.Now()
	for rounds := 0; ; rounds++ {
		p.ana.Step()
		if !p.ana.next() {
			break
		}
		if rounds > 500 {
			p.t.Fatal("it never ends")
		}
	}
	if took := p.world.clock.Now().Sub(healed); took > 2*outbox.MaxPause {
		p.t.Errorf("it took %s", took)
	}
}

// wantAll: each message came in once, and those of a task in order.
func (p *play) wantAll() {
	p.t.Helper()
	if n := p.ben.looker.count(p.t, "messages", "direction = 'in' AND status = 'received' AND type IN ('message', 'task.create', 'task.propose')"); n != playWrites {
		p.t.Errorf("%d of %d messages were received", n, playWrites)
	}
	if n := p.ana.looker.count(p.t, "messages", "direction = 'out' AND status = 'delivered' AND type IN ('message', 'task.create', 'task.propose')"); n != playWrites {
		p.t.Errorf("%d of %d messages are delivered", n, playWrites)
	}
	for _, uid := range p.uids {
		ours, theirs := p.ana.task(uid), p.ben.task(uid)
		if len(theirs.Proposals) != proposals || theirs.OutOfStep || theirs.Status != coordination.Negotiating {
			p.t.Errorf("a task has %d proposals, status %s, out of step %v", len(theirs.Proposals), theirs.Status, theirs.OutOfStep)
		}
		for i, proposal := range theirs.Proposals {
			if proposal.Version != i+1 || proposal.Digest != ours.Proposals[i].Digest {
				p.t.Errorf("proposal %d is version %d", i+1, proposal.Version)
			}
		}
	}
	p.wantSameBytes()
	p.ana.VerifyAudit()
	p.ben.VerifyAudit()
}

// wantSameBytes: however often a message left, it left as the same bytes.
func (p *play) wantSameBytes() {
	p.t.Helper()
	first := map[string]string{}
	for _, post := range p.ben.door.seen() {
		id := post.claims().JTI
		if id == "" { // a handshake
			continue
		}
		if known, again := first[id]; again && known != string(post.envelope) {
			p.t.Errorf("two envelopes for message %s", id)
		}
		first[id] = string(post.envelope)
	}
}
