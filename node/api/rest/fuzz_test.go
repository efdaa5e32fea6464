package rest

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzBody: whatever a body is, it is taken or refused as the document says, and
// a refused one reaches nobody.
func FuzzBody(f *testing.F) {
	for _, body := range []string{"", "{}", message1(`"a"`), message1(`"\ud83d\ude00"`), `{"text":"a","text":"b"}`, "[" + strings.Repeat("[", 40), "\xff", `{"a":1e400}`} {
		f.Add([]byte(body), "application/json")
	}
	var w *world
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		if w == nil {
			w = newWorld(t)
		}
		w.t, w.behind.called = t, nil
		r := httptest.NewRequest("POST", "/v1/agent/messages", strings.NewReader(string(body)))
		r.Header["Authorization"], r.Header["Content-Type"] = []string{w.bearer(adaID)}, []string{kind}
		a := w.serve(r)
		switch a.status {
		case 201:
			if w.behind.calls() != 1 {
				t.Errorf("%q: %v", body, w.behind.called)
			}
		case 400, 404, 413:
			if w.behind.calls() != 0 {
				t.Errorf("%q: %v", body, w.behind.called)
			}
		default:
			t.Errorf("%q: %d %s", body, a.status, a.body)
		}
	})
}
