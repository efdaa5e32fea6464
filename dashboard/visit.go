package dashboard

import (
	"context"
	"crypto/subtle"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"agentlink/dashboard/view"
	"agentlink/node"
)

// Visitor is a signed-in owner.
type Visitor struct {
	SessionID string
	OwnerID   string
	Name      string
	CSRF      string // what every form of this session carries
	Fresh     bool   // password or passkey was given within the last minutes
	SettingUp bool   // there is no way in yet but this session: the set-up goes on first
	// LastVisit is when the session before this one was last used; zero at first.
	LastVisit time.Time
}

// Place is one address of the dashboard.
type Place struct {
	Origin string // scheme and host
	Cookie string // name of the session's cookie
}

// Access tells who visits.
type Access interface {
	// Place is what belongs to a host under which the dashboard is served; known is
	// false for any other.
	Place(host string) (place Place, known bool)
	// Visitor finds who holds a session. What a page does by itself is no visit: it
	// keeps no session from ending. Code: unauthorized.
	Visitor(ctx context.Context, cookie string, visits bool) (Visitor, error)
	// Open says whether a session is open, and changes nothing. Code: unauthorized.
	Open(ctx context.Context, cookie string) error
}

// visit is one request of an owner's browser.
type visit struct {
	d       *Dashboard
	c       *fiber.Ctx
	visitor Visitor
	now     time.Time
}

func (v *visit) ctx() context.Context { return v.c.UserContext() }

// host is the host[:port] that the browser has asked for.
func (v *visit) host() string { return string(v.c.Request().Host()) }

func (v *visit) identify() (err error) {
	v.visitor, err = v.d.Access.Visitor(v.ctx(), v.cookie(), !strings.HasPrefix(v.c.Path(), "/part/"))
	return err
}

// cookie is the session's cookie that the browser brings; "" for none.
func (v *visit) cookie() string {
	place, _ := v.d.Access.Place(v.host())
	return v.c.Cookies(place.Cookie)
}

// actor is the owner acting upon an agent, or upon the node where agentID is "".
func (v *visit) actor(agentID string) node.Actor {
	return node.Actor{Kind: node.ActorOwner, OwnerID: v.visitor.OwnerID, AgentID: agentID, Via: "dashboard session=" + v.visitor.SessionID}
}

// field is a field of the form that was sent. What stands in the address is none:
// addresses are kept, and passed on.
func (v *visit) field(name string) string { return string(v.c.Request().PostArgs().Peek(name)) }

func (v *visit) rightToken() bool {
	given := v.field("csrf")
	return v.visitor.CSRF != "" && subtle.ConstantTimeCompare([]byte(given), []byte(v.visitor.CSRF)) == 1
}

// toLogin leads to the login. A part of a page is not replaced by it: the page
// stays as it is.
func (v *visit) toLogin() error {
	if v.c.Get("HX-Request") != "" {
		return v.c.SendStatus(fiber.StatusUnauthorized)
	}
	return v.goTo("/login?next=" + url.QueryEscape(v.place()))
}

func (v *visit) toReauthenticate() error {
	return v.goTo("/confirm?next=" + url.QueryEscape(v.place()))
}

// place is where the visitor is to come back to: the page itself, or the page
// whose form was sent.
func (v *visit) place() string {
	if v.c.Method() == fiber.MethodGet {
		return v.c.OriginalURL()
	}
	if back, err := url.Parse(v.c.Get(fiber.HeaderReferer)); err == nil && back.Path != "" {
		return back.RequestURI()
	}
	return "/"
}

// goTo ends a form, so that reloading the next page sends nothing again.
func (v *visit) goTo(path string) error { return v.c.Redirect(path, fiber.StatusSeeOther) }

// read runs one reading transaction.
func (v *visit) read(f func(tx node.Tx) error) error { return v.d.DB.View(v.ctx(), f) }

// write runs one changing transaction.
func (v *visit) write(f func(tx node.Tx) error) error { return v.d.DB.InTx(v.ctx(), f) }

// frame is what stands around a page, read in the page's own transaction.
func (v *visit) frame(tx node.Tx, title, here string) (view.Frame, error) {
	waiting, err := v.d.waiting(tx)
	if err != nil {
		return view.Frame{}, err
	}
	head, err := v.d.Events.AuditHead(tx)
	return view.Frame{
		Title: title, Here: here, Owner: v.visitor.Name, Host: v.d.Info.Host, Waiting: waiting, CSRF: v.visitor.CSRF,
		Now: v.now, Seen: head.Position, Notice: notices[v.c.Query("done")],
	}, err
}

// waiting counts what waits for the owner, without opening any of it.
func (d *Dashboard) waiting(tx node.Tx) (int, error) {
	pending, err := d.Approvals.Waiting(tx)
	if err != nil {
		return 0, err
	}
	requests, err := d.Coordination.CountIncoming(tx)
	if err != nil {
		return 0, err
	}
	keys, err := d.Coordination.CountKeyOffers(tx)
	return pending + requests + keys, err
}

// maxCounted bounds what a page counts.
const maxCounted = 100

// show renders a page.
func (v *visit) show(component templ.Component) error {
	v.c.Set(fiber.HeaderContentType, "text/html; charset=utf-8")
	return component.Render(v.ctx(), v.c.Response().BodyWriter())
}

// notices says what was just done, by the word in the address of the next page:
// an address can bring no text of its own onto a page.
var notices = map[string]string{
	"approved": "Approved.", "rejected": "Rejected.", "failed": "It could no longer be done. The approval is used up all the same.",
	"saved": "Saved.", "removed": "Removed.", "accepted": "Accepted. Both sides are connected.", "revoked": "The connection has ended.",
	"ended": "The session has ended.", "passkey": "The passkey is added.",
	"recovered": "You are in, and this code is used up. Add a passkey or set a new password before you sign out.", "password": "The password is set. All other sessions have ended.",
	"sent": "Sent.", "requested": "The request is on its way.", "cancelled": "The task is cancelled.",
	"rotated": "The node has a new key. Your contacts are told.", "newkey": "Accepted. They are known by their new key.", "oldkey": "Refused. They are known by the key that you had.",
	"disconnected": "The program is disconnected.", "enabled": "The agent is enabled.", "disabled": "The agent is disabled: it can do nothing.",
}
