package api

import (
	"net/url"
	"testing"
)

// TestPlainPath: whatever two routers could read differently is not plain.
func TestPlainPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"/": true, "/v1/agent/me": true, "/v1/agent/tasks/0193": true, "/a.b/c-d_e": true,
		"": false, "*": false, "v1": false, "//": false, "//a": false, "/a//b": false, "/a//": false, "/./a": false, "/a/.": false,
		"/a/..": false, "/a/../b": false, "/%61": false, "/a%2fb": false, "/a%00": false, "/a b": false,
	} {
		u, err := url.ParseRequestURI(text)
		if err != nil {
			u = &url.URL{Path: text}
		}
		if plainPath(u) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// TestPatterns: the two ways to write a pattern say the same.
func TestPatterns(t *testing.T) {
	t.Parallel()
	const pattern, written = "/v1/agent/tasks/{uid}/cancel", "/v1/agent/tasks/:uid/cancel"
	if got := FiberPath(pattern); got != written {
		t.Error(got)
	}
	if got := fiberName.ReplaceAllString(written, "{$1}"); got != pattern {
		t.Error(got)
	}
}
