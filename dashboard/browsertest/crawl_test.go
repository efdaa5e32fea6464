package browsertest

import (
	"maps"
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

// crawl gives up to so many pages of each route.
func crawl(t testing.TB, v *nodetest.Visitor, most int) (found []place) {
	t.Helper()
	walk(t, v, most, func(p place, _ nodetest.Page) { found = append(found, p) })
	return found
}

// lists is how many pages of a route without a name are looked at at most: there
// is no end to the ways in which a list can be narrowed.
const lists = 25

// walk follows every link from the first page on, as an owner can by clicks, and
// shows up to so many pages of each route.
func walk(t testing.TB, v *nodetest.Visitor, most int, show func(place, nodetest.Page)) {
	t.Helper()
	all := routes(t)
	count, seen := map[string]int{}, map[string]bool{"/": true}
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		route := routeOf(all, path)
		if route == "" {
			t.Errorf("a link leads to %s, where there is nothing", path)
			continue
		}
		if count[route] >= most || (!strings.Contains(route, ":") && count[route] >= lists) {
			continue
		}
		page := v.Get(path)
		if page.Status == http.StatusBadRequest && strings.Contains(path, "?") {
			continue // a form that nobody has filled in
		}
		if page.Status != http.StatusOK {
			t.Errorf("a link leads to %s, which answers %d: %s", path, page.Status, page.Text())
			continue
		}
		if !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
			continue
		}
		count[route]++
		show(place{route, path}, page)
		for _, next := range links(page) {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
}

// links are the addresses in this node that a page leads to, by links and by forms
// that only ask.
func links(page nodetest.Page) []string {
	var all []string
	for n := range page.Root.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "a":
			all = append(all, local(page, nodetest.Attribute(n, "href"), nil)...)
		case n.Data == "form" && !strings.EqualFold(nodetest.Attribute(n, "method"), http.MethodPost):
			for _, filled := range fillings(n) {
				all = append(all, local(page, nodetest.Attribute(n, "action"), filled)...)
			}
		}
	}
	return all
}

func local(page nodetest.Page, address string, query url.Values) []string {
	to, err := page.URL.Parse(address)
	if err != nil || to.Host != page.URL.Host || strings.HasPrefix(to.Path, "/assets/") {
		return nil
	}
	if query != nil {
		to.RawQuery = query.Encode()
	}
	return []string{(&url.URL{Path: to.Path, RawQuery: to.RawQuery}).String()}
}

// fillings are the ways to fill a form in: as it is, and with each other choice
// that it offers.
func fillings(form *html.Node) []url.Values {
	usual := nodetest.FieldsOf(form)
	all := []url.Values{usual}
	for n := range form.Descendants() {
		name, value := "", nodetest.Attribute(n, "value")
		switch {
		case n.Type == html.ElementNode && n.Data == "option":
			name = nodetest.Attribute(n.Parent, "name")
		case n.Type == html.ElementNode && nodetest.Attribute(n, "type") == "radio":
			name = nodetest.Attribute(n, "name")
		}
		if name != "" && usual.Get(name) != value {
			other := maps.Clone(usual)
			other[name] = []string{value}
			all = append(all, other)
		}
	}
	return all
}
