package api

import "net/http"

// dataOnly lets an answer of a door be nothing but data: it loads nothing, runs
// nothing and is framed by nobody, whatever a browser takes it for.
const dataOnly = "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// strictTransport keeps browsers on https for a year.
const strictTransport = "max-age=31536000; includeSubDomains"

// Headers sets what every answer of the node carries, whichever door gives it and
// whether it is an error or not; the dashboard says the same of its own in other
// words. https says whether a host is reached by TLS, at this node or at a proxy
// before it.
func Headers(https func(host string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", dataOnly)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if https(r.Host) {
			h.Set("Strict-Transport-Security", strictTransport)
		}
		next.ServeHTTP(w, r)
	})
}
