package browsertest

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// shifted is the machine's clock, ahead or behind by what a test says.
type shifted struct{ by atomic.Int64 }

// Now implements node.Clock.
func (c *shifted) Now() time.Time { return node.SystemClock{}.Now().Add(time.Duration(c.by.Load())) }

// An approval that expires on an open page says so within two seconds, and is no
// longer offered; the node takes no decision either.
func TestExpiresOnOpenPage(t *testing.T) {
	t.Parallel()
	browser(t)
	const life = 10 * time.Second
	clock := &shifted{}
	clock.by.Store(int64(life - 24*time.Hour)) // what is asked now has ten seconds left once it is today
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	scout := n.CreateAgent("scout", policy.Assisted)
	id := scout.Post("/v1/agent/approvals", map[string]any{
		"action": "reservation.book", "parameters": booking("", nil),
	}).Want(http.StatusCreated).Text("approvalId")
	expires := n.Pending().ExpiresAt
	clock.by.Store(0)

	v := n.SignIn()
	form := v.Get("/approvals/" + id).Want(http.StatusOK)
	b, home := signedIn(t, n), signedIn(t, n)
	home.visit("/")
	b.visit("/approvals/" + id)
	if left := time.Until(expires); left < time.Second {
		t.Fatalf("the machine was too slow: %v are left", left)
	}
	b.says("in ")
	if eval[bool](b, offered) != true {
		t.Error("it is not offered while there is time")
	}
	for _, page := range []*tab{home, b} {
		page.until("the page says that it expired", overText)
		if late := time.Since(expires); late > 2*time.Second {
			t.Errorf("a page said so %v after it expired", late)
		}
	}
	if eval[bool](b, offered) {
		t.Error("Approve can still be pressed")
	}
	time.Sleep(time.Until(expires)) // a page counts whole seconds
	form.Submit("Approve once", nil).Want(http.StatusConflict)
	b.visit("/approvals/" + id)
	b.says("expired")
	b.lacks("rejected")
	b.lacks("Approve once")
}

// overText says whether all that counts down on a page says that it is over.
const overText = `(() => {
	const clocks = [...document.querySelectorAll("time[data-expires]")];
	return clocks.length > 0 && clocks.every((e) => e.textContent === "expired");
})()`

// offered says whether Approve can be pressed.
const offered = `[...document.querySelectorAll("button[value=approve]")].some((e) => !e.disabled)`
