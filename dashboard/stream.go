package dashboard

import (
	"net/http"
	"time"
)

// A route whose answer is long, or takes long, is checked like every other, by
// fiber, and then answered by net/http: fiber keeps an answer in memory until its
// end, and does not see that a browser has left.

// streamHeader names the answer that waits. It never leaves the node.
const streamHeader = "Agentlink-Stream"

// streams leaves the answer to answer, for which there is no time-out.
func (v *visit) streams(answer http.HandlerFunc) error {
	id := v.d.IDs.New()
	v.d.streaming.Store(id, answer)
	v.c.Set(streamHeader, id)
	return nil
}

// finish gives the answer that fiber has left, if it has.
func (d *Dashboard) finish(left *checked, w http.ResponseWriter, r *http.Request) {
	if left.stream == "" {
		return
	}
	if answer, ok := d.streaming.LoadAndDelete(left.stream); ok {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		answer.(http.HandlerFunc)(w, r)
	}
}

// checked is an answer of fiber's, held back where it is left to net/http.
type checked struct {
	http.ResponseWriter
	stream string
}

// WriteHeader implements http.ResponseWriter.
func (c *checked) WriteHeader(status int) {
	if c.stream = c.Header().Get(streamHeader); c.stream == "" {
		c.ResponseWriter.WriteHeader(status)
		return
	}
	for _, name := range []string{streamHeader, "Content-Type", "Content-Length"} {
		c.Header().Del(name)
	}
}

// Write implements http.ResponseWriter.
func (c *checked) Write(data []byte) (int, error) {
	if c.stream != "" {
		return len(data), nil
	}
	return c.ResponseWriter.Write(data)
}
