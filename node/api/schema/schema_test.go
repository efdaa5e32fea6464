package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/api/schema"
)

type color string

type inner struct {
	Name string `json:"name" is:"short"`
}

type shared struct {
	Limit int `json:"-" query:"limit" is:"few"`
}

type request struct {
	shared
	ID     string          `json:"-" path:"id"`
	Text   string          `json:"text" is:"short" doc:"What to say."`
	Color  color           `json:"color,omitempty"`
	Count  int             `json:"count,omitzero" is:"few"`
	Fields json.RawMessage `json:"fields,omitempty" is:"object"`
	Inner  *inner          `json:"inner,omitempty"`
	List   []inner         `json:"list,omitempty"`
	Words  map[string]bool `json:"words,omitempty"`
	skip   int
}

type either struct {
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

func (either) SchemaRules() (schema.Rule, string) {
	return schema.Rule{"oneOf": []any{schema.Rule{"required": []string{"a"}}, schema.Rule{"required": []string{"b"}}}}, "must have a or b"
}

func newSet() *schema.Set {
	set := schema.NewSet(map[string]schema.Rule{
		"short": {"minLength": 1, "maxLength": 3}, "few": {"minimum": 1, "maximum": 5}, "object": {"type": "object"},
	})
	schema.Enum(set, color("red"), color("blue"))
	return set
}

// TestSchema compares the whole description of a struct.
func TestSchema(t *testing.T) {
	t.Parallel()
	set := newSet()
	_ = request{skip: 1}
	if ref := set.Ref(reflect.TypeFor[request]()); ref["$ref"] != "#/components/schemas/Request" {
		t.Errorf("%v", ref)
	}
	want := `{"Inner":{"additionalProperties":false,"properties":{"name":{"maxLength":3,"minLength":1,"type":"string"}},"required":["name"],"type":"object"},` +
		`"Request":{"additionalProperties":false,"properties":{"color":{"enum":["red","blue"],"type":"string"},"count":{"maximum":5,"minimum":1,"type":"integer"},` +
		`"fields":{"type":"object"},"inner":{"$ref":"#/components/schemas/Inner"},"list":{"items":{"$ref":"#/components/schemas/Inner"},"type":"array"},` +
		`"text":{"description":"What to say.","maxLength":3,"minLength":1,"type":"string"},"words":{"additionalProperties":{"type":"boolean"},"type":"object"}},"required":["text"],"type":"object"}}`
	if diff := cmp.Diff(want, string(node.MustCanonical(set.Components()))); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, p := range set.Parameters(reflect.TypeFor[request]()) {
		names = append(names, p.In+" "+p.Name)
	}
	if diff := cmp.Diff([]string{"query limit", "path id"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestProblems: each thing that is wrong is named with its field.
func TestProblems(t *testing.T) {
	t.Parallel()
	set := newSet()
	body, two, query := set.Body(reflect.TypeFor[request]()), set.Body(reflect.TypeFor[either]()), set.Query(reflect.TypeFor[request]())
	cases := []struct {
		with *schema.Validator
		json string
		want string
	}{
		{body, `{"text":"abc"}`, ""},
		{body, `{"text":"äöü","color":"red","count":5,"fields":{},"inner":{"name":"x"},"list":[],"words":{"a":true}}`, ""},
		{body, `{}`, "text is missing"},
		{body, `{"text":""}`, "text must not be empty"},
		{body, `{"text":"abcd"}`, "text must have at most 3 characters"},
		{body, `{"text":null}`, "text must be of type string"},
		{body, `{"text":"a","color":"green"}`, "color must be one of red, blue"},
		{body, `{"text":"a","count":0}`, "count must be at least 1"},
		{body, `{"text":"a","count":6}`, "count must be at most 5"},
		{body, `{"text":"a","count":1.5}`, "count must be of type integer"},
		{body, `{"text":"a","fields":[]}`, "fields must be of type object"},
		{body, `{"text":"a","x":1,"y":2}`, "x is not known here, y is not known here"},
		{body, `{"text":"a","inner":{}}`, "inner.name is missing"},
		{body, `{"text":"a","list":[{"name":"a"},{"name":"abcd"}]}`, "list.1.name must have at most 3 characters"},
		{body, `{"text":"a","words":{"b":1}}`, "words.b must be of type boolean"},
		{body, `[]`, "(body) must be of type object"},
		{two, `{"a":""}`, ""},
		{two, `{}`, "(body) must have a or b"},
		{two, `{"a":"","b":""}`, "(body) must have a or b"},
		{query, `{"limit":5}`, ""},
		{query, `{"limit":6}`, "limit must be at most 5"},
		{query, `{"id":"1"}`, "id is not known here"},
	}
	for _, c := range cases {
		err := c.with.JSON([]byte(c.json))
		if got := told(t, err); got != c.want {
			t.Errorf("%s: %q, want %q", c.json, got, c.want)
		}
	}
}

func told(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := node.AsError(err)
	if !ok || e.Code != node.BadRequest {
		t.Fatalf("%v", err)
	}
	var list []string
	for _, field := range e.Details["fields"].([]node.Field) {
		list = append(list, field.Field+" "+field.Problem)
	}
	return strings.Join(list, ", ")
}

// TestProblemsRepeatNoValue: what was sent does not come back in the text of an
// error, from where it could reach a log or a page.
func TestProblemsRepeatNoValue(t *testing.T) {
	t.Parallel()
	body := newSet().Body(reflect.TypeFor[request]())
	err := body.JSON([]byte(`{"text":"SECRET","color":"SECRET","count":777777,"fields":"SECRET"}`))
	e, ok := node.AsError(err)
	if !ok {
		t.Fatal(err)
	}
	shown := e.Message + string(node.MustCanonical(e.Details))
	if strings.Contains(shown, "SECRET") || strings.Contains(shown, "777777") {
		t.Error(shown)
	}
}

// TestNamesAreUnique: two structs cannot describe one component.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	set := newSet()
	set.Ref(reflect.TypeFor[inner]())
	defer func() {
		if recover() == nil {
			t.Error("two structs share a name")
		}
	}()
	type Inner struct{}
	set.Ref(reflect.TypeFor[Inner]())
}
