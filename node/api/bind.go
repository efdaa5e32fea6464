package api

import (
	"bytes"
	"encoding/json"
	"mime"
	"reflect"
	"strconv"

	"agentlink/node"
	"agentlink/node/api/schema"
)

// binder reads a call into a request struct, strictly: what the struct does not
// name is refused, in the body and in the query. Whatever a request could not
// hold, no agent can say.
type binder[Req any] struct {
	body  *schema.Validator // nil where the request takes none
	query *schema.Validator
	from  []source
}

// source is a field that comes from path or query.
type source struct {
	index []int
	name  string
	path  bool
}

func newBinder[Req any](set *schema.Set) *binder[Req] {
	t := reflect.TypeFor[Req]()
	b := &binder[Req]{query: set.Query(t)}
	if schema.HasBody(t) {
		b.body = set.Body(t)
	}
	for _, field := range reflect.VisibleFields(t) {
		if name, ok := field.Tag.Lookup("path"); ok {
			b.from = append(b.from, source{index: field.Index, name: name, path: true})
		}
		if name, ok := field.Tag.Lookup("query"); ok {
			b.from = append(b.from, source{index: field.Index, name: name})
		}
	}
	return b
}

// bind reads the call. Code: bad_request, naming each field; too_large.
func (b *binder[Req]) bind(call *Call) (Req, error) {
	var request Req
	if err := b.bindBody(call, &request); err != nil {
		return request, err
	}
	values, err := b.queryValues(call)
	if err != nil {
		return request, err
	}
	if err := b.query.Value(values); err != nil {
		return request, err
	}
	target := reflect.ValueOf(&request).Elem()
	for _, from := range b.from {
		if from.path {
			target.FieldByIndex(from.index).SetString(call.Params[from.name])
		} else if value, ok := values[from.name]; ok {
			set(target.FieldByIndex(from.index), value)
		}
	}
	return request, nil
}

func (b *binder[Req]) bindBody(call *Call, into *Req) error {
	if b.body == nil {
		if len(call.Body) > 0 {
			return node.BadFields(node.Field{Field: "(body)", Problem: "is not taken here"})
		}
		return nil
	}
	if err := checkContentType(call.Header.ContentType); err != nil {
		return err
	}
	body := call.Body
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	// Decoding into raw text first finds what breaks the rules of JSON itself;
	// only then can the schema name every field that is wrong.
	var raw json.RawMessage
	if err := node.Decode(body, &raw); err != nil {
		return err
	}
	if err := b.body.JSON(body); err != nil {
		return err
	}
	return node.Decode(body, into)
}

func checkContentType(value string) error {
	if value == "" {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(value)
	charset, hasCharset := parameters["charset"]
	if err != nil || kind != "application/json" || (hasCharset && charset != "utf-8" && charset != "UTF-8") {
		return node.BadFields(node.Field{Field: "Content-Type", Problem: "must be application/json"})
	}
	return nil
}

// queryValues gives the query as the schema sees it: whole numbers for integer
// fields, text for the others.
func (b *binder[Req]) queryValues(call *Call) (map[string]any, error) {
	values := make(map[string]any, len(call.Query))
	kinds := b.kinds()
	for name, list := range call.Query {
		if len(list) != 1 {
			return nil, node.BadFields(node.Field{Field: name, Problem: "appears twice"})
		}
		values[name] = list[0]
		if kinds[name] == reflect.Int {
			number, err := strconv.ParseInt(list[0], 10, 32)
			if err != nil || strconv.FormatInt(number, 10) != list[0] {
				return nil, node.BadFields(node.Field{Field: name, Problem: "must be a whole number"})
			}
			values[name] = int(number)
		}
	}
	return values, nil
}

func (b *binder[Req]) kinds() map[string]reflect.Kind {
	t := reflect.TypeFor[Req]()
	kinds := make(map[string]reflect.Kind, len(b.from))
	for _, from := range b.from {
		kinds[from.name] = t.FieldByIndex(from.index).Type.Kind()
	}
	return kinds
}

func set(field reflect.Value, value any) {
	switch value := value.(type) {
	case int:
		field.SetInt(int64(value))
	case string:
		field.SetString(value)
	}
}
