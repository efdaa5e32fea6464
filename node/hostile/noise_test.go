package hostile

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/token"
)

// These are how many bad messages come (S1): at once, and by a contact that has
// the patience to stay below every limit. The second number is for the whole
// 100,000 AGENTLINK_BAD_MESSAGES.
const (
	badAtOnce    = 100_000
	badPatiently = 1_500
)

// TestBadMessages (S1, S19): 100,000 bad messages of one contact, as fast as
// eight connections bring them. None is applied, few are stored, none makes the
// node fail, and an honest contact's messages arrive meanwhile.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	count := badAtOnce
	if raceDetector {
		count /= 10
	}
	w := newWorld(t, 2)
	ana, ben := w.homes[0], w.homes[1]
	w.connect(ben, ana)
	r := newRogue(t, ana, "eve")
	r.connect()
	before, rows := appliedTo(t, ana), ana.looker.sizes(t)
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)

	n := &noise{rogue: r, statuses: map[int]int{}}
	stop := n.make(t, count)
	honest := n.honest(ben)
	took := <-stop
	var after runtime.MemStats
	runtime.ReadMemStats(&after)

	if now := appliedTo(t, ana) - len(honest); now != before {
		t.Errorf("%d messages were applied", now-before)
	}
	stored := 0
	for table, size := range ana.looker.sizes(t) {
		if grown := size - rows[table]; grown > 0 {
			t.Logf("%s has %d more rows", table, grown)
			if table == "messages" {
				stored = grown - len(honest)
			}
		}
	}
	if stored > coordination.MaxRejected {
		t.Errorf("%d were stored", stored)
	}
	for status := range n.statuses {
		if status != 200 && status != 202 && (status < 400 || status >= 500) {
			t.Errorf("a status is %d", status)
		}
	}
	if p95 := percentile(honest, 95); p95 > 2*time.Second {
		t.Errorf("the honest contact's p95 is %s", p95)
	}
	if held := int64(after.Sys-after.HeapReleased) >> 20; held > 300 && !raceDetector {
		t.Errorf("the process, with its attackers, holds %d MiB", held)
	}
	t.Logf("%d messages in %s, %d stored, answers %v; an honest contact's %d messages had p95 %s; the process holds %d MiB",
		count, took.Round(time.Second/10), stored, n.statuses, len(honest), percentile(honest, 95).Round(time.Millisecond), (after.Sys-after.HeapReleased)>>20)
	ana.VerifyAudit()
}

// appliedTo counts what a node has taken in.
func appliedTo(t *testing.T, h *home) int {
	t.Helper()
	return h.looker.count(t, "messages", "direction = 'in' AND status = 'received'") + h.looker.count(t, "tasks", "1 = 1")
}

// noise is what a contact sends that means harm.
type noise struct {
	*rogue
	mu       sync.Mutex
	statuses map[int]int
}

// make sends so many, and tells how long it took.
func (n *noise) make(t *testing.T, count int) <-chan time.Duration {
	t.Helper()
	suite := jsonSuite(t)
	work, done := make(chan int, 64), make(chan time.Duration, 1)
	began := time.Now()
	var senders sync.WaitGroup
	for i := range 8 {
		senders.Go(func() {
			random, bad := rand.New(rand.NewPCG(uint64(i), 3)), newBad(n.rogue, suite)
			for number := range work {
				a := n.post(bad.message(random, number))
				n.mu.Lock()
				n.statuses[a.status]++
				n.mu.Unlock()
				if a.ack.Status == wire.Applied {
					t.Errorf("message %d was applied", number)
				}
			}
		})
	}
	go func() {
		for i := range count {
			work <- i
		}
		close(work)
		senders.Wait()
		done <- time.Since(began)
	}()
	return done
}

// honest lets another contact write meanwhile, and says how long each message
// took to its acknowledgement.
func (n *noise) honest(ben *home) (took []time.Duration) {
	n.t.Helper()
	connection := ben.with(n.home.agent.Address).ID
	for i := range 60 {
		began := time.Now()
		id := ben.post("/messages", map[string]any{"connectionId": connection, "text": fmt.Sprint("honest ", i)}).Want(http.StatusCreated).Text("messageId")
		for ben.looker.count(n.t, "messages", "id = $1 AND status = 'delivered'", id) == 0 {
			if ben.Step(); !ben.waits() {
				continue
			}
			time.Sleep(10 * time.Millisecond) // it was refused, and is tried again
			ben.world.clock.Advance(10 * time.Millisecond)
			if time.Since(began) > 30*time.Second {
				n.t.Fatal("the honest message does not arrive")
			}
		}
		took = append(took, time.Since(began))
		time.Sleep(20 * time.Millisecond)
	}
	return took
}

// bad makes bad messages of many kinds, quickly: what is sealed is sealed once.
type bad struct {
	*rogue
	suite []string
	good  string // a message that would be taken, had it come
	head  string
	eve   party
}

func newBad(r *rogue, suite []string) *bad {
	b := &bad{rogue: r, suite: suite, eve: newParty()}
	b.good = r.sign(token.Envelope, r.sealed(r.claims(wire.Message), "{}"))
	b.head = `{"alg":"EdDSA","kid":"` + r.signer.Fingerprint() + `","typ":"agentlink-envelope+jwt"}`
	return b
}

func (b *bad) message(random *rand.Rand, number int) string {
	e := b.claims(wire.Types[random.IntN(len(wire.Types))])
	if e.Type.ForTask() {
		e.Task, e.Seq = node.RandomIDs{}.New(), 1
	}
	e.Body = "AAAA"
	switch random.IntN(12) {
	case 0:
		return spoiltBytes(random, b.good)
	case 1: // a body that is somebody's JSON
		if len(b.suite) > 0 {
			return b.suite[number%len(b.suite)]
		}
		return "{}"
	case 2: // claims that are
		if len(b.suite) > 0 {
			return b.signRaw(b.head, b.suite[number%len(b.suite)])
		}
		return b.signRaw(b.head, "[]")
	case 3:
		return b.eve.sign(token.Envelope, e)
	case 4:
		return b.eve.signRaw(b.head, canonical(e))
	case 5:
		e.Aud = "nobody@" + b.home.door.host
	case 6:
		e.Iat, e.Exp = e.Iat-7200, e.Iat-3600
	case 7:
		e.V = random.IntN(5) + 2
	case 8:
		return b.signRaw(b.head, strings.Replace(canonical(e), `"v":1`, `"v":1,"V":1`, 1))
	case 9:
		return b.signRaw(b.head, strings.Replace(canonical(e), `"v":1`, `"v":1,"x":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000), 1))
	case 10:
		return strings.Repeat("x", random.IntN(wire.MaxEnvelope+100))
	}
	return b.sign(token.Envelope, e) // signed well, and nobody can open it
}

// TestPatientBadMessages (S1): a contact that stays below the limits and whose
// every message is looked at. What is stored of them stops growing.
func TestPatientBadMessages(t *testing.T) {
	t.Parallel()
	count := badPatiently
	if given := os.Getenv("AGENTLINK_BAD_MESSAGES"); given != "" {
		var err error
		count, err = strconv.Atoi(given)
		must(t, err)
	}
	w := newWorld(t, 1)
	r := newRogue(t, w.homes[0], "eve")
	r.connect()
	before := appliedTo(t, w.homes[0])
	ours := r.home.post("/messages", map[string]any{"connectionId": r.home.with(r.address()).ID, "text": "hello"}).Want(http.StatusCreated).Text("messageId")
	codes := map[string]int{}
	for i := range count {
		w.clock.Advance(1100 * time.Millisecond)
		e := r.claims(wire.Message)
		if i%7 == 0 { // an id that is a message of the node's own
			e.JTI = ours
		}
		e.Body = "AAAA"
		a := r.post(r.sign(token.Envelope, e))
		codes[fmt.Sprint(a.status, " ", a.ack.Code)]++
		if a.ack.Status != wire.Rejected && a.status != http.StatusTooManyRequests {
			t.Fatalf("message %d: %d %s", i, a.status, a.body)
		}
	}
	stored := w.homes[0].looker.count(t, "messages", "status = 'rejected'")
	if stored > coordination.MaxRejected || appliedTo(t, w.homes[0]) != before {
		t.Errorf("%d are stored, %d applied", stored, appliedTo(t, w.homes[0])-before)
	}
	t.Logf("%d messages, %d stored, answers %v", count, stored, codes)
	for table, size := range w.homes[0].looker.sizes(t) {
		if days := 1 + count*11/10/86400; size > days*coordination.MaxRejected+100 {
			t.Errorf("%s has %d rows", table, size)
		}
	}
}
