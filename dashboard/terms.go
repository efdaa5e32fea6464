package dashboard

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"agentlink/dashboard/view"
	"agentlink/node/display"
)

// How two versions of terms differ, for a person: entries of lists are compared
// whatever their place, and everything has the label of its field.

// labelled writes the fields of a proposal as rows under their labels.
func labelled(raw json.RawMessage, labels map[string]string) []view.Parameter {
	var rows []view.Parameter
	fields := fieldsOf(raw)
	for _, name := range sortedKeys(fields) {
		for _, r := range flat(label(name, labels), fields[name]) {
			rows = append(rows, view.Parameter{Name: r.Path, Value: r.Value})
		}
	}
	return rows
}

func label(name string, labels map[string]string) string {
	if l := labels[name]; l != "" {
		return l
	}
	return name
}

// fieldsOf keeps numbers as they are written.
func fieldsOf(raw json.RawMessage) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var fields map[string]any
	if decoder.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// flat is a value as rows under a label.
func flat(under string, value any) []display.Row {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	rows := display.Rows(raw)
	if len(rows) == 0 {
		return []display.Row{{Path: under, Value: string(raw)}} // an empty list or object
	}
	for i := range rows {
		if rows[i].Path == "" {
			rows[i].Path = under
		} else {
			rows[i].Path = under + " · " + rows[i].Path
		}
	}
	return rows
}

func differences(before, after json.RawMessage, labels map[string]string) []view.Change {
	old, now := fieldsOf(before), fieldsOf(after)
	names := slices.Concat(sortedKeys(old), sortedKeys(now))
	slices.Sort(names)
	var changes []view.Change
	for _, name := range slices.Compact(names) {
		was, had := old[name]
		is, has := now[name]
		changes = append(changes, difference(label(name, labels), was, is, had, has)...)
	}
	return changes
}

func difference(under string, was, is any, had, has bool) []view.Change {
	switch {
	case !had:
		return all(view.Added, under, is)
	case !has:
		return all(view.Removed, under, was)
	case reflect.DeepEqual(was, is):
		return nil
	}
	if old, now, ok := both[map[string]any](was, is); ok {
		return objectDifference(under, old, now)
	}
	if old, now, ok := both[[]any](was, is); ok {
		return listDifference(under, old, now)
	}
	return changed(under, was, is)
}

func both[T any](a, b any) (x, y T, ok bool) {
	x, one := a.(T)
	y, two := b.(T)
	return x, y, one && two
}

func objectDifference(under string, old, now map[string]any) []view.Change {
	names := slices.AppendSeq(sortedKeys(old), maps.Keys(now))
	slices.Sort(names)
	var changes []view.Change
	for _, name := range slices.Compact(names) {
		was, had := old[name]
		is, has := now[name]
		changes = append(changes, difference(under+" · "+name, was, is, had, has)...)
	}
	return changes
}

// listDifference lists the entries that went and those that came; lists that
// differ in their order alone are shown whole.
func listDifference(under string, old, now []any) []view.Change {
	var changes []view.Change
	for _, entry := range missing(old, now) {
		changes = append(changes, all(view.Removed, under, entry)...)
	}
	for _, entry := range missing(now, old) {
		changes = append(changes, all(view.Added, under, entry)...)
	}
	if changes == nil {
		return changed(under, old, now)
	}
	return changes
}

// missing is the entries of a list that the other lacks, as often as it does.
func missing(list, other []any) []any {
	rest := slices.Clone(other)
	var gone []any
	for _, entry := range list {
		i := slices.IndexFunc(rest, func(e any) bool { return reflect.DeepEqual(e, entry) })
		if i < 0 {
			gone = append(gone, entry)
			continue
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return gone
}

func changed(under string, was, is any) []view.Change {
	return []view.Change{{Label: under, Kind: view.Changed, Was: whole(was), Now: whole(is)}}
}

// whole is a value in one piece: a scalar as it is, anything else as JSON.
func whole(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	if rows := display.Rows(raw); len(rows) == 1 && rows[0].Path == "" {
		return rows[0].Value
	}
	return string(raw)
}

// all is every value of what was added or removed.
func all(kind view.ChangeKind, under string, value any) []view.Change {
	var changes []view.Change
	for _, r := range flat(under, value) {
		c := view.Change{Label: r.Path, Kind: kind, Now: r.Value}
		if kind == view.Removed {
			c.Was, c.Now = r.Value, ""
		}
		changes = append(changes, c)
	}
	return changes
}
