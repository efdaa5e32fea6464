package browsertest

import (
	"testing"

	"agentlink/node/nodetest"
)

// A one-time link opens the dashboard; it works once.
func TestSignInByLink(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	link := n.SignInLink()
	b := open(t, n.DashboardURL())
	b.visit(link)
	b.follow("Sign in")
	b.says("Nothing waits for you")
	if b.path() != "/" {
		t.Errorf("signing in leads to %s", b.path())
	}
	other := open(t, n.DashboardURL())
	other.visit(link)
	other.says("used already")
	other.visit("/")
	other.says("Sign in")
}
