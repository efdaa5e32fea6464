package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/api/problem"
)

// csp lets a page load what this node serves, and nothing else; nobody frames it.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

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

var errForeignForm = node.Errorf(node.PolicyDenied, "This form did not come from a page of yours. Open the page again and repeat it.")

// sameSite refuses what another site makes a browser send.
func sameSite(c *fiber.Ctx) error {
	switch c.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
		origin, err := url.Parse(c.Get(fiber.HeaderOrigin))
		if err == nil && origin.Host != "" && origin.Host == string(c.Request().Host()) {
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
	if shown.Code == node.Internal {
		d.Log.Error("a page failed", "path", c.Path(), "requestId", id, "error", err)
	}
	c.Status(problem.Status(shown.Code))
	c.Set(fiber.HeaderContentType, "text/html; charset=utf-8")
	return view.Failed(shown.Message, id, shown.Code == node.Internal).Render(c.UserContext(), c.Response().BodyWriter())
}
