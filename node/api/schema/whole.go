package schema

import (
	"reflect"
	"strings"
)

const (
	componentRef = "#/components/schemas/"
	ownRef       = "#/$defs/"
)

// Whole gives the struct's schema as a document of its own: what it refers to
// stands in $defs. It is the caller's to change, and no component of the set's.
func (s *Set) Whole(t reflect.Type) Rule {
	defs := map[string]any{}
	whole := s.moved(s.object(t), defs).(map[string]any)
	if len(defs) > 0 {
		whole["$defs"] = defs
	}
	return whole
}

// moved copies a schema, and collects what it refers to.
func (s *Set) moved(value any, defs map[string]any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[key] = s.moved(member, defs)
		}
		if ref, ok := value["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, componentRef)
			copied["$ref"] = ownRef + name
			if _, known := defs[name]; !known {
				defs[name] = nil // a struct may refer to itself
				defs[name] = s.moved(s.components[name], defs)
			}
		}
		return copied
	case []any:
		copied := make([]any, 0, len(value))
		for _, entry := range value {
			copied = append(copied, s.moved(entry, defs))
		}
		return copied
	}
	return value
}
