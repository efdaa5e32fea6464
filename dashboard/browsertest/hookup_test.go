package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/google/go-cmp/cmp"

	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestToolGroups: the owner ticks what an agent sees over MCP, and nothing else of
// the agent changes.
func TestToolGroups(t *testing.T) {
	t.Parallel()
	browser(t)
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Assisted)
	b := signedIn(t, n)
	b.visit("/agents/" + scout.ID)
	b.says("Tools it sees over MCP", "not what is allowed")
	b.press("Connect and chat.")
	b.press("Ask for approval and act.")
	b.follow("Save the tools")
	b.says("Saved.")
	ticked := eval[[]string](b, `[...document.querySelectorAll("input[name=tools]:checked")].map((e) => e.value)`)
	if diff := cmp.Diff([]string{"read", "tasks"}, ticked); diff != "" {
		t.Errorf("ticked afterwards: %s", diff)
	}
	agents := nodetest.Owner[[]socket.Agent](n, socket.AgentList, nil)
	if want := []policy.ToolGroup{policy.ToolsRead, policy.ToolsTasks}; !cmp.Equal(want, agents[0].Tools) || agents[0].Mode != policy.Assisted {
		t.Errorf("the node has %+v", agents[0])
	}
}

// TestHookUpIsCopied: a click copies the lines, with a clipboard and without one,
// and all of it fits a phone.
func TestHookUpIsCopied(t *testing.T) {
	t.Parallel()
	browser(t)
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Assisted)
	b := signedIn(t, n)
	b.visit("/agents/" + scout.ID)
	b.press("Hook it up")
	b.press("Codex")
	b.press("Copy")
	b.says("Copied")
	want := "agentlink hookup codex " + scout.Address + " --url " + n.Info.AgentsURL + " --write"
	if got := b.pasted(); got != want {
		t.Errorf("copied %q, not %q", got, want)
	}
	eval[bool](b, `Object.defineProperty(navigator, "clipboard", {value: undefined}) === navigator`)
	b.press("Copy")
	b.until("the lines are selected", `getSelection().toString().includes("codex mcp add agentlink --url")`)
	eval[int](b, `[...document.querySelectorAll("details")].map((e) => e.open = true).length`)
	b.check("an agent's page with everything unfolded")
	// The page is longer than its pictures: this is the end of it.
	eval[int](b, `(() => {
		for (const e of [...document.getElementById("tools").parentElement.children]) if (!["tools", "hookup"].includes(e.id)) e.remove();
		for (const d of document.querySelectorAll(".unfold")) d.open = d.id === "claude-code";
		scrollTo(0, 0);
		return 0;
	})()`)
	b.pictures("tools-and-hooking-up")
}

// pasted is what the clipboard holds, as it comes out of it.
func (b *tab) pasted() string {
	b.t.Helper()
	eval[int](b, `(() => { const t = document.createElement("textarea"); document.body.append(t); t.id = "pasted"; t.focus(); return 0 })()`)
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Commands: []string{"paste"}})
	text := eval[string](b, `document.getElementById("pasted").value`)
	eval[int](b, `(document.getElementById("pasted").remove(), 0)`)
	return text
}

// TestHookUpWithoutScripts: the lines are there to be selected, and no button that
// would do nothing.
func TestHookUpWithoutScripts(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Assisted)
	page := n.SignIn().Get("/agents/" + scout.ID)
	if text := page.Text(); !strings.Contains(text, "claude mcp add --scope user --transport http agentlink") {
		t.Errorf("the page says %s", text)
	}
	if shown := strings.Count(page.Body, "data-copy") - strings.Count(page.Body, `hidden>Copy</button>`); shown != 0 {
		t.Errorf("%d buttons are shown that need a script", shown)
	}
}
