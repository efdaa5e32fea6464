package browsertest

import (
	"net/http"
	"testing"
	"time"

	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/node/owner"
	"agentlink/policy"
)

// A change of mode shows what it would turn, changes nothing by that, and is saved
// by a second step, which asks for the password where it opens something.
func TestModeChangeWithPreview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(w.scout, w.ofScout.ID, "Shall we eat?").Want(http.StatusCreated)
	ada := signedIn(t, w.ada)
	ada.visit("/agents")
	ada.follow("scout")
	ada.says("Assisted")
	ada.press("Manual.")
	ada.follow("Show what would change")
	ada.says("If you save this", "manual", "Nothing is changed yet", "In the last 30 days", "would have turned the one decision")
	if got := w.mode(); got != policy.Assisted {
		t.Fatalf("looking made the agent %s", got)
	}
	ada.follow("Leave it as it is")
	ada.press("Manual.")
	ada.follow("Show what would change")
	ada.follow("Make it manual")
	ada.says("Saved.")
	if got := w.mode(); got != policy.Manual {
		t.Fatalf("saving made the agent %s", got)
	}
	w.say(w.scout, w.ofScout.ID, "And now?").Want(http.StatusAccepted)
}

func (w *world) mode() policy.Mode {
	w.t.Helper()
	for _, agent := range nodetest.Owner[[]socket.Agent](w.ada, socket.AgentList, nil) {
		if agent.ID == w.scout.ID {
			return agent.Mode
		}
	}
	w.t.Fatal("there is no scout")
	return ""
}

// What opens something asks for the password once more when that was a while ago,
// and goes on where it was.
func TestAutonomousAsksAgain(t *testing.T) {
	t.Parallel()
	browser(t)
	clock := &shifted{}
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	scout := n.CreateAgent("scout", policy.Assisted)
	b := signedIn(t, n)
	clock.by.Store(int64(owner.FreshTime + time.Minute))
	b.visit("/agents/" + scout.ID)
	b.press("Autonomous.")
	b.follow("Show what would change")
	b.says("becomes autonomous")
	b.follow("Make it autonomous")
	b.says("Confirm that it is you")
	b.fill("Password", nodetest.Password)
	b.follow("Confirm")
	b.says("becomes autonomous", "Nothing is changed yet")
	b.follow("Make it autonomous")
	b.says("Saved.", "Autonomous")
}
