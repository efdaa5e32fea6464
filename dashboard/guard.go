package dashboard

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/api/problem"
	"agentlink/node/owner"
)

// csp lets a page load what this node serves, and nothing else; nobody frames it.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// setReferrer keeps the secret of a one-time link, which stands in its address, out
// of what a browser tells of where it comes from. It goes on to tell the origin,
// by which sameSite knows a form of ours where browsers say nothing better.
func setReferrer(h http.Header, path string) {
	if strings.HasPrefix(path, owner.SetUpPath) || strings.HasPrefix(path, owner.SignInPath) {
		h.Set("Referrer-Policy", "strict-origin")
	}
}

// elsewhere answers a request for a host under which the dashboard is not served:
// the page may be another's, whose name leads here. An address of this machine
// goes on to its name, under which passkeys work.
func (d *Dashboard) elsewhere(w http.ResponseWriter, r *http.Request) {
	home, err := url.Parse(d.Info.URL)
	if err == nil && r.Method == http.MethodGet && node.IsLoopback(r.Host) && node.IsLoopback(home.Host) && portOf(r.Host) == home.Port() {
		http.Redirect(w, r, d.Info.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect) //nolint:gosec // to this node alone
		return
	}
	http.Error(w, "This node's dashboard is at "+d.Info.URL+". Set AGENTLINK_DASHBOARD_URL to open it under another name.", http.StatusMisdirectedRequest)
}

func portOf(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return ""
	}
	return port
}

var errForeignForm = node.Errorf(node.PolicyDenied, "This form did not come from a page of yours. Open the page again and repeat it.")

// sameSite refuses what another site makes a browser send. Browsers that do not
// say where a form comes from say its origin.
func (v *visit) sameSite() error {
	switch v.c.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
		if place, known := v.d.Access.Place(v.host()); known && v.c.Get(fiber.HeaderOrigin) == place.Origin {
			return nil
		}
	}
	return errForeignForm
}

// failed answers an error as a page: what it says is safe for strangers.
func (d *Dashboard) failed(c *fiber.Ctx, err error) error {
	var routed *fiber.Error
	if errors.As(err, &routed) && routed.Code < http.StatusInternalServerError {
		err = node.Errorf(node.NotFound, "There is no such page.")
	}
	id := d.IDs.New()
	shown := problem.Of(err, id)
	switch shown.Code {
	case node.PolicyDenied: // nobody's rules: another site's form, or a page's that is old
		d.Log.Info("form refused", "route", c.Route().Path, "requestId", id, "from", c.IP(), "site", c.Get("Sec-Fetch-Site"))
	case node.Internal:
		d.Log.Error("a page failed", "route", c.Route().Path, "requestId", id, "error", err)
	}
	c.Status(problem.Status(shown.Code))
	c.Set(fiber.HeaderContentType, "text/html; charset=utf-8")
	return view.Failed(shown.Message, id, shown.Code == node.Internal).Render(c.UserContext(), c.Response().BodyWriter())
}
