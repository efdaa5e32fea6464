package dashboard

import (
	"fmt"
	"maps"
	"slices"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// text writes a JSON value as a person reads it.
func text(value any) string {
	if value == nil {
		return "nothing"
	}
	return fmt.Sprint(value)
}
