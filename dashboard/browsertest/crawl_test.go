package browsertest

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"agentlink/node/nodetest"
)

// place is a page that the crawl found.
type place struct {
	route string // /approvals/:id
	path  string // an address of it
}

// routes are the pages of the dashboard, as its matrix of routes and callers has
// them.
func routes(t testing.TB) []string {
	t.Helper()
	golden, err := os.ReadFile("../testdata/matrix.golden")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(golden)) {
		if path, ok := strings.CutPrefix(line, "GET "); ok {
			all = append(all, strings.Fields(path)[0])
		}
	}
	return all
}

// routeOf finds the route of a path; a fixed path goes before a name.
func routeOf(all []string, path string) string {
	path, _, _ = strings.Cut(path, "?")
	if slices.Contains(all, path) {
		return path
	}
	for _, route := range all {
		pattern := "^" + regexp.MustCompile(`:\w+`).ReplaceAllString(route, `[^/]+`) + "$"
		if strings.Contains(route, ":") && regexp.MustCompile(pattern).MatchString(path) {
			return route
		}
	}
	return ""
}

// crawl follows every link from the first page on, and gives up to so many pages
// of each route, as an owner can reach them by clicks.
func crawl(t testing.TB, v *nodetest.Visitor, most int) []place {
	t.Helper()
	all := routes(t)
	count, seen := map[string]int{}, map[string]bool{"/": true}
	var found []place
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		route := routeOf(all, path)
		if route == "" {
			t.Errorf("a link leads to %s, where there is nothing", path)
			continue
		}
		if count[route] >= most {
			continue
		}
		page := v.Get(path)
		if page.Status != http.StatusOK {
			t.Errorf("a link leads to %s, which answers %d: %s", path, page.Status, page.Text())
			continue
		}
		if !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
			continue
		}
		count[route]++
		found = append(found, place{route, path})
		for _, next := range links(page) {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return found
}

// links are the addresses in this node that a page leads to.
func links(page nodetest.Page) []string {
	var all []string
	for n := range page.Root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" {
			continue
		}
		to, err := page.URL.Parse(nodetest.Attribute(n, "href"))
		if err != nil || to.Host != page.URL.Host || strings.HasPrefix(to.Path, "/assets/") {
			continue
		}
		all = append(all, (&url.URL{Path: to.Path, RawQuery: to.RawQuery}).String())
	}
	return all
}
