package browsertest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/network"

	"agentlink/actions"
	"agentlink/actions/executor/calendar"
	"agentlink/actions/executor/reservation"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// world is two people's nodes, each with an agent; the agents are connected.
type world struct {
	t             testing.TB
	ada, ben      *nodetest.Node
	scout, juno   *nodetest.Agent
	ofScout       socket.Connection // as Ada's node has it
	ofJuno        socket.Connection // as Ben's has it
	executors     []actions.Executor
	settings      map[string]string
	scoutM, junoM policy.Mode
	unconnected   bool
}

// newWorld starts both nodes: Ada's agent is assisted, Ben's manual.
func newWorld(t testing.TB, change ...func(*world)) *world {
	t.Helper()
	w := &world{
		t: t, scoutM: policy.Assisted, junoM: policy.Manual,
		executors: []actions.Executor{reservation.Executor{}, calendar.Executor{}},
	}
	for _, f := range change {
		f(w)
	}
	w.ada = nodetest.Start(t, nodetest.Options{Owner: "Ada", Executors: w.executors, Settings: w.settings})
	w.ben = nodetest.Start(t, nodetest.Options{Owner: "Ben", Executors: w.executors, Settings: w.settings})
	w.scout, w.juno = w.ada.CreateAgent("scout", w.scoutM), w.ben.CreateAgent("juno", w.junoM)
	if !w.unconnected {
		w.ofScout, w.ofJuno = nodetest.Connect(w.scout, w.juno)
	}
	return w
}

// signedIn opens a tab in which a node's owner has signed in, without a click.
func signedIn(t testing.TB, n *nodetest.Node) *tab {
	t.Helper()
	b := open(t, n.DashboardURL())
	b.bring(n.SignIn().Cookies())
	return b
}

// bring puts cookies into the tab.
func (b *tab) bring(cookies []*http.Cookie) {
	b.t.Helper()
	for _, c := range cookies {
		call(b, network.SetCookie, network.SetCookieParams{
			Name: c.Name, Value: c.Value, URL: b.base, HTTPOnly: new(true), SameSite: network.CookieSameSiteStrict,
		})
	}
}

// dinner is the terms of a dinner, with changes; nil leaves a field out.
func dinner(changes map[string]any) map[string]any {
	fields := map[string]any{
		"date": "2031-05-09", "time": "19:30", "timezone": "Europe/Rome", "cuisine": "italian",
		"partySize": 4, "venue": map[string]any{"name": "Da Piero"},
	}
	for name, value := range changes {
		if fields[name] = value; value == nil {
			delete(fields, name)
		}
	}
	return fields
}

// booking is the parameters of a booking of such a dinner.
func booking(uid string, changes map[string]any) map[string]any {
	parameters := map[string]any{"venue": "Da Piero", "date": "2031-05-09", "time": "20:00", "partySize": 4}
	if uid != "" {
		parameters["taskUid"] = uid
	}
	for name, value := range changes {
		parameters[name] = value
	}
	return parameters
}

// allow lets an agent tell a contact these kinds of detail by itself.
func (w *world) allow(n *nodetest.Node, agent *nodetest.Agent, contact string, capabilities ...string) {
	w.t.Helper()
	for _, capability := range capabilities {
		n.Grant(agent, contact, capability, policy.Allow)
	}
}

// start starts a task of scout's; it says what the node answered.
func (w *world) start(title string, fields map[string]any) nodetest.Answer {
	w.t.Helper()
	return w.scout.Post("/v1/agent/tasks", map[string]any{
		"connectionId": w.ofScout.ID, "type": "dinner.coordination", "title": title, "proposal": fields,
	})
}

// arrives waits until an agent's copy of a task says something.
func arrives(agent *nodetest.Agent, t testing.TB, uid, member, want string) {
	t.Helper()
	nodetest.Eventually(t, fmt.Sprintf("the task's %s is %s", member, want), func() bool {
		got := agent.Get("/v1/agent/tasks/" + uid)
		return got.Status == http.StatusOK && got.Text(member) == want
	})
}
