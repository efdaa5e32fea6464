package browsertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"agentlink/node/nodetest"
	"agentlink/policy"
)

// listener is a program of somebody else's that waits on this machine for the
// owner's answer.
type listener struct {
	base    string
	answers chan url.Values
}

func newListener(t *testing.T) *listener {
	t.Helper()
	l := &listener{answers: make(chan url.Values, 10)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			l.answers <- r.URL.Query()
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><html lang=en><title>Program</title><link rel=icon href=data:,><p>The program has its answer.</p>"))
	}))
	t.Cleanup(server.Close)
	l.base = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	return l
}

// answered lets the tab have been at the program, and nowhere else.
func (l *listener) answered(b *tab) url.Values {
	b.t.Helper()
	b.until("the program has its answer", "document.body.innerText.includes('The program has its answer')")
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []string
	for _, trouble := range b.troubles {
		if !strings.Contains(trouble, " to "+l.base+"/") {
			left = append(left, trouble)
		}
	}
	b.troubles = left
	return <-l.answers
}

// TestProgramIsLetIn: a program sends the owner's browser here, the owner signs
// in, looks, approves, and is led back with a code that is good for tokens; with
// scripts and without.
func TestProgramIsLetIn(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(map[bool]string{true: "scripts", false: "no scripts"}[scripts], func(t *testing.T) {
			t.Parallel()
			n := nodetest.Start(t, nodetest.Options{})
			n.CreateAgent("scout", policy.Assisted)
			n.CreateAgent("juno", policy.Manual)
			l := newListener(t)
			program := n.RegisterClient("Workbench", "http://localhost/callback")
			program.Redirect = l.base + "/callback"
			b := open(t, n.DashboardURL())
			if !scripts {
				call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
			}
			b.visit(program.AuthorizeURL(nil))
			b.says("Sign in")
			b.fill("Password", nodetest.Password)
			b.follow("Sign in")
			b.says("May Workbench act as your agent?", "nobody: it registered by itself", strings.TrimPrefix(l.base, "http://"), "no")
			if checked := eval[int](b, "document.querySelectorAll('input[type=radio]:checked').length"); checked != 0 {
				t.Error("an agent is chosen beforehand")
			}
			b.press("scout")
			b.press("Approve")
			answer := l.answered(b)
			if answer.Get("state") != "state of the client" || answer.Get("iss") != n.DashboardURL() || answer.Get("error") != "" {
				t.Errorf("the answer is %v", answer)
			}
			var tokens struct {
				Access string `json:"access_token"`
			}
			program.Redeem(answer.Get("code")).Want(http.StatusOK).Into(&tokens)
			if tokens.Access == "" {
				t.Error("there is no token")
			}
			b.visit("/agents")
			b.follow("scout")
			b.says("Connected programs", "Workbench", "Answers to localhost")
			b.follow("Disconnect Workbench")
			b.says("The program is disconnected.", "and nothing else: it then asks you here")
		})
	}
}

// TestProgramIsRefused: saying no needs no second sign-in, and leads back too.
func TestProgramIsRefused(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	n.CreateAgent("scout", policy.Assisted)
	l := newListener(t)
	program := n.RegisterClient("Workbench", "http://localhost/callback")
	program.Redirect = l.base + "/callback"
	b := signedIn(t, n)
	b.visit(program.AuthorizeURL(nil))
	b.press("Refuse")
	if answer := l.answered(b); answer.Get("error") != "access_denied" || answer.Get("code") != "" || answer.Get("state") == "" {
		t.Errorf("the answer is %v", answer)
	}
}

// TestArrivingFromAnotherSite: the browser keeps the session's cookie back from
// other sites, and the owner is still signed in.
func TestArrivingFromAnotherSite(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	n.CreateAgent("scout", policy.Assisted)
	program := n.RegisterClient("Workbench", "https://workbench.example/callback")
	b := signedIn(t, n)
	b.visit("data:text/html," + url.PathEscape(`<title>x</title><a href="`+program.AuthorizeURL(nil)+`">Connect</a>`))
	b.press("Connect")
	b.says("May Workbench act as your agent?")
	other := open(t, n.DashboardURL()) // and who is not has to sign in
	other.visit("data:text/html," + url.PathEscape(`<title>x</title><a href="`+program.AuthorizeURL(nil)+`">Connect</a>`))
	other.press("Connect")
	other.says("Sign in")
}

// TestConsent looks at the page in each state: with names that try to deceive,
// and with what is refused.
func TestConsent(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	b := signedIn(t, n)
	local := n.RegisterClient("Work\u202ebench </b> "+strings.Repeat("very", 20), "http://127.0.0.1/callback")
	b.visit(local.AuthorizeURL(nil))
	b.says("No agent is enabled")
	b.look("oauth-authorize-none")
	n.CreateAgent("scout", policy.Assisted)
	b.visit(local.AuthorizeURL(nil))
	b.says(`Work\u{202E}bench </b>`, "a program on this computer")
	if checked := eval[int](b, "document.querySelectorAll('input[type=radio]:checked').length"); checked != 1 {
		t.Error("the only agent is not chosen")
	}
	b.look("oauth-authorize")
	n.CreateAgent("juno", policy.Autonomous)
	app := n.RegisterClient("Editor", "cursor://editor/callback")
	b.visit(app.AuthorizeURL(nil))
	b.says("a program on this computer that opens cursor://")
	b.look("oauth-authorize-several")
	b.visit(app.AuthorizeURL(map[string]string{"code_challenge": ""}))
	b.says("cannot be let in", "PKCE", "Go on to cursor://")
	b.look("oauth-authorize-refused")
	b.visit(app.AuthorizeURL(map[string]string{"redirect_uri": "https://elsewhere.example/"}))
	b.says("has not registered", "Back to the start")
	b.lacks("Go on to")
	b.look("oauth-authorize-elsewhere")
}
