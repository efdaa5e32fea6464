package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

var keyPattern = regexp.MustCompile(`alk_[A-Za-z0-9_-]{43}`)

// agentNow is the agent as it is kept.
func (b *bundle) agentNow(id string) (a policy.Agent) {
	b.t.Helper()
	b.in(func(tx node.Tx) (err error) {
		a, err = b.policy.Agent(tx, id)
		return err
	})
	return a
}

// opens says whether a key opens an agent's door.
func (b *bundle) opens(client, key string) bool {
	b.t.Helper()
	err := b.store.View(b.t.Context(), func(tx node.Tx) error {
		_, err := b.policy.Authenticate(tx, client, key)
		return err
	})
	if err != nil && node.CodeOf(err) != node.Unauthorized {
		b.t.Fatal(err)
	}
	return err == nil
}

// chosen fails the test where a radio button is not the chosen one.
func (p page) chosen(value string) page {
	p.t.Helper()
	return p.says(`value="` + value + `" checked`)
}

func TestAgents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.get("/agents").want(http.StatusOK).says("No agent yet", `href="/agents/new"`)
	scout, juno := b.agent("scout", policy.Assisted), b.agent("juno", policy.Manual)
	b.get("/agents").says("You have 2 agents.", "/agents/"+scout.ID, "/agents/"+juno.ID, "Assisted", "Manual")
	b.in(func(tx node.Tx) error {
		_, err := b.policy.SetStatus(tx, b.owner, juno.ID, policy.Disabled)
		return err
	})
	b.get("/agents").says("1 of them disabled", "Disabled", "It can do nothing until you enable it.")
}

// TestNewAgent: the form starts on manual, and the key is shown this once.
func TestNewAgent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.get("/agents/new").want(http.StatusOK).chosen("manual")
	made := b.post("/agents/new", url.Values{"handle": {"scout"}, "name": {"Sc\u202eout"}, "mode": {"manual"}}).want(http.StatusOK).
		says("This is its key", `Sc\u{202E}out`, "http://"+host+"/oauth/token", "http://"+host+"/v1/agent/me")
	key := keyPattern.FindString(made.Body)
	var agent policy.Agent
	b.in(func(tx node.Tx) (err error) {
		agent, err = b.policy.AgentByHandle(tx, "scout")
		return err
	})
	if agent.Mode != policy.Manual || !b.opens("scout", key) || strings.Count(made.Body, key) != 1 {
		t.Errorf("created %+v, key %q", agent, key)
	}
	for _, path := range []string{"/agents", "/agents/" + agent.ID, "/agents/" + agent.ID + "/key"} {
		if again := b.get(path).want(http.StatusOK); keyPattern.MatchString(again.Body) {
			t.Errorf("%s shows a key", path)
		}
	}
	b.in(func(tx node.Tx) error {
		rows, err := b.store.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.AgentCreated}})
		if len(rows) != 1 || rows[0].ActorKind != node.ActorOwner || !strings.HasPrefix(rows[0].Via, "dashboard session=") {
			t.Errorf("the log says %+v", rows)
		}
		return err
	})
}

// TestNewAgentIsCorrected: what was typed stays, with the reason.
func TestNewAgentIsCorrected(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.agent("scout", policy.Manual)
	b.post("/agents/new", url.Values{"handle": {"scout"}, "name": {"Second"}, "mode": {"assisted"}}).want(http.StatusConflict).
		says("has the handle", `value="Second"`).chosen("assisted")
	b.post("/agents/new", url.Values{"handle": {"No!"}, "mode": {"manual"}}).want(http.StatusBadRequest).says("handle", `value="No!"`)
	b.post("/agents/new", url.Values{"handle": {"second"}}).want(http.StatusBadRequest).says("mode")
	b.get("/agents").says("You have one agent.")
}

// TestWhatHandsOutPowerNeedsAFreshSession: a session that was left open makes no
// key, opens nothing, and finds its way back. It can stop an agent.
func TestWhatHandsOutPowerNeedsAFreshSession(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Manual)
	grant := b.grant(scout, "", "disclose.*", policy.Deny)
	b.visitor.Fresh = false
	at := "/agents/" + scout.ID
	for _, path := range []string{"/agents/new", at + "/key"} {
		b.get(path).leadsTo("/confirm?next=" + url.QueryEscape(path))
	}
	rev := []string{"3"}
	for path, form := range map[string]url.Values{
		"/agents/new":           {"handle": {"eve"}, "mode": {"autonomous"}},
		at + "/key":             nil,
		at + "/enable":          nil,
		at + "/mode/autonomous": {"mode": {"autonomous"}, "rev": rev},
		at + "/grants/allow":    {"capability": {"disclose.*"}, "mode": {"allow"}, "rev": rev},
		at + "/grants/remove":   {"grant": {grant.ID}, "rev": rev},
	} {
		if answer := b.post(path, form).want(http.StatusSeeOther); !strings.HasPrefix(answer.Header.Get("Location"), "/confirm?") {
			t.Errorf("%s leads to %s", path, answer.Header.Get("Location"))
		}
	}
	if now := b.agentNow(scout.ID); now.Mode != policy.Manual || now.KeyGeneration != 1 || now.RulesRev != 2 {
		t.Errorf("something changed: %+v", now)
	}
	b.post(at+"/disable", nil).leadsTo(at + "?done=disabled")
}

func TestAgentPage(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Assisted), b.agent("juno", policy.Assisted)
	b.connect(scout, juno)
	b.grant(scout, "", "disclose.dietary", policy.Allow)
	b.grant(scout, "", "action.my.own", policy.Ask)
	b.get("/agents/"+scout.ID).want(http.StatusOK).chosen("assisted").says(
		"scout writes by itself", "scout@"+host, scout.ID,
		"Share dietary needs", "A grant allows it", "agent-wide",
		"action.my.own", // a name of the owner's own stands among the answers
		"Waits for you towards", "juno@"+host, "a grant says to ask you",
		"The first rule comes before the third.", // where precedence surprises
		"Plain HTTP", "curl -su scout",
	)
	b.get("/agents/01890a5d-ac96-774b-bcce-b302099a8057").want(http.StatusNotFound)
}

func TestAgentStatusAndKey(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := keyPattern.FindString(b.post("/agents/new", url.Values{"handle": {"scout"}, "mode": {"manual"}}).Body)
	var scout policy.Agent
	b.in(func(tx node.Tx) (err error) {
		scout, err = b.policy.AgentByHandle(tx, "scout")
		return err
	})
	at := "/agents/" + scout.ID
	b.post(at+"/disable", nil).leadsTo(at + "?done=disabled")
	b.get(at+"?done=disabled").says("The agent is disabled", "scout can do nothing", "Enable", "The agent is disabled")
	if b.opens("scout", first) {
		t.Error("a disabled agent's key opens its door")
	}
	b.post(at+"/enable", nil).leadsTo(at + "?done=enabled")
	b.get(at + "/key").want(http.StatusOK).says("Replace the key")
	second := keyPattern.FindString(b.post(at+"/key", nil).want(http.StatusOK).says("This is the new key").Body)
	if b.opens("scout", first) || !b.opens("scout", second) {
		t.Error("the new key does not take the place of the old one")
	}
	b.get(at).says("Replaced 1 time")
	for _, path := range []string{"/disable", "/enable", "/key"} {
		b.post("/agents/01890a5d-ac96-774b-bcce-b302099a8057"+path, nil).want(http.StatusNotFound)
	}
}
