package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agentlink/dashboard"
)

// foreign are ways in which another site makes the owner's browser send a form,
// each with the owner's cookie, and most with a token that has leaked.
var foreign = []struct {
	name  string
	shape func(d *door, r *http.Request, form url.Values)
}{
	{"another site", headers("Sec-Fetch-Site", "cross-site")},
	{"another site that says where it is", headers("Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example")},
	{"another port of this host", headers("Sec-Fetch-Site", "same-site", "Origin", "http://localhost:1")},
	{"another site with our name in Origin", func(d *door, r *http.Request, _ url.Values) {
		set(r, "Sec-Fetch-Site", "cross-site", "Origin", d.node.DashboardURL())
	}},
	{"a word that is none", headers("Sec-Fetch-Site", "same-origin, cross-site")},
	{"an old browser, another origin", headers("Origin", "https://elsewhere.example")},
	{"an old browser, another port", headers("Origin", "http://localhost:1")},
	{"an old browser, no origin", headers()},
	{"an old browser, a hidden origin", headers("Origin", "null")},
	{"an old browser, a longer host", func(d *door, r *http.Request, _ url.Values) {
		set(r, "Origin", d.node.DashboardURL()+".elsewhere.example")
	}},
	{"an old browser, another scheme", func(d *door, r *http.Request, _ url.Values) {
		set(r, "Origin", strings.Replace(d.node.DashboardURL(), "http:", "https:", 1))
	}},
	{"an old browser, our name as a referrer only", func(d *door, r *http.Request, _ url.Values) {
		set(r, "Referer", d.node.DashboardURL()+"/")
	}},
	{"a name that leads here", func(_ *door, r *http.Request, _ url.Values) {
		r.Host = "rebound.example"
		set(r, "Sec-Fetch-Site", "same-origin", "Origin", "http://rebound.example")
	}},
	{"our page without its token", func(_ *door, r *http.Request, form url.Values) {
		form.Del("csrf")
		set(r, "Sec-Fetch-Site", "same-origin")
	}},
	{"our page with another token", func(_ *door, r *http.Request, form url.Values) {
		form.Set("csrf", form.Get("csrf")+"x")
		set(r, "Sec-Fetch-Site", "same-origin")
	}},
	{"our page with its token in the address", func(_ *door, r *http.Request, form url.Values) {
		r.URL.RawQuery = form.Encode()
		form.Del("csrf")
		set(r, "Sec-Fetch-Site", "same-origin")
	}},
}

func headers(pairs ...string) func(*door, *http.Request, url.Values) {
	return func(_ *door, r *http.Request, _ url.Values) { set(r, pairs...) }
}

func set(r *http.Request, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
}

// beforeSession are forms that are sent without a session, so that they have no
// token; what another site may do with them is checked all the same.
func beforeSession(row string) bool {
	_, path, _ := strings.Cut(row, " ")
	for _, open := range []string{"/login", "/setup", "/link"} {
		if path == open || strings.HasPrefix(path, open+"/") {
			return true
		}
	}
	return false
}

// TestForeignForms sends every form as another site would: none is taken.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	s := d.signIn()
	for _, row := range dashboard.Routes() {
		if strings.HasPrefix(row, "GET ") {
			continue
		}
		for _, f := range foreign {
			if beforeSession(row) && strings.HasPrefix(f.name, "our page") {
				continue
			}
			form := url.Values{"csrf": {s.csrf}}
			r := d.request(row, s.cookie, nil)
			f.shape(d, r, form)
			d.fill(r, form)
			answer, body := d.do(r)
			d.safe(row+" from "+f.name, answer)
			if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s from %s: status %d: %.300s", row, f.name, answer.StatusCode, body)
			}
		}
	}
	if d.ended(s) {
		t.Error("a form of another site ended the session")
	}
}
