package dashboard

import "net/http"

// A route whose answer is long is checked like every other, by fiber, and then
// answered by net/http: fiber keeps an answer in memory until its end.

// streamHeader tells who answers. It never leaves the node.
const streamHeader = "Agentlink-Stream"

// streams leaves the answer to one of Dashboard.streamers.
func (v *visit) streams(name string) { v.c.Set(streamHeader, name) }

// streamers answer routes whose handler has called streams.
func (d *Dashboard) streamers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{exportStream: d.export}
}

// checked is an answer of fiber's, held back where it names a streamer.
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
	for name := range c.Header() {
		if name == streamHeader || name == "Content-Type" || name == "Content-Length" {
			c.Header().Del(name)
		}
	}
}

// Write implements http.ResponseWriter.
func (c *checked) Write(data []byte) (int, error) {
	if c.stream != "" {
		return len(data), nil
	}
	return c.ResponseWriter.Write(data)
}
