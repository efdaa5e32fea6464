package browsertest

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"agentlink/approvals"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
)

// ask lets scout ask for a booking of its own; it gives the approval's id.
func (w *world) ask(venue string) string {
	w.t.Helper()
	return w.scout.Post("/v1/agent/approvals", map[string]any{
		"action": "reservation.book", "parameters": booking("", map[string]any{"venue": venue}),
	}).Want(http.StatusCreated).Text("approvalId")
}

func alone(w *world) { w.unconnected = true }

// status is how an approval stands on Ada's node.
func (w *world) status(id string) approvals.Status {
	w.t.Helper()
	return nodetest.Owner[socket.Approval](w.ada, socket.ApprovalShow, socket.ByID{ID: id}).Status
}

// decisions counts what the log tells of decisions.
func (w *world) decisions() int {
	w.t.Helper()
	return len(nodetest.Owner[[]socket.Event](w.ada, socket.AuditTail, socket.Tail{
		Types: []audit.Type{audit.ApprovalApproved, audit.ApprovalRejected},
	}))
}

// Who has no scripts decides with the same form.
func TestDecideWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	yes, no := w.ask("Da Piero"), w.ask("Da Maria")
	v := w.ada.SignIn()
	v.Get("/approvals/"+yes).Want(http.StatusOK).Says("Da Piero", "Approve once").
		Submit("Approve once", url.Values{"note": {"Go ahead"}}).Want(http.StatusOK).Says("Approved.", "Go ahead")
	v.Get("/approvals/"+no).Want(http.StatusOK).Submit("Reject", nil).Want(http.StatusOK).Says("Rejected.")
	if w.status(yes) != approvals.Approved || w.status(no) != approvals.Rejected {
		t.Errorf("decided: %s and %s", w.status(yes), w.status(no))
	}
	v.Get("/").Want(http.StatusOK).Says("Nothing waits for you")
}

// Enter in the note decides nothing: it takes a button.
func TestEnterDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	id := w.ask("Da Piero")
	b := signedIn(t, w.ada)
	b.visit("/approvals/" + id)
	b.fill("Note", "not sure yet")
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Enter)))
	time.Sleep(500 * time.Millisecond)
	if got := w.status(id); got != approvals.Pending {
		t.Fatalf("Enter made the approval %s", got)
	}
	b.follow("Approve once")
	b.says("Approved.", "not sure yet")
}

// Pressing twice decides once, on the page and under it.
func TestDoubleSubmit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	first, second := w.ask("Da Piero"), w.ask("Da Maria")
	b := signedIn(t, w.ada)
	b.visit("/approvals/" + first)
	b.leaving(func() {
		eval[bool](b, `(() => { const e = [...document.querySelectorAll("button")].find((e) => e.value === "approve"); e.click(); e.click(); return true; })()`)
	})
	b.says("Approved.")

	// Two browsers, or one whose request is sent again.
	page := w.ada.SignIn().Get("/approvals/" + second).Want(http.StatusOK)
	codes := make([]int, 8)
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() { codes[i] = page.Submit("Approve once", nil).Status })
	}
	all.Wait()
	done := 0
	for _, code := range codes {
		if code == http.StatusOK {
			done++
		} else if code != http.StatusConflict {
			t.Errorf("the second of two decisions answers %d", code)
		}
	}
	if done != 1 || w.decisions() != 2 {
		t.Errorf("%d of 8 forms decided, and %d decisions are in the log; want 1 and 2", done, w.decisions())
	}
}

// What offers to show the news covers nothing, at the beginning of a page and at
// its end.
func TestNewsCoverNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	id := w.ask("Da Piero")
	b := signedIn(t, w.ada)
	for _, size := range [][2]int64{{360, 740}, {390, 844}, {800, 560}, {1280, 900}} {
		for _, path := range []string{"/", "/approvals/" + id, "/settings", "/agents/" + w.scout.ID} {
			b.size(size[0], size[1])
			b.visit(path)
			b.connected()
			w.ask("Da Maria " + strconv.FormatInt(size[0], 10) + path)
			b.says("Something has changed")
			for _, place := range []string{"0", "document.documentElement.scrollHeight"} {
				eval[bool](b, "scrollTo(0, "+place+"), true")
				if under := eval[[]string](b, covered); len(under) > 0 {
					t.Errorf("%s at %d x %d, scrolled to %s: it covers %s", path, size[0], size[1], place, under)
				}
			}
		}
	}
}

// covered is the texts and controls that lie where the news is offered.
const covered = `(() => {
	const news = document.querySelector("#news"), at = news.querySelector("a").getBoundingClientRect();
	const hits = (r) => r.width > 1 && r.height > 1 && r.left < at.right && r.right > at.left && r.top < at.bottom && r.bottom > at.top;
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
	for (let n; n = texts.nextNode();) {
		const range = document.createRange();
		range.selectNodeContents(n);
		if (n.data.trim() && !news.contains(n) && getComputedStyle(n.parentElement).visibility === "visible" && !n.parentElement.closest(".unseen, .skip")
			&& [...range.getClientRects()].some(hits)) found.push(n.data.trim());
	}
	for (const e of document.querySelectorAll("a, button, input, select, textarea")) {
		if (!news.contains(e) && [...e.getClientRects()].some(hits)) found.push(e.outerHTML.slice(0, 80));
	}
	return found;
})()`

// What is new moves nothing under the pointer: the click decides what was shown.
func TestNewApprovalMovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	shown := w.ask("Da Piero")
	b := signedIn(t, w.ada)
	b.visit("/")
	b.says("Da Piero")
	b.connected()
	const place = `(() => { const r = document.querySelector("a.ask").getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`
	before := eval[[]float64](b, place)
	fresh := w.ask("Da Maria")
	b.says("Something has changed")
	if after := eval[[]float64](b, place); after[0] != before[0] || after[1] != before[1] {
		t.Errorf("what was at %v moved to %v", before, after)
	}
	b.lacks("Da Maria")
	b.leaving(func() { b.clickAt(before[0], before[1]) })
	b.says("Da Piero")
	next := w.ask("Da Carlo")
	b.says("Something has changed")
	b.follow("Approve once")
	b.says("Approved.")
	for id, want := range map[string]approvals.Status{shown: approvals.Approved, fresh: approvals.Pending, next: approvals.Pending} {
		if got := strings.TrimSpace(string(w.status(id))); got != string(want) {
			t.Errorf("an approval is %s, want %s", got, want)
		}
	}
}
