package browsertest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"agentlink/node/display"
	"agentlink/node/nodetest"
)

// TestNothingRaw puts 200 scripts and all invisible characters into every field
// that an agent or a peer can fill, and reads every page of both owners: all of
// it is text, and stands where what others wrote stands.
func TestNothingRaw(t *testing.T) {
	t.Parallel()
	browser(t)
	h := newHostile(t)
	if len(h.strings) < 200 || len(h.runes) < 4000 {
		t.Fatalf("%d strings and %d characters", len(h.strings), len(h.runes))
	}
	found := map[string]map[int]bool{}
	shown := map[rune]bool{'\n': true, '\t': true} // which have a form of their own
	for _, owner := range []*nodetest.Node{h.ada, h.ben} {
		v := owner.SignIn()
		walk(t, v, 400, func(p place, page nodetest.Page) {
			inert(t, p.path, page)
			if found[p.route] == nil {
				found[p.route] = map[int]bool{}
			}
			for _, mark := range numbers.FindAllString(page.Body, -1) {
				n, _ := strconv.Atoi(mark)
				found[p.route][n-firstMark] = true
			}
			for _, m := range escapes.FindAllStringSubmatch(page.Body, -1) {
				r, _ := strconv.ParseInt(m[1], 16, 32)
				shown[rune(r)] = true
			}
		})
	}
	for _, route := range []string{"/messages/:connection", "/tasks/:uid", "/approvals/:id", "/contacts/:id"} {
		if n := len(found[route]); n < len(h.strings) {
			t.Errorf("%s shows %d of %d strings", route, n, len(h.strings))
		}
	}
	for _, r := range h.runes {
		if !shown[r] {
			t.Errorf("%U is shown nowhere", r)
		}
	}
	inBrowser(t, h)
}

var escapes = regexp.MustCompile(`\\u\{([0-9A-F]{4,6})\}`)

var numbers = regexp.MustCompile(`\b777\d{4}\b`)

// inBrowser opens pages of each kind: the tab fails the test where one of them
// opens a dialog, breaks its policy or loads anything else.
func inBrowser(t *testing.T, h *hostile) {
	t.Helper()
	for _, owner := range []*nodetest.Node{h.ada, h.ben} {
		b := signedIn(t, owner)
		for _, p := range crawl(t, owner.SignIn(), 3) {
			b.visit(p.path)
			if count := eval[int](b, `document.querySelectorAll("script:not([src^='/assets/']), iframe, object, embed, base, main style, main link, main meta").length`); count > 0 {
				t.Errorf("%s has %d elements that no page has", p.path, count)
			}
		}
		b.fine()
	}
}

// never are elements that no page has in its content.
var never = []string{"iframe", "object", "embed", "base", "style", "math", "template", "marquee", "video", "audio", "source", "frame", "frameset", "applet"}

// inert fails the test where a page has something that a stranger's text can have
// made.
func inert(t *testing.T, path string, page nodetest.Page) {
	t.Helper()
	problem := func(format string, args ...any) { t.Errorf("%s: %s", path, fmt.Sprintf(format, args...)) }
	for n := range page.Root.Descendants() {
		switch n.Type {
		case html.TextNode:
			hidden(n.Data, problem)
			if numbers.MatchString(n.Data) && !within(n, "bdi") {
				problem("a stranger's text stands outside of bdi: %.200s", n.Data)
			}
		case html.ElementNode:
			element(n, problem)
		case html.CommentNode:
			problem("a comment: %.200s", n.Data)
		}
	}
}

// hidden fails the test where a text holds what cannot be seen.
func hidden(text string, problem func(string, ...any)) {
	for _, r := range text {
		if r != '\n' && r != '\t' && !display.Visible(r) {
			problem("%U stands in %.200q", r, text)
			return
		}
	}
}

func element(n *html.Node, problem func(string, ...any)) {
	if slices.Contains(never, n.Data) {
		problem("an element %s", n.Data)
	}
	if src := nodetest.Attribute(n, "src"); n.Data == "script" && (!strings.HasPrefix(src, "/assets/") || n.FirstChild != nil) {
		problem("a script of %q", src)
	}
	if (n.Data == "link" || n.Data == "meta") && !within(n, "head") {
		problem("an element %s outside of the head", n.Data)
	}
	for _, a := range n.Attr {
		attribute(n, a, problem)
	}
}

func attribute(n *html.Node, a html.Attribute, problem func(string, ...any)) {
	hidden(a.Val, problem)
	switch {
	case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", strings.HasPrefix(a.Key, "hx-on"):
		problem("an attribute %s on %s", a.Key, n.Data)
	case a.Key == "href" && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") && a.Val != "",
		(a.Key == "src" || a.Key == "action" || a.Key == "formaction") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "data:image/png"):
		problem("%s of %s is %.200q", a.Key, n.Data, a.Val)
	case strings.HasPrefix(a.Key, "hx-") && strings.HasPrefix(a.Val, "//"):
		problem("%s of %s is %.200q", a.Key, n.Data, a.Val)
	case numbers.MatchString(a.Val):
		problem("a stranger's text stands in %s of %s: %.200q", a.Key, n.Data, a.Val)
	}
}

func within(n *html.Node, name string) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == name {
			return true
		}
	}
	return false
}
