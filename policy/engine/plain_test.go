package engine

import (
	"encoding/json"
	"math"
	"testing"

	"agentlink/node"
)

// TestPlainNumbers: what JSON keeps exactly stays, all else matches no constraint, and
// there is one zero.
func TestPlainNumbers(t *testing.T) {
	t.Parallel()
	const most = float64(node.MaxSafeInt)
	for _, test := range []struct{ value, want any }{
		{most, most}, {-most, -most}, {most + 1, nil}, {-most - 1, nil}, {math.NaN(), nil}, {math.Inf(1), nil},
		{json.Number("9007199254740991"), most}, {json.Number("9007199254740992"), nil}, {json.Number("1e999"), nil}, {int64(node.MaxSafeInt + 1), nil}, {7, 7.0},
	} {
		if got, err := plain(test.value, 0); err != nil || got != test.want {
			t.Errorf("%v becomes %v, %v", test.value, got, err)
		}
	}
	if got, err := plain(math.Copysign(0, -1), 0); err != nil || math.Signbit(got.(float64)) {
		t.Errorf("-0 becomes %v, %v", got, err)
	}
}

// TestPlainDepth: as deep as JSON may be, and no deeper.
func TestPlainDepth(t *testing.T) {
	t.Parallel()
	var list, object any = "x", "x"
	for range node.MaxJSONDepth {
		list, object = []any{list}, map[string]any{"x": object}
	}
	for _, value := range []any{list, object} {
		if _, err := plain(value, 0); err != nil {
			t.Errorf("the deepest: %v", err)
		}
		if _, err := plain([]any{value}, 0); err == nil {
			t.Error("one deeper is a fact")
		}
	}
}
