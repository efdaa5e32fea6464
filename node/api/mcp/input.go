package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/agent"
	"agentlink/node/api/schema"
)

// Names of arguments that REST takes as headers.
const (
	etagName = "etag"
	keyName  = "idempotencyKey"
)

// inputs are the arguments of a tool: what REST takes from path, query, body and
// header, side by side in one object.
type inputs struct {
	schema schema.Rule
	path   []string
	query  []string
	header []string
}

func inputsOf(set *schema.Set, operation agent.Operation) inputs {
	in := inputs{}
	rule := set.Whole(operation.Request)
	// Models' interfaces refuse schemas with alternatives at the top; descriptions
	// tell them and the operation checks them.
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "dependentRequired"} {
		delete(rule, keyword)
	}
	properties := rule["properties"].(map[string]any)
	required, _ := rule["required"].([]any)
	for _, p := range set.Parameters(operation.Request) {
		property := p.Schema
		if p.Doc != "" {
			property["description"] = p.Doc
		}
		properties[p.Name] = property
		if p.Required {
			required = append(required, p.Name)
		}
		if p.In == "path" {
			in.path = append(in.path, p.Name)
		} else {
			in.query = append(in.query, p.Name)
		}
	}
	if operation.Versioned() {
		in.header = append(in.header, etagName)
		properties[etagName] = schema.Rule{"type": "string", "maxLength": 128, "description": "etag of the answer that you have; with wait, the call returns when the object differs from it."}
	}
	if operation.Keyed {
		in.header = append(in.header, keyName)
		properties[keyName] = schema.Rule{"type": "string", "maxLength": api.MaxKey, "description": "A name of your own for this request. Where an answer got lost, the same key and arguments give the stored answer and do nothing twice."}
	}
	if len(required) > 0 {
		rule["required"] = required
	}
	in.schema = rule
	return in
}

// call turns arguments into the call of the operation, which checks them. Code:
// bad_request.
func (in inputs) call(operation agent.Operation, arguments json.RawMessage) (*api.Call, error) {
	call := &api.Call{Route: operation.Route(), Params: map[string]string{}, Query: url.Values{}}
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(arguments)) > 0 && string(arguments) != "null" {
		if err := node.Decode(arguments, &given); err != nil {
			return call, err
		}
	}
	header := map[string]string{}
	problems := in.take(given, in.path, func(name, value string) { call.Params[name] = value })
	problems = append(problems, in.take(given, in.query, func(name, value string) { call.Query.Set(name, value) })...)
	problems = append(problems, in.take(given, in.header, func(name, value string) { header[name] = value })...)
	for _, name := range in.path {
		if call.Params[name] == "" && !slices.ContainsFunc(problems, func(f node.Field) bool { return f.Field == name }) {
			problems = append(problems, node.Field{Field: name, Problem: "is missing"})
		}
	}
	if len(problems) > 0 {
		return call, node.BadFields(problems...)
	}
	call.Header = api.Header{IdempotencyKey: header[keyName], IfNoneMatch: quoted(header[etagName])}
	call.Path = pathOf(operation.Path, call.Params)
	return call, in.body(call, given)
}

// body is what is left of the arguments.
func (in inputs) body(call *api.Call, left map[string]json.RawMessage) error {
	if len(left) == 0 {
		return nil
	}
	body, err := node.Canonical(left)
	call.Body = body
	return err
}

// take moves the named arguments over. Text and numbers go as they are.
func (in inputs) take(given map[string]json.RawMessage, names []string, to func(name, value string)) (problems []node.Field) {
	for _, name := range names {
		raw, ok := given[name]
		delete(given, name)
		if !ok {
			continue
		}
		var text string
		switch {
		case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
			to(name, text)
		case raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'):
			to(name, string(raw))
		default:
			problems = append(problems, node.Field{Field: name, Problem: "must be text or a number"})
		}
	}
	return problems
}

// pathOf fills the names of a pattern in.
func pathOf(pattern string, params map[string]string) string {
	for name, value := range params {
		pattern = strings.ReplaceAll(pattern, "{"+name+"}", url.PathEscape(value))
	}
	return pattern
}

func quoted(tag string) string {
	if tag == "" {
		return ""
	}
	return `"` + tag + `"`
}
