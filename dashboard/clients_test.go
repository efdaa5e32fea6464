package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/oauth"
	"agentlink/policy"
)

// program registers a program of somebody else's, and gives what it asks with.
func (b *bundle) program(name string) url.Values {
	b.t.Helper()
	raw, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{"https://program.example/callback"}})
	b.must(err)
	var made oauth.Registered
	b.in(func(tx node.Tx) error {
		made, err = b.clients.Register(tx, raw)
		return err
	})
	return url.Values{
		"client_id": {made.ClientID}, "response_type": {"code"}, "state": {`a "state"`}, "code_challenge": {strings.Repeat("A", 43)},
		"code_challenge_method": {"S256"}, "resource": {"http://" + host + "/mcp"},
	}
}

func consent(query url.Values) string { return "/oauth/authorize?" + query.Encode() }

// sentTo is where the page leads the browser.
func (p page) sentTo() *url.URL {
	p.t.Helper()
	_, address, _ := strings.Cut(p.want(http.StatusOK).Header.Get("Refresh"), "0; url=")
	to, err := url.Parse(address)
	if err != nil || to.Host != "program.example" {
		p.t.Fatalf("leads to %q", address)
	}
	return to
}

// happened counts the events of a type.
func (b *bundle) happened(kind audit.Type) (count int) {
	b.t.Helper()
	b.in(func(tx node.Tx) error {
		rows, err := b.store.AuditRows(tx, audit.Filter{Types: []audit.Type{kind}})
		count = len(rows)
		return err
	})
	return count
}

func TestConsent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	query := b.program("Pro\u202egram <b>")
	b.get(consent(query)).want(http.StatusOK).says("No agent is enabled").lacks("Approve<")
	scout, juno := b.agent("scout", policy.Assisted), b.agent("juno", policy.Manual)
	shown := b.get(consent(query)).want(http.StatusOK).says(`Pro\u{202E}gram &lt;b&gt;`, "program.example", "nobody: it registered by itself", "Assisted.", "Manual.")
	shown.lacks("checked")
	b.post(consent(query), url.Values{}).want(http.StatusBadRequest).says("Choose the agent", "Approve<")
	b.post(consent(query), url.Values{"agent": {"0197"}}).want(http.StatusNotFound)
	b.in(func(tx node.Tx) error {
		_, err := b.policy.SetStatus(tx, b.owner, juno.ID, policy.Disabled)
		return err
	})
	b.get(consent(query)).chosen(scout.ID).lacks(juno.ID) // the only one that is enabled
	b.post(consent(query), url.Values{"agent": {juno.ID}}).want(http.StatusConflict)
	if b.happened(audit.ClientAuthorized) != 0 {
		t.Fatal("something was approved")
	}
	to := b.post(consent(query), url.Values{"agent": {scout.ID}}).says("acts as scout").sentTo()
	if !strings.HasPrefix(to.Query().Get("code"), "alc_") || to.Query().Get("state") != `a "state"` || to.Query().Get("iss") != "http://"+host {
		t.Errorf("the answer is %s", to)
	}
	if b.happened(audit.ClientAuthorized) != 1 {
		t.Error("the approval is not in the log")
	}
	b.get(consent(query)).says("yes") // approved before
	to = b.post("/oauth/authorize/refuse?"+query.Encode(), url.Values{}).says("The program gets nothing").sentTo()
	if to.Query().Get("error") != "access_denied" || to.Query().Has("code") {
		t.Errorf("the refusal is %s", to)
	}
	b.get("/activity").says("You let a program act as an agent", "You refused a program", "A program registered", `Pro\u{202E}gram &lt;b&gt;`)
}

// TestConsentNeedsTheOwner: approving is confirmed, and the request is there again
// afterwards; refusing is not.
func TestConsentNeedsTheOwner(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, query := b.agent("scout", policy.Assisted), b.program("Program")
	b.visitor.Fresh = false
	b.get(consent(query)).want(http.StatusOK)
	r := formRequest(consent(query), url.Values{"agent": {scout.ID}, "csrf": {b.visitor.CSRF}})
	r.Header.Set("Referer", "http://"+host+consent(query))
	b.send(r).leadsTo("/confirm?next=" + url.QueryEscape(consent(query)))
	b.post("/oauth/authorize/refuse?"+query.Encode(), url.Values{}).sentTo()
	visitor := b.visitor
	b.visitor = nil
	b.get(consent(query)).leadsTo("/login?next=" + url.QueryEscape(consent(query)))
	b.post(consent(query), url.Values{"agent": {scout.ID}}).want(http.StatusSeeOther)
	b.visitor = visitor
	if b.happened(audit.ClientAuthorized) != 0 {
		t.Error("something was approved")
	}
}

// TestConsentThatIsRefused: what is wrong stands on the page, on which nothing
// leads away by itself, and to the program only where it is the program's.
func TestConsentThatIsRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Assisted)
	for _, test := range []struct {
		name, value, says string
		back              bool
	}{
		{"client_id", "nobody", "does not know the program", false},
		{"client_id", "https://localhost/client.json", "names itself by an address that cannot be used", false},
		{"redirect_uri", "https://elsewhere.example/callback", "has not registered", false},
		{"code_challenge_method", "plain", "PKCE", true},
		{"resource", "https://elsewhere.example/mcp", "something else than this node", true},
	} {
		query := b.program("Program")
		query.Set(test.name, test.value)
		asked, sent := b.get(consent(query)), b.post(consent(query), url.Values{"agent": {scout.ID}})
		asked.says(test.says)
		for _, p := range []page{asked, sent} {
			p.want(http.StatusBadRequest)
			if p.Header.Get("Refresh") != "" || p.Header.Get("Location") != "" {
				t.Errorf("%s=%s: the page leads away by itself", test.name, test.value)
			}
			if strings.Contains(p.Body, "https://program.example/callback?error=") != test.back {
				t.Errorf("%s=%s: leads back: want %v:\n%s", test.name, test.value, test.back, p.Body)
			}
			p.lacks("elsewhere.example/callback")
		}
	}
	if b.happened(audit.ClientAuthorized) != 0 {
		t.Error("something was approved")
	}
}

// TestConnectedPrograms: the agent's page lists who acts as it, and disconnects.
func TestConnectedPrograms(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Assisted), b.agent("juno", policy.Assisted)
	b.get("/agents/"+scout.ID).says("Connected programs", "http://"+host+"/mcp")
	query := b.program("Program <i>")
	b.post(consent(query), url.Values{"agent": {scout.ID}}).sentTo()
	b.get("/agents/" + scout.ID).lacks("Program &lt;i&gt;") // which has not come for its tokens
	var id string
	b.in(func(tx node.Tx) error {
		rows, err := b.store.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.ClientAuthorized}})
		b.must(err)
		id = rows[0].Subject
		_, err = b.store.UseAuthorization(tx, id, b.clock.Now(), b.clock.Now().Add(oauth.RefreshTime))
		return err
	})
	b.get("/agents/"+scout.ID).says("Program &lt;i&gt;", "program.example", "/clients/"+id+"/revoke")
	b.get("/agents/" + juno.ID).lacks("Program &lt;i&gt;")
	b.post("/agents/"+juno.ID+"/clients/"+id+"/revoke", url.Values{}).want(http.StatusNotFound)
	b.post("/agents/"+scout.ID+"/clients/"+id+"/revoke", url.Values{}).leadsTo("/agents/" + scout.ID + "?done=disconnected")
	b.get("/agents/" + scout.ID + "?done=disconnected").says("The program is disconnected.").lacks("Program &lt;i&gt;")
	b.post("/agents/"+scout.ID+"/clients/"+id+"/revoke", url.Values{}).want(http.StatusNotFound)
}
