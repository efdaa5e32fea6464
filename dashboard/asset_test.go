package dashboard

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"agentlink/dashboard/view"
)

func TestAssets(t *testing.T) {
	t.Parallel()
	style, font := view.AssetURL("style.css"), view.AssetURL("inter.woff2")
	tests := []struct {
		name, method, path, accept string
		status                     int
		packed                     bool
	}{
		{"packed", http.MethodGet, style, "gzip, deflate, br", http.StatusOK, true},
		{"packed with a weight", http.MethodGet, style, "br;q=1.0, gzip;q=0.8", http.StatusOK, true},
		{"plain", http.MethodGet, style, "", http.StatusOK, false},
		{"gzip refused", http.MethodGet, style, "gzip;q=0, identity", http.StatusOK, false},
		{"a font is packed already", http.MethodGet, font, "gzip", http.StatusOK, false},
		{"unknown", http.MethodGet, "/assets/none.css", "gzip", http.StatusNotFound, false},
		{"outside", http.MethodGet, "/assets/../guard.go", "gzip", http.StatusNotFound, false},
		{"sent", http.MethodPost, style, "gzip", http.StatusNotFound, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, test.path, nil)
			r.Header.Set("Accept-Encoding", test.accept)
			w := httptest.NewRecorder()
			serveAsset(w, r)
			if w.Code != test.status {
				t.Fatalf("status %d, want %d", w.Code, test.status)
			}
			if test.status != http.StatusOK {
				return
			}
			if packed := w.Header().Get("Content-Encoding") == "gzip"; packed != test.packed {
				t.Fatalf("packed: %v, want %v", packed, test.packed)
			}
			if got := body(t, w); !bytes.Equal(got, view.Assets[test.path].Data) {
				t.Errorf("%d bytes that are not the file's", len(got))
			}
		})
	}
}

func body(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	var r io.Reader = w.Body
	if w.Header().Get("Content-Encoding") == "gzip" {
		var err error
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
