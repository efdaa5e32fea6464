package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is the served OpenAPI document, read by a library that knows
// nothing of how it was made.
type contract struct {
	document map[string]any
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // by the schema's text
}

func newContract(t *testing.T, document []byte) *contract {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return &contract{document: parsed.(map[string]any), compiled: map[string]*jsonschema.Schema{}}
}

// at walks into the document; nil where there is nothing.
func (c *contract) at(path ...string) map[string]any {
	value := c.document
	for _, name := range path {
		value, _ = value[name].(map[string]any)
	}
	return value
}

// pathOf finds the path of the document that a request's path is an instance of.
func (c *contract) pathOf(path string) (string, bool) {
	parts := strings.Split(path, "/")
	for pattern := range c.at("paths") {
		names := strings.Split(pattern, "/")
		fits := len(names) == len(parts)
		for i := 0; fits && i < len(names); i++ {
			fits = names[i] == parts[i] || strings.HasPrefix(names[i], "{")
		}
		if fits {
			return pattern, true
		}
	}
	return "", false
}

// check holds an answer to the document, and the request too where it was taken.
func (c *contract) check(t *testing.T, r *http.Request, sent []byte, a answer) {
	t.Helper()
	c.Check(t, r.Method, r.URL.EscapedPath(), sent, a.status, []byte(a.body))
}

// Check is check for what came over a wire.
func (c *contract) Check(t *testing.T, method, path string, sent []byte, status int, body []byte) {
	t.Helper()
	pattern, ok := c.pathOf(path)
	operation := c.at("paths", pattern, strings.ToLower(method))
	if !ok || operation == nil {
		if status != http.StatusNotFound && status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s %s is not in the document and answers %d", method, path, status)
		}
		return
	}
	where := method + " " + pattern + " " + strconv.Itoa(status)
	response := c.at("paths", pattern, strings.ToLower(method), "responses", strconv.Itoa(status))
	if response == nil {
		t.Errorf("%s: the document knows no such answer: %s", where, body)
		return
	}
	if content, ok := response["content"].(map[string]any); ok {
		c.validate(t, where, content, body)
	} else if len(body) > 0 {
		t.Errorf("%s: a body that the document knows nothing of: %s", where, body)
	}
	if status < 300 && method == http.MethodPost && len(bytes.TrimSpace(sent)) > 0 && path != tokenPath {
		c.validate(t, where+" (request)", c.at("paths", pattern, "post", "requestBody", "content"), sent)
	}
}

func (c *contract) validate(t *testing.T, where string, content map[string]any, body []byte) {
	t.Helper()
	media, _ := content[jsonType].(map[string]any)
	schema, ok := media["schema"].(map[string]any)
	if !ok {
		return // the document itself
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s: %q: %v", where, body, err)
		return
	}
	if err := c.compile(t, schema).Validate(value); err != nil {
		t.Errorf("%s: %s: %v", where, body, err)
	}
}

func (c *contract) compile(t *testing.T, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprint(schema)
	if known, ok := c.compiled[text]; ok {
		return known
	}
	resource := map[string]any{"components": c.document["components"]}
	for keyword, value := range schema {
		resource[keyword] = value
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("mem://document", resource); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("mem://document")
	if err != nil {
		t.Fatal(err)
	}
	c.compiled[text] = compiled
	return compiled
}

// TestDocumentKnowsEveryRoute compares the document with fiber's own routes, in
// both directions.
func TestDocumentKnowsEveryRoute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	served := map[string]bool{}
	for _, r := range w.parts.fiber(w.routes).GetRoutes(true) {
		path := r.Path
		for _, name := range r.Params {
			path = strings.ReplaceAll(path, ":"+name, "{"+name+"}")
		}
		served[r.Method+" "+path] = true
		if w.contract.at("paths", path, strings.ToLower(r.Method)) == nil {
			t.Errorf("%s %s is served and not documented", r.Method, path)
		}
	}
	ids := map[string]bool{}
	for path, item := range w.contract.at("paths") {
		for method := range item.(map[string]any) {
			if !served[strings.ToUpper(method)+" "+path] {
				t.Errorf("%s %s is documented and not served", method, path)
			}
			id, _ := w.contract.at("paths", path, method)["operationId"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: the operationId %q is not its own", method, path, id)
			}
			ids[id] = true
		}
	}
	if len(served) < 20 {
		t.Errorf("only %d routes", len(served))
	}
}

// TestDocumentDescribesParameters compares the document's parameters with what
// the path names, and looks that each schema compiles.
func TestDocumentDescribesParameters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, item := range w.contract.at("paths") {
		for method := range item.(map[string]any) {
			operation := w.contract.at("paths", path, method)
			seen := map[string]bool{}
			parameters, _ := operation["parameters"].([]any)
			for _, entry := range parameters {
				p := entry.(map[string]any)
				w.contract.compile(t, p["schema"].(map[string]any))
				if seen[p["name"].(string)] {
					t.Errorf("%s %s: %v is there twice", method, path, p["name"])
				}
				seen[p["name"].(string)] = true
			}
			for _, part := range strings.Split(path, "/") {
				if strings.HasPrefix(part, "{") && !seen[strings.Trim(part, "{}")] {
					t.Errorf("%s %s: %s is not described", method, path, part)
				}
			}
		}
	}
}

func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.askAs("", "GET", "/openapi.json", "")
	var document map[string]any
	if err := json.Unmarshal([]byte(a.body), &document); err != nil || a.status != 200 {
		t.Fatalf("%d %v", a.status, err)
	}
	if document["openapi"] != "3.1.0" {
		t.Errorf("openapi: %v", document["openapi"])
	}
}
