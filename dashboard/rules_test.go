package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestRulesOfOnesOwn: a text is looked at, corrected, saved as it was shown, and
// removed; nothing is saved where the rules have changed meanwhile.
func TestRulesOfOnesOwn(t *testing.T) {
	t.Parallel()
	clock := node.NewFakeClock(noon)
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	n.CreateAgent("scout", policy.Autonomous)
	v := n.SignIn()
	const text = "package overlay\r\n\r\ndecision := \"hold\"\r\n"
	page := v.Get("/settings").Follow("/settings/rules").Want(http.StatusOK).Says("There are none now.")
	page.Submit("See what they would do", url.Values{"rules": {"package overlay\ndecision := time.now_ns()"}}).
		Want(http.StatusOK).Says("line 2: undefined function time.now_ns")
	looked := page.Submit("See what they would do", url.Values{"rules": {text}}).Want(http.StatusOK).Says("This text can be your rules")
	v.Get("/settings/rules").Want(http.StatusOK).Says("There are none now.")
	looked.Submit("Save these rules", nil).Want(http.StatusOK).Says("Saved.").Says("number 1")
	looked.Submit("Save these rules", nil).Want(http.StatusOK).Says("Your own rules were changed meanwhile.")
	v.Get("/settings/rules").Submit("See what they would do", url.Values{"rules": {" \n"}}).
		Submit("Hold no rules of my own", nil).Want(http.StatusOK).Says("There are none now.")
	clock.Advance(time.Hour)
	v.Get("/settings/rules").Want(http.StatusOK).Says("Confirm that it is you")
}
