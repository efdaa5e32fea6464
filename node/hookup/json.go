package hookup

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

const (
	notJSON     = leave("cannot be read as JSON")
	hasComments = leave("has comments or trailing commas, which a program could lose")
	notObject   = leave("has something else than an object where the servers belong")
	unsure      = leave("could not be changed without touching other parts of it")
)

// document is a JSON file in the form in which somebody wrote it.
type document struct {
	root hujson.Value
	unit string // of indentation; "" where everything stands on one line
}

func parseJSON(content []byte) (*document, error) {
	root, err := hujson.Parse(bytes.Clone(content))
	if err != nil {
		return nil, notJSON
	}
	if !root.IsStandard() {
		return nil, hasComments
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, notObject
	}
	d := &document{root: root, unit: "  "}
	if len(object.Members) > 0 {
		before := string(object.Members[0].Name.BeforeExtra)
		d.unit = before[strings.LastIndex(before, "\n")+1:]
		if !strings.Contains(before, "\n") {
			d.unit = ""
		}
	}
	return d, nil
}

// find gives the place of a member, or -1. A name that stands twice is refused:
// programs differ in which one they take.
func find(object *hujson.Object, name string) (int, error) {
	at := -1
	for i, m := range object.Members {
		literal, ok := m.Name.Value.(hujson.Literal)
		if !ok || literal.String() != name {
			continue
		}
		if at >= 0 {
			return -1, unsure
		}
		at = i
	}
	return at, nil
}

// servers finds the object at the end of a path. With create, what is missing is
// made, else it is nil.
func (d *document) servers(path []string, create bool) (*hujson.Object, error) {
	object, _ := d.root.Value.(*hujson.Object)
	for depth, name := range path {
		at, err := find(object, name)
		if err != nil || at < 0 && !create {
			return nil, err
		}
		if at < 0 {
			d.put(object, depth+1, name, hujson.Value{Value: &hujson.Object{}})
			at = len(object.Members) - 1
		}
		inner, ok := object.Members[at].Value.Value.(*hujson.Object)
		if !ok {
			return nil, notObject
		}
		object = inner
	}
	return object, nil
}

// put adds a member at the end of an object, in the form of its neighbours.
func (d *document) put(object *hujson.Object, depth int, name string, value hujson.Value) {
	before := d.line(depth)
	if n := len(object.Members); n > 0 {
		before = object.Members[n-1].Name.BeforeExtra
	} else {
		object.AfterExtra = d.line(depth - 1)
	}
	value.BeforeExtra, value.AfterExtra = hujson.Extra(" "), nil
	object.Members = append(object.Members, hujson.ObjectMember{
		Name: hujson.Value{BeforeExtra: bytes.Clone(before), Value: hujson.String(name)}, Value: value,
	})
}

// line begins a line of some depth; nothing where everything stands on one.
func (d *document) line(depth int) hujson.Extra {
	if d.unit == "" {
		return nil
	}
	return hujson.Extra("\n" + strings.Repeat(d.unit, depth))
}

// addJSON puts a server into a file, and looks afterwards whether nothing else
// changed.
func (c Client) addJSON(content []byte, s Server) ([]byte, Change, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return []byte(c.Lines(s) + "\n"), Added, nil
	}
	d, err := parseJSON(content)
	if err != nil {
		return nil, Unchanged, err
	}
	servers, err := d.servers(c.table, true)
	if err != nil {
		return nil, Unchanged, err
	}
	at, err := find(servers, s.Name)
	if err != nil {
		return nil, Unchanged, err
	}
	depth := len(c.table) + 1
	fresh, err := hujson.Parse([]byte(c.entry(s).object(strings.Repeat(d.unit, depth), d.unit)))
	if err != nil {
		return nil, Unchanged, unsure
	}
	change := Added
	if at < 0 {
		d.put(servers, depth, s.Name, fresh)
	} else {
		change = Replaced
		if same := c.exchange(d, &servers.Members[at].Value, fresh, depth); same {
			return content, Unchanged, nil
		}
	}
	result := d.root.Pack()
	return result, change, c.onlyOurs(content, result, s.Name)
}

// exchange puts a fresh entry into the place of an old one, with the members of
// the old one that are not ours. It says whether nothing would change by it.
func (c Client) exchange(d *document, place *hujson.Value, fresh hujson.Value, depth int) (same bool) {
	old, _ := place.Value.(*hujson.Object)
	object, _ := fresh.Value.(*hujson.Object)
	if old != nil {
		for _, m := range old.Members {
			literal, _ := m.Name.Value.(hujson.Literal)
			if !c.own(literal.String()) {
				d.put(object, depth+1, literal.String(), m.Value)
			}
		}
	}
	if reflect.DeepEqual(decoded(place.Pack()), decoded(fresh.Pack())) {
		return true
	}
	fresh.BeforeExtra, fresh.AfterExtra = place.BeforeExtra, place.AfterExtra
	*place = fresh
	return false
}

func (c Client) removeJSON(content []byte, name string) ([]byte, Change, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return content, Unchanged, nil
	}
	d, err := parseJSON(content)
	if err != nil {
		return nil, Unchanged, err
	}
	servers, err := d.servers(c.table, false)
	if err != nil || servers == nil {
		return content, Unchanged, err
	}
	at, err := find(servers, name)
	if err != nil || at < 0 {
		return content, Unchanged, err
	}
	servers.Members = slices.Delete(servers.Members, at, at+1)
	if len(servers.Members) == 0 {
		servers.AfterExtra = nil
	}
	result := d.root.Pack()
	return result, Removed, c.onlyOurs(content, result, name)
}

// onlyOurs compares two states of a file without the server's entry, and the
// tables that had to be made for it.
func (c Client) onlyOurs(before, after []byte, name string) error {
	if !json.Valid(after) || !reflect.DeepEqual(without(decoded(before), c.table, name), without(decoded(after), c.table, name)) {
		return unsure
	}
	return nil
}

func decoded(content []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	return value
}

// without takes the server out of a decoded file, and the tables above it where
// nothing else is left in them.
func without(value any, table []string, name string) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if len(table) == 0 {
		delete(object, name)
		return object
	}
	if inner, ok := object[table[0]]; ok {
		rest := without(inner, table[1:], name)
		if left, ok := rest.(map[string]any); ok && len(left) == 0 {
			delete(object, table[0])
		}
	}
	return object
}
