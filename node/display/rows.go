package display

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Row is one value inside a JSON text: its dotted path, where entries of lists
// count from 1, and the value as it is. Neither is escaped.
type Row struct{ Path, Value string }

// Rows writes JSON as rows, one for each value, sorted by their names. Nothing is
// cut; a text that is no JSON is one row without a path.
func Rows(raw json.RawMessage) []Row {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return []Row{{Value: string(raw)}}
	}
	var rows []Row
	flatten("", value, &rows)
	return rows
}

func flatten(path string, value any, rows *[]Row) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			flatten(strings.TrimPrefix(path+"."+name, "."), v[name], rows)
		}
	case []any:
		for i, one := range v {
			flatten(strings.TrimPrefix(path+"."+strconv.Itoa(i+1), "."), one, rows)
		}
	default:
		*rows = append(*rows, Row{Path: path, Value: scalar(v)})
	}
}

func scalar(value any) string {
	if value == nil {
		return "null"
	}
	return fmt.Sprint(value)
}
