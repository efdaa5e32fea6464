package view_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	passwordField = regexp.MustCompile(`<input[^>]*name="(?:password|again|current)"[^>]*>`)
	hinders       = regexp.MustCompile(`onpaste|onkey|maxlength|autocomplete="off"|pattern=|readonly`)
)

// Each field for a password hides what is typed, says to password managers which one
// it is, and hinders neither them nor pasting.
func TestPasswordFields(t *testing.T) {
	t.Parallel()
	fields := 0
	for name, page := range goldens(t) {
		for _, field := range passwordField.FindAllString(page, -1) {
			fields++
			if !strings.Contains(field, `type="password"`) || hinders.MatchString(field) {
				t.Errorf("%s: %s", name, field)
			}
			if !strings.Contains(field, `autocomplete="current-password"`) && !strings.Contains(field, `autocomplete="new-password"`) {
				t.Errorf("%s: no password manager knows which one it is: %s", name, field)
			}
		}
	}
	if fields < 6 {
		t.Errorf("%d fields only", fields)
	}
}

// Each page of a signed-in owner has a way out.
func TestEveryPageSignsOut(t *testing.T) {
	t.Parallel()
	pages := 0
	for name, page := range goldens(t) {
		if !strings.Contains(page, `<nav aria-label="Main">`) {
			continue
		}
		pages++
		if !regexp.MustCompile(`(?s)<form method="post" action="/logout">.{0,200}Sign out`).MatchString(page) {
			t.Errorf("%s has no way out", name)
		}
	}
	if pages < 60 {
		t.Errorf("%d pages only", pages)
	}
}

// goldens are the pages as they are kept, by their names.
func goldens(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*.html"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	all := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(content)
	}
	return all
}
