package dashboard_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/dashboard"
	"agentlink/node"
	"agentlink/policy"
)

// couple is two agents of which one has asked the other to connect.
func couple(t *testing.T) (b *bundle, scout, juno policy.Agent, asked coordination.Connection) {
	t.Helper()
	t.Parallel()
	b = newBundle(t)
	scout, juno = b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous)
	b.request(juno, scout)
	b.in(func(tx node.Tx) error {
		asked = b.connection(tx, scout, juno)
		return nil
	})
	return b, scout, juno, asked
}

// requestArrives carries a request to connect: the other side reads our card
// before it takes it in.
func (b *bundle) requestArrives() {
	b.t.Helper()
	b.deliver()
	b.steps(b.strangers.Step)
	b.clock.Advance(2 * time.Second)
	b.deliver()
}

func (b *bundle) connectionNow(id string) (c coordination.Connection) {
	b.t.Helper()
	b.in(func(tx node.Tx) (err error) {
		c, err = b.store.Connection(tx, id)
		return err
	})
	return c
}

func (b *bundle) wantConnection(id string, status coordination.ConnectionStatus) {
	b.t.Helper()
	if got := b.connectionNow(id).Status; got != status {
		b.t.Errorf("the connection is %s, want %s", got, status)
	}
}

func TestContactAccepted(t *testing.T) {
	b, _, juno, asked := couple(t)
	b.get("/contacts").want(http.StatusOK).says("Who asks to connect", address(juno), "/contacts/"+asked.ID)
	fingerprint := b.identity.Signer.Fingerprint()
	b.get("/contacts/"+asked.ID).want(http.StatusOK).says("asks to connect with", "<li>"+fingerprint[:4]+"</li>", "<li>"+fingerprint[48:]+"</li>", "Accept")
	b.post("/contacts/"+asked.ID, url.Values{"decision": {"perhaps"}}).want(http.StatusBadRequest)
	b.wantConnection(asked.ID, coordination.PendingIncoming)
	b.post("/contacts/"+asked.ID, url.Values{"decision": {"accept"}}).leadsTo("/contacts/" + asked.ID + "?done=accepted")
	b.wantConnection(asked.ID, coordination.ConnActive)
	b.get("/contacts/"+asked.ID+"?done=accepted").says("Both sides are connected", "are connected", "Write to them", "Grants for this contact", "disclose.*").lacks("Accept<")
	b.get("/contacts").says("Connected").lacks("Who asks to connect")
	b.post("/contacts/"+asked.ID, url.Values{"decision": {"accept"}}).want(http.StatusConflict)
}

func TestContactRejected(t *testing.T) {
	b, _, _, asked := couple(t)
	b.post("/contacts/"+asked.ID, url.Values{"decision": {"reject"}}).leadsTo("/contacts/" + asked.ID + "?done=rejected")
	b.wantConnection(asked.ID, coordination.ConnRejected)
	b.get("/contacts/"+asked.ID).says("the request was rejected").lacks("Accept<", "End the connection", "Write to them")
}

func TestContactOfNobody(t *testing.T) {
	b, _, _, _ := couple(t)
	for _, path := range []string{"/contacts/none", "/contacts/none/revoke", "/messages/none"} {
		b.get(path).want(http.StatusNotFound)
	}
	b.post("/contacts/none", url.Values{"decision": {"accept"}}).want(http.StatusNotFound)
}

func TestStructuredOnly(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous)
	c, _ := b.connect(scout, juno)
	page := "/contacts/" + c.ID
	b.post(page+"/structured", url.Values{"only": {"maybe"}}).want(http.StatusBadRequest)
	b.post(page+"/structured", url.Values{"only": {"yes"}}).leadsTo(page + "?done=saved")
	b.get(page).says("Structured only.", "Let the rules decide")
	b.in(func(tx node.Tx) error {
		result, err := b.coordination.SendMessage(tx, b.actor(scout), c.ID, "hello")
		if result.Status != coordination.StatusPendingApproval {
			t.Errorf("free text is %s", result.Status)
		}
		return err
	})
	b.post(page+"/structured", url.Values{"only": {"no"}}).leadsTo(page + "?done=saved")
	if b.connectionNow(c.ID).StructuredOnly {
		t.Error("it is still structured only")
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous)
	c, _ := b.connect(scout, juno)
	page := "/contacts/" + c.ID
	b.get(page).says(page + "/revoke")
	b.get(page+"/revoke").want(http.StatusOK).says("will no longer reach each other", "Their node is told")
	b.post(page+"/revoke", nil).want(http.StatusBadRequest)
	b.wantConnection(c.ID, coordination.ConnActive)
	b.post(page+"/revoke", url.Values{"confirm": {"yes"}}).leadsTo(page + "?done=revoked")
	b.wantConnection(c.ID, coordination.ConnRevoked)
	b.get(page).says("are no longer connected").lacks("/revoke")
	b.get(page + "/revoke").want(http.StatusConflict)
	b.post(page+"/revoke", url.Values{"confirm": {"yes"}}).want(http.StatusConflict)
}

// A contact that comes back is one entry of the list; its page names the earlier
// connection.
func TestContactComesBack(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous)
	first, _ := b.connect(scout, juno)
	b.in(func(tx node.Tx) error {
		_, err := b.coordination.RevokeConnection(tx, b.ownerOf(scout), first.ID)
		return err
	})
	b.deliver()
	b.clock.Advance(1)
	second, _ := b.connect(scout, juno)
	b.get("/contacts").says("/contacts/" + second.ID).lacks("/contacts/" + first.ID)
	b.get("/contacts/"+second.ID).says("Earlier connections", "/contacts/"+first.ID)
	b.get("/messages/"+second.ID).says("Threads of other connections", "/messages/"+first.ID)
}

var invitationLink = regexp.MustCompile(`<pre id="link">([^<]+)</pre>`)

func TestInvite(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.get("/contacts/invite").want(http.StatusOK).says("there is none that is active")
	scout, juno := b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous)
	b.get("/contacts/invite").says("scout", "juno")
	b.post("/contacts/invite", url.Values{"agent": {"none"}}).want(http.StatusNotFound)

	made := b.post("/contacts/invite", url.Values{"agent": {scout.ID}}).want(http.StatusOK).says("They connect with", `<svg class="qr"`, `role="img"`)
	found := invitationLink.FindStringSubmatch(made.Body)
	if found == nil {
		t.Fatalf("no link: %s", made.Body)
	}
	link := html.UnescapeString(found[1])
	if !strings.HasPrefix(link, "https://"+host+"/#"+address(scout)+"/"+b.identity.Signer.Fingerprint()+"/") {
		t.Errorf("the link is %s", link)
	}

	answer := b.post("/contacts/connect", url.Values{"agent": {juno.ID}, "to": {" " + link + "\n"}, "note": {"Hi,\r\nit is me"}}).want(http.StatusSeeOther)
	b.requestArrives()
	b.get(answer.Header.Get("Location")).says("their owner decides", "Your side wrote", "Hi,", "it is me")
	b.in(func(tx node.Tx) error {
		c := b.connection(tx, scout, juno)
		if !c.Invited || c.Note != "Hi,\nit is me" {
			t.Errorf("invited %v with the note %q", c.Invited, c.Note)
		}
		return nil
	})
	b.get("/contacts").says("Who asks to connect")
	b.post("/contacts/connect", url.Values{"agent": {juno.ID}, "to": {link}}).want(http.StatusConflict)
}

func TestConnect(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.get("/contacts/connect").want(http.StatusOK).says("there is none that is active")
	scout, juno := b.agent("scout", policy.Manual), b.agent("juno", policy.Autonomous)
	b.get("/contacts/connect?agent="+juno.ID).says("Address or invitation link", `value="`+juno.ID+`" selected`)

	for to, status := range map[string]int{
		"nobody": http.StatusBadRequest, "https://elsewhere.example/": http.StatusBadRequest, address(scout): http.StatusBadRequest,
	} {
		b.post("/contacts/connect", url.Values{"agent": {scout.ID}, "to": {to}, "note": {"<typed>"}}).want(status).
			says(`role="alert"`, html.EscapeString(to), "&lt;typed&gt;")
	}
	// A rule of the agent does not hold the owner's own request.
	answer := b.post("/contacts/connect", url.Values{"agent": {scout.ID}, "to": {"JUNO@" + host}}).want(http.StatusSeeOther)
	b.requestArrives()
	b.get(answer.Header.Get("Location")).says("The request is on its way", address(juno))
	b.in(func(tx node.Tx) error {
		if c := b.connection(tx, juno, scout); c.Status != coordination.PendingIncoming {
			t.Errorf("their connection is %s", c.Status)
		}
		return nil
	})
}

// Who asks somebody that has asked already accepts with it, and sees that
// connection.
func TestConnectCrosses(t *testing.T) {
	b, scout, juno, asked := couple(t)
	b.post("/contacts/connect", url.Values{"agent": {scout.ID}, "to": {address(juno)}}).leadsTo("/contacts/" + asked.ID + "?done=requested")
	b.wantConnection(asked.ID, coordination.ConnActive)
}

// nowhere is a directory in which nobody answers.
type nowhere struct{}

func (nowhere) Lookup(context.Context, string, string) (coordination.Peer, error) {
	return coordination.Peer{}, node.Errorf(node.Unavailable, "The node does not answer.")
}

func TestConnectUnavailable(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(c *dashboard.Config) { c.Directory = nowhere{} })
	scout := b.agent("scout", policy.Autonomous)
	b.post("/contacts/connect", url.Values{"agent": {scout.ID}, "to": {"kay@kay.example"}}).want(http.StatusServiceUnavailable).
		says("The node does not answer.", "kay@kay.example")
}
