package view_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"

	"agentlink/dashboard/view"
)

var update = flag.Bool("update", false, "write the goldens")

// now is when every golden page is shown.
var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// frame is what stands around a golden page.
func frame(title, here string) view.Frame {
	return view.Frame{
		Title: title, Here: here, Owner: "Ada", Host: "ada.example", Waiting: 2, CSRF: "token of the session", Now: now, Seen: 41,
	}
}

var (
	assetHash = regexp.MustCompile(`(/assets/[a-z.]+-)[0-9a-f]{12}\.`)
	tagStart  = regexp.MustCompile(`>\s*<`)
)

// golden compares a page, one tag a line and without the hashes of assets, with
// testdata/<name>.html.
func golden(t *testing.T, name string, page templ.Component) {
	t.Helper()
	var out bytes.Buffer
	if err := page.Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	got := assetHash.ReplaceAllString(out.String(), "${1}hash.")
	got = tagStart.ReplaceAllString(got, ">\n<") + "\n"
	path := filepath.Join("testdata", name+".html")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", path, diff)
	}
}
