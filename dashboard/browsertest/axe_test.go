package browsertest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// axe is the checker's program.
var axe = sync.OnceValues(func() (string, error) {
	source, err := os.ReadFile("testdata/axe/axe.min.js")
	return string(source), err
})

// violation is one thing that keeps people from using a page.
type violation struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// accessible fails the test where the page keeps anybody out.
func (b *tab) accessible(where string) {
	b.t.Helper()
	for _, v := range b.violations() {
		b.t.Errorf("%s: %s (%s):\n\t%s", where, v.Help, v.ID, strings.Join(v.Nodes, "\n\t"))
	}
}

func (b *tab) violations() []violation {
	b.t.Helper()
	source, err := axe()
	b.must(err)
	eval[bool](b, source+";true")
	return eval[[]violation](b, `axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map((v) => ({
		id: v.id, help: v.help, nodes: v.nodes.map((n) => n.html.slice(0, 300) + " " + n.any.map((a) => a.message).join("; ").slice(0, 300)),
	})))`)
}

// sideways says which elements reach beyond the right edge of the window.
func (b *tab) sideways() []string {
	b.t.Helper()
	return eval[[]string](b, `(() => {
		const wide = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= wide) return [];
		return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > wide + 1 && !e.closest(".scroll"))
			.slice(0, 5).map((e) => e.outerHTML.slice(0, 200)).concat("the page is " + document.documentElement.scrollWidth + " px wide");
	})()`)
}

// TestAxeFinds: the checker finds what is planted.
func TestAxeFinds(t *testing.T) {
	t.Parallel()
	b := open(t, "about:blank")
	b.visit(`data:text/html,<title>x</title><img src="data:,"><input>`)
	found := map[string]bool{}
	for _, v := range b.violations() {
		found[v.ID] = true
	}
	for _, want := range []string{"image-alt", "label", "html-has-lang"} {
		if !found[want] {
			t.Errorf("%s was not found: %s", want, fmt.Sprint(found))
		}
	}
	b.troubles = nil // an address that is not the node's
}
