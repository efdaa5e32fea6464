package dashboard

import (
	"net/http"

	"github.com/gofiber/fiber/v2"
)

// access says who may call a route.
type access int

const (
	signedIn  access = iota // the owner, with a session
	fresh                   // the owner, who has given password or passkey within the last minutes
	settingUp               // the owner, even one who has no way in yet
	anybody                 // before signing in
	arriving                // the owner, whom another site has sent here
)

// route is a page, or a form that is sent.
type route struct {
	method, path string
	access       access
	handle       func(v *visit) error
}

// routes is every route of the dashboard; the matrix of routes and callers is
// made from it.
func (d *Dashboard) routes() []route {
	var all []route
	for _, part := range [][]route{d.entryRoutes(), d.setUpRoutes(), d.settingsRoutes(), d.ruleRoutes(), d.homeRoutes(), d.approvalRoutes(), d.contactRoutes(), d.knowsRoutes(), d.messageRoutes(), d.taskRoutes(), d.receiptRoutes(), d.activityRoutes(), d.agentRoutes(), d.toolRoutes(), d.clientRoutes(), d.grantRoutes()} {
		all = append(all, part...)
	}
	return all
}

func get(path string, handle func(v *visit) error) route {
	return route{method: http.MethodGet, path: path, handle: handle}
}

func post(path string, handle func(v *visit) error) route {
	return route{method: http.MethodPost, path: path, handle: handle}
}

func (r route) with(a access) route {
	r.access = a
	return r
}

// serve checks what every route has to check, then calls it.
func (d *Dashboard) serve(r route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		v := &visit{d: d, c: c, now: d.Clock.Now()}
		if r.method != http.MethodGet {
			if err := v.sameSite(); err != nil {
				return err
			}
		}
		if r.access != anybody {
			if err := v.identify(); err != nil {
				if r.access == arriving && v.fromElsewhere() {
					return v.arrive()
				}
				return v.toLogin()
			}
			if r.method != http.MethodGet && !v.rightToken() {
				return errForeignForm
			}
			if v.visitor.SettingUp && r.access != settingUp {
				return v.goTo("/setup")
			}
			if r.access == fresh && !v.visitor.Fresh {
				return v.toReauthenticate()
			}
		}
		return r.handle(v)
	}
}
