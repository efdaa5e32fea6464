package node_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlink/node"
)

// plainText is any text that is valid UTF-8.
func plainText(t *rapid.T, label string) string {
	return strings.ToValidUTF8(rapid.String().Draw(t, label), "")
}

// value draws a JSON value of at most the given depth, as text.
func value(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return "null"
	case 1:
		return "true"
	case 2, 3:
		return fmt.Sprint(rapid.Int64Range(-node.MaxSafeInt, node.MaxSafeInt).Draw(t, "number"))
	case 4:
		return quoted(plainText(t, "text"))
	case 5:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, value(t, depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z_]{1,4}`), 0, 4, rapid.ID).Draw(t, "names")
	var members []string
	for _, name := range names {
		members = append(members, quoted(name)+":"+value(t, depth-1))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// around puts a value into one of the places that an order has for anything.
func around(t *rapid.T, inner string) string {
	return fmt.Sprintf(rapid.SampledFrom([]string{
		`{"raw":%s}`, `{"any":%s}`, `{"free":{"x":%s}}`, `{"raw":[%s]}`, `{"raw":{"y":{"z":%s}}}`, `{"list":[{"any":%s}]}`,
		`{"inner":{"inner":{"raw":%s}}}`,
	}).Draw(t, "place"), inner)
}

func TestDecodePropertyValuesSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := value(t, 5)
		var got order
		if err := node.Decode([]byte(`{"raw":`+text+`}`), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want, have any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got.Raw, &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestDecodePropertyDuplicates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := plainText(t, "name")
		twin := quoted(name)
		if len(name) > 0 && name[0] < 0x80 && rapid.Bool().Draw(t, "escape") {
			twin = fmt.Sprintf(`"\u%04x`, name[0]) + strings.TrimPrefix(quoted(name[1:]), `"`)
		}
		object := fmt.Sprintf(`{%s:%s,"other":1,%s:%s}`, quoted(name), value(t, 2), twin, value(t, 2))
		if name == "other" {
			t.Skip("it is three of them")
		}
		if err := node.Decode([]byte(around(t, object)), new(order)); node.CodeOf(err) != node.BadRequest {
			t.Fatalf("%s: %v", object, err)
		}
	})
}

func TestDecodePropertyUnknownNames(t *testing.T) {
	t.Parallel()
	known := []string{"text", "count", "at", "raw", "inner", "list", "free", "bytes", "any"}
	rapid.Check(t, func(t *rapid.T) {
		name := plainText(t, "name")
		if rapid.Bool().Draw(t, "near") { // a known name in another case, or with something around it
			name = rapid.SampledFrom(known).Draw(t, "known")
			at := rapid.IntRange(0, len(name)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				name = name[:at] + strings.ToUpper(name[at:at+1]) + name[at+1:]
			case 1:
				name = name[:at] + "\u200b" + name[at:]
			case 2:
				name = name[:at] + name[at+1:]
			}
		}
		for _, k := range known {
			if name == k {
				t.Skip("it is a known one")
			}
		}
		place := rapid.SampledFrom([]string{`{%s:1}`, `{"text":"a",%s:null}`, `{"inner":{%s:{}}}`, `{"list":[{},{%s:[]}]}`}).Draw(t, "place")
		in := fmt.Sprintf(place, quoted(name))
		if err := node.Decode([]byte(in), new(order)); node.CodeOf(err) != node.BadRequest {
			t.Fatalf("%s: %v", in, err)
		}
	})
}

func TestDecodePropertyDepth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(1, 40).Draw(t, "levels")
		open, shut := "", ""
		for range levels {
			if rapid.Bool().Draw(t, "object") {
				open, shut = open+`{"x":`, "}"+shut
			} else {
				open, shut = open+"[", "]"+shut
			}
		}
		in := `{"raw":` + open + "1" + shut + `}`
		err := node.Decode([]byte(in), new(order))
		if refused := err != nil; refused != (levels+1 > node.MaxJSONDepth) {
			t.Fatalf("%d levels: %v", levels+1, err)
		}
	})
}

// No two different numbers that Decode takes have one canonical form.
func TestDecodePropertyNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := number(t)
		second := first
		if rapid.Bool().Draw(t, "near") {
			second = neighbour(t, first)
		} else {
			second = number(t)
		}
		if !node.SafeNumber(first) || !node.SafeNumber(second) {
			return
		}
		same := exact(first).Cmp(exact(second)) == 0
		one, err := node.Canonical(json.RawMessage(first))
		if err != nil {
			t.Fatal(err)
		}
		two, err := node.Canonical(json.RawMessage(second))
		if err != nil {
			t.Fatal(err)
		}
		if same != (string(one) == string(two)) {
			t.Fatalf("%s and %s: the same number %v, canonical %s and %s", first, second, same, one, two)
		}
		if exact(string(one)).Cmp(exact(first)) != 0 {
			t.Fatalf("%s became %s", first, one)
		}
	})
}

// number draws one around the borders, with or without fraction and exponent.
func number(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`),
		rapid.Map(rapid.Int64Range(-3, 3), func(d int64) string { return fmt.Sprint(node.MaxSafeInt + d) }),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) string { return fmt.Sprint(f) }),
	).Draw(t, "number")
}

// neighbour changes or adds a last digit.
func neighbour(t *rapid.T, text string) string {
	digit := string(rune('0' + rapid.IntRange(0, 9).Draw(t, "digit")))
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if found {
		exponent = "e" + exponent
	}
	if strings.Contains(mantissa, ".") && rapid.Bool().Draw(t, "add") {
		return mantissa + digit + exponent
	}
	if len(strings.TrimPrefix(mantissa, "-")) == 1 {
		return strings.TrimSuffix(mantissa, mantissa[len(mantissa)-1:]) + digit + exponent
	}
	return mantissa[:len(mantissa)-1] + digit + exponent
}

func exact(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a","count":3,"at":"2026-02-28T23:59:59Z","raw":{"a":[1,2.5,null]},"inner":{},"list":[{}],"free":{"x":1},"bytes":"AA=="}`,
		`{"text":"a","text":"b"}`, `{"raw":{"a":1,"\u0061":2}}`, `{"any":9007199254740993}`, `{"Text":""}`, "\ufeff{}", `null`, `[[[[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got order
		if err := node.Decode(data, &got); err != nil {
			if code := node.CodeOf(err); code != node.BadRequest && code != node.TooLarge {
				t.Fatalf("code %s", code)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("taken, and no JSON: %q", data)
		}
		// What was taken can be hashed, and read again with the same result.
		first, err := node.Canonical(json.RawMessage(data))
		if err != nil {
			t.Fatalf("taken, and has no canonical form: %v", err)
		}
		if len(first) > node.MaxJSONBytes {
			return // 1e15 is longer in its canonical form
		}
		var again order
		if err := node.Decode(first, &again); err != nil {
			t.Fatalf("the canonical form is refused: %v\n%s", err, first)
		}
		second, err := node.Canonical(json.RawMessage(first))
		if err != nil || string(first) != string(second) {
			t.Fatalf("canonical twice: %q, %q, %v", first, second, err)
		}
	})
}
