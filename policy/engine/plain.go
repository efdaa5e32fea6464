package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"agentlink/node"
)

// plain reduces a JSON value to nil, bool, float64, string, []any and
// map[string]any, so that equal facts are equal values. A number that JSON does
// not keep exactly becomes nil, which matches no constraint.
func plain(value any, depth int) (any, error) {
	if depth > node.MaxJSONDepth {
		return nil, fmt.Errorf("a fact is nested deeper than %d levels", node.MaxJSONDepth)
	}
	switch v := value.(type) {
	case []any:
		return plainList(v, depth)
	case []string:
		return plainList(v, depth)
	case map[string]any:
		return plainObject(v, depth)
	case nil:
		return nil, nil
	}
	return plainScalar(value)
}

func plainList[E any](list []E, depth int) (any, error) {
	out := make([]any, len(list))
	for i, entry := range list {
		var err error
		if out[i], err = plain(entry, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func plainObject(object map[string]any, depth int) (map[string]any, error) {
	out := make(map[string]any, len(object))
	for name, value := range object {
		entry, err := plain(value, depth+1)
		if err != nil {
			return nil, err
		}
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name of a fact is not UTF-8")
		}
		out[name] = entry
	}
	return out, nil
}

func plainScalar(value any) (any, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("a fact is not UTF-8")
		}
		return v, nil
	case float64:
		return exact(v), nil
	case int:
		return exact(float64(v)), nil
	case int64:
		return exact(float64(v)), nil
	case json.Number:
		number, err := v.Float64()
		if err != nil {
			return nil, nil //nolint:nilerr // out of range: no number that could match
		}
		return exact(number), nil
	}
	return nil, fmt.Errorf("a fact has the type %T", value)
}

// exact is nil for what lies outside ±(2^53 − 1), and has one zero.
func exact(value float64) any {
	if !(math.Abs(value) <= node.MaxSafeInt) {
		return nil
	}
	return value + 0
}
