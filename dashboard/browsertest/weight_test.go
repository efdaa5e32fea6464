package browsertest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"agentlink/dashboard/view"
	"agentlink/node/nodetest"
)

// heaviest is what a page may weigh on its way, with all that it loads.
const heaviest = 120 << 10

// TestWeight adds up what a browser fetches for each page: at first with fonts,
// styles and scripts, which it keeps for ever, and later the page alone.
func TestWeight(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	v := h.ada.SignIn()
	kept := 0
	for _, address := range fetched(t, v.Get("/")) {
		kept += transferred(t, h.ada.DashboardURL()+address, v.Cookies())
	}
	most, where := 0, ""
	for _, p := range crawl(t, v, examples) {
		page := transferred(t, h.ada.DashboardURL()+p.path, v.Cookies())
		if page > most {
			most, where = page, p.path
		}
		if page+kept > heaviest {
			t.Errorf("%s weighs %d bytes, and %d with what a browser keeps; want at most %d", p.path, page, page+kept, heaviest)
		}
	}
	t.Logf("kept: %.1f KiB; the heaviest page: %.1f KiB (%s)", float64(kept)/1024, float64(most)/1024, where)
}

// fetched are the files that a page loads, and the fonts that its style names.
func fetched(t *testing.T, page nodetest.Page) []string {
	t.Helper()
	seen := map[string]bool{}
	var all []string
	style := string(view.Assets[view.AssetURL("style.css")].Data)
	for _, address := range append(assets.FindAllString(page.Body, -1), assets.FindAllString(style, -1)...) {
		if !seen[address] {
			seen[address] = true
			all = append(all, address)
		}
	}
	if len(all) < 6 {
		t.Fatalf("a page loads only %v", all)
	}
	return all
}

var assets = regexp.MustCompile(`/assets/[\w.-]+`)

// transferred is the size of an answer on its way.
func transferred(t *testing.T, address string, cookies []*http.Cookie) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip, deflate, br") // as browsers do on plain http
	for _, c := range cookies {
		r.AddCookie(c)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", address, answer.StatusCode, err)
	}
	if answer.Header.Get("Content-Encoding") == "gzip" {
		if _, err := gzip.NewReader(bytes.NewReader(body)); err != nil {
			t.Fatalf("%s: %v", address, err)
		}
	}
	return len(body) + len(strings.Join(answer.Header.Values("Content-Security-Policy"), ""))
}
