package browsertest

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"agentlink/policy"
)

// early are the pages of those who come in, from outside or from another program;
// TestSetUpWithPasskey and TestConsent look at them.
var early = []string{"/login", "/login/recovery", "/confirm", "/link/:secret", "/setup", "/settings/passkeys/:id", "/oauth/authorize"}

// rare are the pages that most owners never come to; TestNewKeys looks at them.
var rare = []string{"/contacts/:id/key"}

func isEarly(route string) bool {
	return slices.Contains(rare, route) || slices.Contains(early, route) || strings.HasPrefix(route, "/setup/")
}

// isPart says what is no page: what a page loads into itself, and streams.
func isPart(route string) bool {
	for _, prefix := range []string{"/part/", "/live", "/assets/", "/nowhere"} {
		if strings.HasPrefix(route, prefix) {
			return true
		}
	}
	return false
}

// examples is how many pages of each route are looked at: a pending approval and
// a decided one look different.
const examples = 5

// themes of the pages.
var themes = []string{"light", "dark"}

// TestPages looks at every page of two owners: nothing keeps anybody from using
// it in either theme, and a narrow phone shows all of it without scrolling
// sideways.
func TestPages(t *testing.T) {
	t.Parallel()
	browser(t)
	h := newHousehold(t)
	places := crawl(t, h.ada.SignIn(), examples)
	reached(t, places)
	b := signedIn(t, h.ada)
	names := map[string]int{}
	for _, p := range places {
		b.visit(p.path)
		b.check(p.path)
		if name := pictureOf(p.route); names[name] < picturesOf(p.route) {
			b.pictures(numbered(name, names[name]))
			names[name]++
		}
	}
}

// TestGrantThatOpens looks at a grant that would have let through what was refused.
func TestGrantThatOpens(t *testing.T) {
	t.Parallel()
	browser(t)
	h := newHousehold(t)
	b := signedIn(t, h.ada)
	query := url.Values{"capability": {policy.DiscloseBudget}, "mode": {"allow"}, "contact": {h.juno.Address}}
	b.visit("/agents/" + h.scout.ID + "/grants/change?" + query.Encode())
	b.says("Refused, and would have gone ahead", "It is refused today", "Nothing is changed yet")
	red := eval[string](b, `getComputedStyle(document.querySelector("#past .opens")).boxShadow`)
	if !strings.Contains(red, "rgb(163, 39, 31)") {
		t.Errorf("what would have gone ahead has the colour %s", red)
	}
	b.look("a grant that opens")
}

// look checks the page that is open, and takes its picture.
func (b *tab) look(where string) {
	b.t.Helper()
	b.check(where)
	b.pictures(strings.ReplaceAll(strings.ReplaceAll(where, " ", "-"), "'", ""))
}

// check fails the test where the open page keeps anybody from using it.
func (b *tab) check(where string) {
	b.t.Helper()
	for _, theme := range themes {
		b.theme(theme)
		b.accessible(where + " in " + theme)
	}
	b.size(360, 740)
	if wide := b.sideways(); len(wide) > 0 {
		b.t.Errorf("%s scrolls sideways at 360 px:\n\t%s", where, strings.Join(wide, "\n\t"))
	}
	if small := b.small(); len(small) > 0 {
		b.t.Errorf("%s has targets that a thumb misses:\n\t%s", where, strings.Join(small, "\n\t"))
	}
	b.size(1280, 900)
}

// small lists buttons and fields of less than 44 px on a phone.
func (b *tab) small() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("button, .btn, nav a, select, summary, input:not([type=hidden], [type=checkbox], [type=radio])")]
		.filter((e) => e.getClientRects().length > 0 && e.getBoundingClientRect().height < 43.5).map((e) => e.outerHTML.slice(0, 160)).slice(0, 5)`)
}

// reached fails the test where a page cannot be reached by clicks.
func reached(t *testing.T, places []place) {
	t.Helper()
	found := map[string]bool{}
	for _, p := range places {
		found[p.route] = true
	}
	for _, route := range routes(t) {
		if !found[route] && !isPart(route) && !isFile(route) && !isEarly(route) {
			t.Errorf("no click leads to %s", route)
		}
	}
}

// isFile says whether a route gives a file to download.
func isFile(route string) bool {
	for _, suffix := range []string{"/receipt", "/export", ".png", ".svg", ".csv", ".jsonl"} {
		if strings.HasSuffix(route, suffix) {
			return true
		}
	}
	return false
}
