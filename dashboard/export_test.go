package dashboard

import "github.com/gofiber/fiber/v2"

// Routes are the routes as the router has them: METHOD path. Fiber's own
// answers to HEAD are left out.
func Routes() []string {
	var all []string
	for _, r := range New(Config{}).app.GetRoutes(true) {
		if r.Method != fiber.MethodHead {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}
