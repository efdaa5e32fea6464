package hostile

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlink/coordination/wire"
)

// inflated is how large a bomb becomes where somebody lights it; as it comes, it
// is smaller than the largest body that is taken.
const inflated = 60 << 20

// bombs are bodies that say that they are compressed, by the values of their
// Content-Encoding headers.
func bombs(t *testing.T) map[string]struct {
	header []string
	body   []byte
} {
	t.Helper()
	type bomb = struct {
		header []string
		body   []byte
	}
	zipped := deflated(t, func(w io.Writer) io.WriteCloser { z, _ := gzip.NewWriterLevel(w, 9); return z })
	zlibbed := deflated(t, func(w io.Writer) io.WriteCloser { z, _ := zlib.NewWriterLevel(w, 9); return z })
	raw := deflated(t, func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 9); return z })
	return map[string]bomb{
		"gzip": {[]string{"gzip"}, zipped}, "x-gzip": {[]string{"x-gzip"}, zipped}, "in capitals": {[]string{"GZIP"}, zipped},
		"deflate": {[]string{"deflate"}, zlibbed}, "raw deflate": {[]string{"deflate"}, raw}, "br": {[]string{"br"}, zipped},
		"zstd": {[]string{"zstd"}, zipped}, "two of them": {[]string{"gzip, gzip"}, zipped}, "two headers": {[]string{"gzip", "deflate"}, zipped},
		"an empty one first": {[]string{"", "gzip"}, zipped}, "an empty one last": {[]string{"gzip", ""}, zipped},
		"a comma first": {[]string{", gzip"}, zipped}, "a space": {[]string{" "}, zipped}, "identity first": {[]string{"identity", "gzip"}, zipped},
		"empty, then two": {[]string{"", "deflate, gzip"}, zipped}, "empty, then br": {[]string{"", "br"}, zipped}, "empty, then deflate": {[]string{"", "deflate"}, zlibbed},
	}
}

// deflated is nothing, many times.
func deflated(t *testing.T, by func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var into bytes.Buffer
	w, block := by(&into), make([]byte, 1<<20)
	for range inflated >> 20 {
		_, err := w.Write(block)
		must(t, err)
	}
	must(t, w.Close())
	if into.Len() >= 64<<10 {
		t.Fatalf("a bomb of %d bytes", into.Len())
	}
	return into.Bytes()
}

// TestBombs (G10): each of them at each route that takes a body, without a right
// to be there, as an agent and as the owner; in one piece and in chunks. None is
// inflated, and the owner's page stays quick.
func TestBombs(t *testing.T) {
	p := newProcess(t)
	routes := p.bodyRoutes()
	quiet := p.use(time.Second)
	all := bombs(t)
	var light sync.WaitGroup
	next := make(chan func(), 1)
	for range 4 {
		light.Go(func() {
			for f := range next {
				f()
			}
		})
	}
	var mu sync.Mutex
	statuses, sent := map[int]int{}, 0
	go func() {
		defer close(next)
		for _, route := range slices.Concat(routes, routes, routes) {
			for name, bomb := range all {
				next <- func() {
					status := p.throw(route, bomb.header, bomb.body, name)
					mu.Lock()
					defer mu.Unlock()
					statuses[status]++
					sent++
				}
			}
		}
	}()
	done := make(chan struct{})
	go func() { light.Wait(); close(done) }()
	var busy measured
	for running := true; running; {
		m := p.use(200 * time.Millisecond)
		busy.pages, busy.answers = append(busy.pages, m.pages...), append(busy.answers, m.answers...)
		select {
		case <-done:
			running = false
		default:
		}
	}
	p.wantQuick("bombs", quiet, busy)
	p.wantSmall()
	t.Logf("%d bombs at %d routes, as they are %d KiB each; statuses %v", sent, len(routes), len(all["gzip"].body)>>10, statuses)
	for status := range statuses {
		if status < 400 || status >= 500 {
			t.Errorf("a status is %d", status)
		}
	}
}

// throw sends one bomb, in chunks where its name has an odd length.
func (p *process) throw(route string, encodings []string, body []byte, name string) int {
	method, path, _ := strings.Cut(route, " ")
	header := http.Header{"Content-Encoding": encodings, "Content-Type": {"application/json"}}
	who, path, known := strings.Cut(path, ":")
	switch {
	case !known:
		path = who
	case who == "agent":
		header.Set("Authorization", "Bearer "+p.bearer)
	default: // a page's form, from a page of the node itself
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		header.Set("Origin", "http://"+p.address)
		header.Set("Sec-Fetch-Site", "same-origin")
		for _, cookie := range p.visitor.Cookies() {
			if who == "owner" {
				header.Add("Cookie", cookie.Name+"="+cookie.Value)
			}
		}
	}
	if len(name)%2 == 1 {
		return p.chunked(method, path, header, body)
	}
	status, _, _ := p.send(method, path, header, body)
	return status
}

// chunked is send without a length.
func (p *process) chunked(method, path string, header http.Header, body []byte) int {
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.info.AgentsURL+path, io.MultiReader(bytes.NewReader(body)))
	if err != nil {
		p.t.Error(err)
		return 0
	}
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// anID stands where a path has a parameter.
const anID = "01900000-0000-7000-8000-000000000001"

var parameter = regexp.MustCompile(`:\w+|\{\w+\}`)

// bodyRoutes are all routes that a body can be sent to: those that the node's
// own document describes, those of the dashboard by the golden of its matrix,
// and the doors of peers and programs.
func (p *process) bodyRoutes() (routes []string) {
	p.t.Helper()
	_, _, content := p.send("GET", "/openapi.json", nil, nil)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	must(p.t, json.Unmarshal(content, &document))
	for path, methods := range document.Paths {
		for method := range methods {
			path := parameter.ReplaceAllString(path, anID)
			if method = strings.ToUpper(method); method != "GET" && method != "PARAMETERS" {
				routes = append(routes, method+" "+path, method+" agent:"+path)
			}
		}
	}
	golden, err := os.ReadFile(filepath.Join("..", "..", "dashboard", "testdata", "matrix.golden"))
	must(p.t, err)
	for line := range strings.Lines(string(golden)) {
		fields := strings.Fields(line)
		if len(fields) > 2 && slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, fields[0]) {
			path := parameter.ReplaceAllString(fields[1], anID)
			routes = append(routes, fields[0]+" "+path, fields[0]+" form:"+path, fields[0]+" owner:"+path)
		}
	}
	for _, path := range []string{wire.InboxPath, "/oauth/token", "/oauth/register", "/oauth/revoke", "/oauth/authorize", "/mcp", "agent:/mcp"} {
		routes = append(routes, "POST "+path)
	}
	slices.Sort(routes)
	routes = slices.Compact(routes)
	if len(routes) < 40 {
		p.t.Fatalf("only %d routes: %v", len(routes), routes)
	}
	return routes
}
