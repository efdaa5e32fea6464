package dashboard_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"golang.org/x/net/html"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/node/owner"
)

// aMonday is when these tests begin.
var aMonday = time.Date(2031, 5, 5, 12, 0, 0, 0, time.UTC)

// unmoved follows no redirect.
var unmoved = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// A new node from its printed link to a first agent, without a script.
func TestSetUpByPassword(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{New: true})
	v := n.Visitor()
	v.Get("/").Want(http.StatusOK).Says("This node is not set up yet")

	for range 2 { // looking uses nothing up
		v.Get(n.SetUpLink).Want(http.StatusOK).Says("Make this node yours")
	}
	page := v.Get(n.SetUpLink).Submit("", url.Values{"name": {" "}}).Want(http.StatusBadRequest).Says("1 to 120 characters")
	page = page.Submit("", url.Values{"name": {"Ada"}}).Want(http.StatusOK).Says("How do you want to sign in?")
	v.Get("/").Says("How do you want to sign in?") // nothing else is open before
	v.Get("/settings").Says("How do you want to sign in?")
	n.Visitor().Get(n.SetUpLink).Want(http.StatusUnauthorized).Says("used already")

	page = page.Submit("Set the password", url.Values{"password": {nodetest.Password}, "again": {"something else"}}).
		Want(http.StatusBadRequest).Says("not the same")
	page = page.Submit("Set the password", url.Values{"password": {"short"}, "again": {"short"}}).
		Want(http.StatusBadRequest).Says("12 characters")
	page = page.Submit("Set the password", url.Values{"password": {nodetest.Password}, "again": {nodetest.Password}}).
		Want(http.StatusOK).Says("In case you lose it")
	page = page.Submit("Show me ten codes", nil).Want(http.StatusOK).Says("They are shown this once")
	codes := codePattern.FindAllString(page.Text(), -1)
	if len(codes) != 10 {
		t.Fatalf("%d codes on %s", len(codes), page.Text())
	}
	page.Follow("/setup/agent").Want(http.StatusOK).Says("Your first agent").
		Submit("Create the agent", url.Values{"handle": {"scout"}}).Want(http.StatusOK).Says("alk_", "scout")

	v.Get("/setup").Want(http.StatusOK)
	if status := nodetest.Owner[socket.Status](n, socket.NodeStatus, nil); status.Owner != "Ada" {
		t.Errorf("the owner is %q", status.Owner)
	}
	other := n.Visitor()
	other.Get("/login/recovery").Submit("", url.Values{"code": {strings.ToUpper(codes[7])}}).Want(http.StatusOK).Says("this code is used up")
	other.Get("/settings").Want(http.StatusOK).Says("By recovery code", "9 codes are left")
	n.Visitor().Get("/login/recovery").Submit("", url.Values{"code": {codes[7]}}).Want(http.StatusUnauthorized)
	n.VerifyAudit()
	n.Restart()
	if n.SetUpLink != "" {
		t.Error("a node that is set up prints a link")
	}
}

var codePattern = regexp.MustCompile(`\b[0-9a-z]{4}(?:-[0-9a-z]{4}){6}\b`)

// Whoever leaves before the first way in goes on with the next link.
func TestSetUpGoesOn(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{New: true})
	n.Visitor().Get(n.SetUpLink).Submit("", url.Values{"name": {"Ada"}}).Says("How do you want to sign in?")
	n.Restart()
	v := n.Visitor()
	v.Get("/").Says("not set up yet")
	v.Get(n.SetUpLink).Want(http.StatusOK).Says("Go on where you left", "Ada").
		Submit("", nil).Says("How do you want to sign in?").
		Submit("Set the password", url.Values{"password": {nodetest.Password}, "again": {nodetest.Password}}).Says("In case you lose it")
	v.Get("/setup").Says("In case you lose it")
	v.Get("/setup/agent").Says("Your first agent")
	v.Get("/").Want(http.StatusOK).Says("This node")
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	v := n.Visitor()
	page := v.Get("/approvals?status=expired").Want(http.StatusOK).Says("Sign in")
	if page.URL.Path != "/login" {
		t.Errorf("a stranger is at %s", page.URL)
	}
	page = page.Submit("Sign in", url.Values{"password": {"wrong"}}).Want(http.StatusUnauthorized).Says("The password is wrong")
	page = page.Submit("Sign in", url.Values{"password": {nodetest.Password}}).Want(http.StatusOK)
	if page.URL.RequestURI() != "/approvals?status=expired" {
		t.Errorf("signed in, the owner is at %s", page.URL)
	}
	if page := v.Get("/login?next=/settings"); page.URL.Path != "/settings" {
		t.Errorf("who is signed in is at %s", page.URL)
	}
	v.Get("/settings").Submit("Sign out", nil).Says("Sign in")
	if len(v.Cookies()) != 0 {
		t.Errorf("cookies stay: %v", v.Cookies())
	}
	v.Get("/").Says("Sign in")
}

// Where to go afterwards is a path of this dashboard, whatever the address says.
func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	for _, next := range []string{
		"https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "\\/elsewhere.example", "elsewhere.example",
		"javascript:alert(1)", "/\t/elsewhere.example", "http:elsewhere", "///elsewhere.example", "", "%2f%2felsewhere.example", "/\n/x",
	} {
		v := n.Visitor()
		page := v.Get("/login?next="+url.QueryEscape(next)).Submit("Sign in", url.Values{"password": {nodetest.Password}})
		if page.URL.Host != v.Get("/").URL.Host || page.URL.Path != "/" {
			t.Errorf("%q leads to %s", next, page.URL)
		}
	}
}

// A one-time link signs in once, by its button alone, and says what became of it.
func TestSignInLinkOnce(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	link := n.SignInLink()
	v := n.Visitor()
	for range 3 {
		v.Get(link).Want(http.StatusOK).Says("signs you in on this browser, once")
	}
	if len(v.Cookies()) != 0 {
		t.Error("looking at a link signs in")
	}
	page := v.Get(link)
	if policy := page.Header.Get("Referrer-Policy"); policy != "strict-origin" {
		t.Errorf("Referrer-Policy is %q", policy)
	}
	page.Submit("", nil).Want(http.StatusOK).Says("This node")
	other := n.Visitor()
	other.Get(link).Want(http.StatusUnauthorized).Says("used already")
	page.Submit("", nil).Want(http.StatusUnauthorized)
	other.Get("/link/" + strings.Repeat("A", 43)).Want(http.StatusUnauthorized).Says("leads nowhere")
	other.Get("/setup/link/" + strings.Repeat("A", 43)).Want(http.StatusUnauthorized).Says("leads nowhere")
}

// The owner hands the dashboard to another device, after confirming who asks.
func TestLinkForAnotherDevice(t *testing.T) {
	t.Parallel()
	clock := node.NewFakeClock(aMonday)
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	v := n.SignIn()
	page := v.Get("/settings").Follow("/settings/link").Want(http.StatusOK).Says("only this machine reaches").Submit("Show me a link", nil)
	link := regexp.MustCompile(`http://localhost:\d+/link/[\w-]{43}`).FindString(page.Want(http.StatusOK).Says("works once, until").Text())
	phone := n.Visitor()
	phone.Get(link).Want(http.StatusOK).Submit("", nil).Want(http.StatusOK).Says("This node")
	n.Visitor().Get(link).Want(http.StatusUnauthorized).Says("used already")
	clock.Advance(owner.FreshTime)
	v.Get("/settings/link").Want(http.StatusOK).Says("Confirm that it is you")
}

// The session's end is seen at once, here and in the log.
func TestSessionsInSettings(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	first, second, third := n.SignIn(), n.SignIn(), n.SignIn()
	first.Get("/settings").Says("Where you are signed in", "this one", "By a one-time link").Submit("End all others", nil).
		Want(http.StatusOK).Says("The session has ended")
	second.Get("/").Says("Sign in")
	third.Get("/").Says("Sign in")
	fourth := n.SignIn()
	first.Get("/settings").Submit("End the session of Go-http-client/1.1", nil).Says("The session has ended")
	fourth.Get("/").Says("Sign in")
	events := nodetest.Owner[[]socket.Event](n, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.OwnerSessionEnded}})
	if len(events) != 3 {
		t.Errorf("%d sessions ended in the log", len(events))
	}
	first.Get("/settings").Submit("Sign out", nil)
	first.Get("/").Says("Sign in")
}

// The weightiest pages ask again after five minutes, and lead back.
func TestConfirm(t *testing.T) {
	t.Parallel()
	clock := node.NewFakeClock(aMonday)
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	v := n.SignIn()
	v.Get("/settings/password").Want(http.StatusOK).Says("New password")
	clock.Advance(5 * time.Minute)
	page := v.Get("/settings/password").Want(http.StatusOK).Says("Confirm that it is you")
	page = page.Submit("Confirm", url.Values{"password": {"wrong " + nodetest.Password}}).Want(http.StatusUnauthorized).Says("The password is wrong")
	page = page.Submit("Confirm", url.Values{"password": {nodetest.Password}}).Want(http.StatusOK).Says("New password")
	if page.URL.Path != "/settings/password" {
		t.Errorf("the owner is at %s", page.URL)
	}
	other := n.SignIn()
	another := "another " + nodetest.Password
	page = page.Submit("Set the password", url.Values{"current": {"wrong " + nodetest.Password}, "password": {another}, "again": {another}}).
		Want(http.StatusUnauthorized).Says("The password is wrong")
	page.Submit("Set the password", url.Values{"current": {nodetest.Password}, "password": {another}, "again": {another}}).
		Want(http.StatusOK).Says("The password is set")
	other.Get("/").Says("Sign in")
	v.Get("/settings/codes").Submit("Show me ten codes", nil).Want(http.StatusOK).Says("Your recovery codes")
	v.Get("/settings").Says("10 codes are left")
}

// An open page that asks by itself what is new keeps no session from ending.
func TestPagesAreNoVisits(t *testing.T) {
	t.Parallel()
	clock := node.NewFakeClock(aMonday)
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	v := n.SignIn()
	for range 11 {
		clock.Advance(time.Hour)
		v.Get("/part/waiting").Want(http.StatusOK)
	}
	clock.Advance(time.Hour)
	v.Get("/").Says("Sign in")
}

// Ten wrong passwords a minute, and the page says how long to wait.
func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	clock := node.NewFakeClock(aMonday)
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	v := n.Visitor()
	for range 10 {
		v.Get("/login").Submit("Sign in", url.Values{"password": {"wrong"}}).Want(http.StatusUnauthorized)
	}
	page := v.Get("/login").Submit("Sign in", url.Values{"password": {nodetest.Password}}).
		Want(http.StatusTooManyRequests).Says("Too many wrong passwords: try again in 60 seconds")
	if after := page.Header.Get("Retry-After"); after != "60" {
		t.Errorf("Retry-After is %q", after)
	}
	n.SignIn() // by a link, whose command is asked for the password on the socket
	clock.Advance(time.Minute)
	v.Get("/login").Submit("Sign in", url.Values{"password": {nodetest.Password}}).Want(http.StatusOK).Says("This node")
}

// Under another name, or none, nothing is served: the page would be another's.
func TestHosts(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	base, err := url.Parse(n.DashboardURL())
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		base.Host: http.StatusSeeOther, strings.ToUpper(base.Host): http.StatusSeeOther,
		"127.0.0.1:" + base.Port(): http.StatusTemporaryRedirect, "[::1]:" + base.Port(): http.StatusTemporaryRedirect,
		"evil.example": http.StatusMisdirectedRequest, "evil.example:" + base.Port(): http.StatusMisdirectedRequest,
		"localhost": http.StatusMisdirectedRequest, "127.0.0.1:1": http.StatusMisdirectedRequest, "localhost.evil.example:" + base.Port(): http.StatusMisdirectedRequest,
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r, err := http.NewRequestWithContext(t.Context(), method, n.DashboardURL()+"/settings?x=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			answer, err := unmoved.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			expected := want
			if method == http.MethodPost && want == http.StatusTemporaryRedirect {
				expected = http.StatusMisdirectedRequest
			}
			if method == http.MethodGet && answer.StatusCode != expected || method == http.MethodPost && answer.StatusCode < 400 {
				t.Errorf("%s at %s: %d, want %d", method, host, answer.StatusCode, expected)
			}
			if to := answer.Header.Get("Location"); want == http.StatusTemporaryRedirect && method == http.MethodGet && to != n.DashboardURL()+"/settings?x=1" {
				t.Errorf("%s leads to %s", host, to)
			}
		}
	}
}

// A whole life of passkeys over the forms: set up, sign in, confirm, add, remove.
func TestPasskeyForms(t *testing.T) {
	t.Parallel()
	clock := node.NewFakeClock(aMonday)
	n := nodetest.Start(t, nodetest.Options{New: true, Clock: clock})
	phone := newPhone(t, n.DashboardURL())
	v := n.Visitor()
	page := v.Get(n.SetUpLink).Submit("", url.Values{"name": {"Ada"}})
	page.Submit("Make a passkey", url.Values{"answer": {phone.create(page)}, "passkey": {"Telephone"}}).
		Want(http.StatusOK).Says("In case you lose it")

	v = n.Visitor()
	page = v.Get("/settings").Says("Sign in with a passkey")
	if strings.Contains(page.Text(), "Password") {
		t.Errorf("a password is asked for that nobody has: %s", page.Text())
	}
	answer := phone.get(page)
	page.Submit("Sign in with a passkey", url.Values{"answer": {answer}}).Want(http.StatusOK).Says("Telephone", "By passkey")
	n.Visitor().Get("/login").Submit("Sign in with a passkey", url.Values{"answer": {answer}}).
		Want(http.StatusUnauthorized).Says("was not accepted")
	n.Visitor().Get("/login").Submit("Sign in with a passkey", url.Values{"answer": {"{}"}}).
		Want(http.StatusBadRequest).Says("begin again")

	clock.Advance(6 * time.Minute)
	page = v.Get("/settings/passkey").Says("Confirm that it is you")
	page = page.Submit("Confirm with a passkey", url.Values{"answer": {phone.get(page)}}).Want(http.StatusOK).Says("Add a passkey")
	tablet := newPhone(t, n.DashboardURL())
	page.Submit("Make a passkey", url.Values{"answer": {tablet.create(page)}, "passkey": {"Tablet\u202eevil"}}).
		Want(http.StatusOK).Says("The passkey is added", `Tablet\u{202E}evil`)

	first := v.Get("/settings").Follow("/settings/passkeys/").Says("Telephone")
	first.Submit("Remove it", nil).Want(http.StatusOK).Says("Removed.")
	v.Get("/settings").Follow("/settings/passkeys/").Submit("Remove it", nil).Want(http.StatusConflict).Says("the only way in")
	first.Submit("Remove it", nil).Want(http.StatusNotFound)
}

// phone is an authenticator with one key, in a browser at an origin.
type phone struct {
	t     *testing.T
	party virtualwebauthn.RelyingParty
	virtualwebauthn.Authenticator
	key virtualwebauthn.Credential
}

func newPhone(t *testing.T, origin string) *phone {
	t.Helper()
	p := &phone{t: t, party: virtualwebauthn.RelyingParty{ID: "localhost", Origin: origin}, Authenticator: virtualwebauthn.NewAuthenticator()}
	for {
		p.key = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		parsed, err := x509.ParsePKCS8PrivateKey(p.key.Key.Data)
		if err != nil {
			t.Fatal(err)
		}
		// The library drops leading zeros of a key's coordinates, which are then
		// no key any more.
		if point, err := parsed.(*ecdsa.PrivateKey).PublicKey.Bytes(); err == nil && point[1] != 0 && point[33] != 0 {
			return p
		}
	}
}

// asked is what a page has its script ask the authenticator for.
func (p *phone) asked(page nodetest.Page, ceremony string) string {
	p.t.Helper()
	for n := range page.Root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "form" && nodetest.Attribute(n, "data-passkey") == ceremony {
			return nodetest.Attribute(n, "data-options")
		}
	}
	p.t.Fatalf("no form asks to %s: %s", ceremony, page.Text())
	return ""
}

func (p *phone) create(page nodetest.Page) string {
	p.t.Helper()
	options, err := virtualwebauthn.ParseAttestationOptions(p.asked(page, "create"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.Options.UserHandle = []byte(options.UserID)
	return virtualwebauthn.CreateAttestationResponse(p.party, p.Authenticator, p.key, *options)
}

func (p *phone) get(page nodetest.Page) string {
	p.t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(p.asked(page, "get"))
	if err != nil {
		p.t.Fatal(err)
	}
	return virtualwebauthn.CreateAssertionResponse(p.party, p.Authenticator, p.key, *options)
}
