package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/policy"
)

var (
	saveForm = regexp.MustCompile(`(?s)<form method="post" action="([^"]+)" class="stack">(.*?)</form>`)
	hidden   = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// form is the form on a page that shows a plan: where it goes, with what.
func (p page) form() (action string, fields url.Values) {
	p.t.Helper()
	found := saveForm.FindStringSubmatch(p.want(http.StatusOK).Body)
	if found == nil {
		p.t.Fatalf("no form to save:\n%s", p.Body)
	}
	fields = url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(found[2], -1) {
		fields.Set(field[1], html.UnescapeString(field[2]))
	}
	return html.UnescapeString(found[1]), fields
}

// save sends the form of a page that shows a plan.
func (b *bundle) save(p page) page {
	b.t.Helper()
	return b.post(p.form())
}

// asked has an agent ask for something of which a decision stays.
func (b *bundle) asked(agent policy.Agent, contact string, capabilities ...string) {
	b.t.Helper()
	b.in(func(tx node.Tx) error {
		_, err := b.engine.Decide(tx, policy.Request{AgentID: agent.ID, Contact: contact, Connection: "active", Capabilities: capabilities})
		return err
	})
}

// grantsNow writes an agent's grants as texts.
func (b *bundle) grantsNow(agent policy.Agent) (list []string) {
	b.t.Helper()
	b.in(func(tx node.Tx) error {
		grants, err := b.policy.Grants(tx, agent.ID, nil)
		for _, g := range grants {
			text := strings.TrimSpace(g.Contact + " " + g.Capability + " " + string(g.Mode))
			if !g.Constraints.Empty() {
				text += " constrained"
			}
			if !g.ExpiresAt.IsZero() {
				text += " until " + g.ExpiresAt.Format(time.RFC3339)
			}
			list = append(list, text)
		}
		return err
	})
	return list
}

func (b *bundle) wantGrants(agent policy.Agent, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.grantsNow(agent)); diff != "" {
		b.t.Errorf("the grants (-want +got):\n%s", diff)
	}
}

// TestModeTakesTwoSteps: looked at, then saved.
func TestModeTakesTwoSteps(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Assisted)
	b.asked(scout, "juno@b.example", policy.MessageSend)
	at := "/agents/" + scout.ID
	shown := b.get(at+"/mode?mode=manual").want(http.StatusOK).says(
		"becomes", "waits for you with everything", "Send a chat message", "Goes ahead", "Waits for you",
		"It would have turned the one decision", "Went ahead, and would have waited for you", "juno@b.example", "Make it manual",
	).lacks("ask opens", "turn opens", "asked for your passkey")
	if b.agentNow(scout.ID).Mode != policy.Assisted {
		t.Fatal("looking changed the mode")
	}
	b.save(shown).leadsTo(at + "?done=saved")
	if b.agentNow(scout.ID).Mode != policy.Manual {
		t.Error("saving did not change the mode")
	}
	b.get(at + "/mode?mode=manual").says("Nothing: it is so already.")
	b.get(at + "/mode?mode=bold").want(http.StatusBadRequest)
	b.get(at + "/mode").want(http.StatusBadRequest)

	b.save(b.get(at + "/mode?mode=autonomous").says("asked for your passkey")).leadsTo(at + "?done=saved")
	if b.agentNow(scout.ID).Mode != policy.Autonomous {
		t.Error("the agent did not become autonomous")
	}
}

// TestEachFormSavesItsOwn: what needs a fresh session has a route of its own, and
// the others do not take it.
func TestEachFormSavesItsOwn(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Manual)
	at := "/agents/" + scout.ID
	for path, fields := range map[string]url.Values{
		"/mode":            {"mode": {"autonomous"}},
		"/mode/autonomous": {"mode": {"assisted"}},
		"/grants/change":   {"capability": {"disclose.*"}, "mode": {"allow"}},
		"/grants/allow":    {"capability": {"disclose.*"}, "mode": {"ask"}},
	} {
		fields.Set("rev", "1")
		b.post(at+path, fields).want(http.StatusBadRequest).says("is not saved by this form")
	}
	for _, path := range []string{"/mode", "/grants/remove"} {
		b.post(at+path, url.Values{"mode": {"assisted"}, "grant": {"x"}}).want(http.StatusBadRequest).says("rev")
	}
	if now := b.agentNow(scout.ID); now.Mode != policy.Manual || len(b.grantsNow(scout)) != 0 {
		t.Errorf("something was saved: %+v", now)
	}
}

// TestAPlanIsSavedAsItWasShown: where the rules have changed meanwhile, it is shown
// again, and nothing is saved.
func TestAPlanIsSavedAsItWasShown(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Assisted)
	at := "/agents/" + scout.ID
	mode := b.get(at + "/mode?mode=manual")
	grant := b.get(at + "/grants/change?capability=disclose.dietary&mode=allow&for=1d&contact=juno%40b.example")
	b.grant(scout, "", "disclose.dietary", policy.Deny)
	for _, shown := range []page{mode, grant} {
		again := b.save(shown).want(http.StatusSeeOther).Header.Get("Location")
		b.save(b.get(again).says("changed meanwhile", "Nothing was saved")).want(http.StatusSeeOther)
	}
	b.wantGrants(scout, "disclose.dietary deny", "juno@b.example disclose.dietary allow until 2026-05-02T12:00:00Z")
	if b.agentNow(scout.ID).Mode != policy.Manual {
		t.Error("the mode was not saved the second time")
	}
}

// TestGrantThatOpens: what was refused and would go ahead stands in red, and an
// exact agent-wide allow is said to come before the contact's wildcard.
func TestGrantThatOpens(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Assisted), b.agent("juno", policy.Assisted)
	b.connect(scout, juno)
	b.asked(scout, "bert@b.example", policy.DiscloseDietary)              // refused: no grant
	b.asked(scout, address(juno), policy.TaskPropose, "disclose.dietary") // held: the contact's ask
	at := "/agents/" + scout.ID
	shown := b.get(at+"/grants/change?capability=disclose.dietary&mode=allow&for=7d").says(
		"share dietary needs", "without asking you, until 8 May 2026",
		"turn opens", "It is refused today.",
		"Refused, and would have gone ahead", "Waited for you, and would have gone ahead without you",
		"It opens for one contact, although grants of their own hold it back today",
		"It would have turned 2 of the 2 decisions",
	)
	b.save(shown).leadsTo(at + "/grants?done=saved")
	b.wantGrants(scout, "disclose.dietary allow until 2026-05-08T12:00:02Z", address(juno)+" action.* ask", address(juno)+" disclose.* ask")

	b.get(at+"/grants?contact="+url.QueryEscape(address(juno))).want(http.StatusOK).says(
		"Grants for this contact", "Agent-wide grants, which can count here too",
		"even an agent-wide one before a contact", `href="/contacts/`,
	)
}

// TestGrantInsteadOfAStricterOne: ask beats allow, so that the contact's ask goes,
// unless the owner keeps it.
func TestGrantInsteadOfAStricterOne(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Assisted), b.agent("juno", policy.Assisted)
	b.connect(scout, juno)
	at := "/agents/" + scout.ID + "/grants"
	query := "?capability=disclose.*&mode=allow&contact=" + url.QueryEscape(address(juno))
	b.get(at+"/change"+query+"&beside=yes").want(http.StatusOK).says(
		"The ask for the same capability stays and counts before this allow", "Nothing: the answers stay what they are.",
	)
	b.get(at + "/change" + query + "&for=1h").says("The ask is removed for good. It does not come back when this allow ends.")
	b.save(b.get(at+"/change"+query).says("Removed with it", "disclose.*")).
		leadsTo(at + "?contact=" + url.QueryEscape(address(juno)) + "&done=saved")
	b.wantGrants(scout, address(juno)+" action.* ask", address(juno)+" disclose.* allow")
}

// TestGrantKeepsItsConstraints, and shows them.
func TestGrantKeepsItsConstraints(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Assisted)
	limit := 30.5
	var grant policy.Grant
	b.in(func(tx node.Tx) (err error) {
		grant, err = b.policy.SetGrant(tx, b.owner, policy.NewGrant{
			AgentID: scout.ID, Contact: "juno@b.example", Capability: "disclose.budget", Mode: policy.Allow,
			Constraints: &policy.Constraints{MaxAmount: &limit, AllowedValues: map[string][]any{"currency": {"EUR", true, 5.0}}},
			ExpiresAt:   b.clock.Now().Add(90 * time.Second),
		})
		return err
	})
	at := "/agents/" + scout.ID + "/grants"
	constrained := []string{"is at most 30.5", "currency", "is “EUR” or true or 5"}
	b.get(at+"?grant="+grant.ID).want(http.StatusOK).chosen("allow").says(constrained...).says(
		"Constraints, which stay as they are", `value="disclose.budget"`, `value="2026-05-01T12:01:30"`, "Change a grant",
	)
	shown := b.get(at + "/change?contact=juno%40b.example&capability=disclose.budget&mode=allow").says(constrained...)
	b.save(shown).want(http.StatusSeeOther)
	b.wantGrants(scout, "juno@b.example disclose.budget allow constrained")
	b.get(at + "?contact=juno%40b.example").says(constrained...).says("Only where")
}

func TestGrantIsRemoved(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, other := b.agent("scout", policy.Assisted), b.agent("other", policy.Assisted)
	grant := b.grant(scout, "", "message.send", policy.Deny)
	at := "/agents/" + scout.ID + "/grants"
	back := "/contacts/01890a5d-ac96-774b-bcce-b302099a8057"
	b.get("/agents/" + other.ID + "/grants/remove?grant=" + grant.ID).want(http.StatusNotFound)
	b.get(at + "/remove?grant=none").want(http.StatusNotFound)
	b.save(b.get(at+"/remove?grant="+grant.ID+"&back="+back).says("message.send deny", "ends.", "turn opens")).leadsTo(back + "?done=removed")
	b.wantGrants(scout)
}

// TestGrantFormIsCorrected: what was typed stays, with the reason; nothing leads
// elsewhere.
func TestGrantFormIsCorrected(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Assisted)
	at := "/agents/" + scout.ID + "/grants"
	for query, says := range map[string]string{
		"capability=root&mode=allow":                                        "capability",
		"capability=disclose.x&mode=perhaps":                                "mode",
		"capability=disclose.x&mode=ask&for=2y":                             "for",
		"capability=disclose.x&mode=ask&for=until":                          "until",
		"capability=disclose.x&mode=ask&for=until&until=soon":               "until",
		"capability=disclose.x&mode=ask&for=1d&until=2027-01-01T10%3A00":    "choose one of them",
		"capability=disclose.x&mode=ask&for=until&until=2020-01-01T10%3A00": "must be in the future",
	} {
		capability := strings.TrimPrefix(strings.Split(query, "&")[0], "capability=")
		b.get(at+"/change?"+query).want(http.StatusBadRequest).says(says, `value="`+capability+`"`)
	}
	for _, contact := range []string{"juno", "Juno@B.example", "<script>"} {
		b.get(at + "?contact=" + url.QueryEscape(contact)).want(http.StatusBadRequest).lacks("<script>alert")
		b.get(at + "/change?capability=disclose.x&mode=ask&contact=" + url.QueryEscape(contact)).want(http.StatusBadRequest)
	}
	b.save(b.get(at + "/change?capability=disclose.shoe-size&mode=ask&until=2026-06-01T10%3A00&back=%2F%2Fevil.example").lacks("evil.example")).
		leadsTo(at + "?done=saved")
	b.wantGrants(scout, "disclose.shoe-size ask until 2026-06-01T10:00:00Z")
	b.get("/agents/01890a5d-ac96-774b-bcce-b302099a8057/grants").want(http.StatusNotFound)
	b.get(at + "?grant=none").want(http.StatusNotFound)
}

// TestGrantThatDoesNotDoWhatItSays: the mode holds what it allows.
func TestGrantThatDoesNotDoWhatItSays(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Manual)
	at := "/agents/" + scout.ID + "/grants/change?mode=allow&capability="
	b.get(at + "action.*").says("scout is not autonomous: connecting and actions wait for you all the same")
	b.get(at + "task.*").says("scout is in manual mode: messages and tasks wait for you all the same")
	b.in(func(tx node.Tx) error {
		_, err := b.policy.SetStatus(tx, b.owner, scout.ID, policy.Disabled)
		return err
	})
	b.get(at+"disclose.notes").says("scout is disabled and can do nothing", "turn opens")
}

// TestManyDecisions: the page says how many it has not looked at, and how many it
// does not list.
func TestManyDecisions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Assisted)
	b.in(func(tx node.Tx) error {
		for i := range policy.MaxReplayed + 5 {
			contact := "c" + string(rune('a'+i%25)) + "@b.example"
			err := b.store.InsertDecision(tx, policy.Record{
				Decision: policy.Decision{ID: node.RandomIDs{}.New(), Outcome: policy.Held, RulesRev: 1, Answers: []policy.Answer{{Capability: policy.MessageSend}}},
				OwnerID:  "owner", AgentID: scout.ID, At: tx.Now(), TaskUID: "t1",
				Facts: policy.Facts{Contact: contact, Connection: "active", Capabilities: []string{policy.MessageSend}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	b.get("/agents/"+scout.ID+"/mode?mode=manual").says(
		"Only the newest 2,000 decisions were looked at", "It would have turned 2,000 of the 2,000 decisions",
		"And more of this kind, not listed: 400 times.", "And 60 earlier.", "It waited for you, by the rules of that day.", `href="/tasks/t1"`,
	)
}
