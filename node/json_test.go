package node_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/nodetest/vector"
)

// order is a body as a door would decode it.
type order struct {
	Text  string          `json:"text"`
	Count int64           `json:"count,omitempty"`
	At    time.Time       `json:"at"`
	Raw   json.RawMessage `json:"raw"`
	Inner *order          `json:"inner"`
	List  []order         `json:"list"`
	Free  map[string]any  `json:"free"`
	Bytes []byte          `json:"bytes"`
	Any   any             `json:"any"`
}

func TestDecodeTakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   string
		want order
	}{
		"members":            {`{"text":"a","count":3}`, order{Text: "a", Count: 3}},
		"space around":       {" \t\r\n{\"text\":\"a\"} \t\r\n", order{Text: "a"}},
		"escaped name":       {`{"te\u0078t":"a"}`, order{Text: "a"}},
		"a surrogate pair":   {`{"text":"\ud83d\ude00"}`, order{Text: "😀"}},
		"bidi kept as data":  {`{"text":"a\u202eb\u0000"}`, order{Text: "a\u202eb\x00"}},
		"largest integer":    {`{"count":9007199254740991}`, order{Count: node.MaxSafeInt}},
		"smallest integer":   {`{"count":-9007199254740991}`, order{Count: -node.MaxSafeInt}},
		"raw stays as it is": {`{"raw": {"b": 1.50, "a" : "x"} }`, order{Raw: json.RawMessage(`{"b": 1.50, "a" : "x"}`)}},
		"null is absent":     {`{"text":null,"count":null,"at":null,"inner":null}`, order{}},
		"time with an offset": {`{"at":"2026-02-28T23:59:59.5+01:00"}`,
			order{At: time.Date(2026, 2, 28, 22, 59, 59, 500_000_000, time.UTC)}},
		"sixteen levels": {`{"raw":` + nested(15) + `}`, order{Raw: json.RawMessage(nested(15))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got order
			if err := node.Decode([]byte(test.in), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ in, field, problem string }{
		"unknown member":            {`{"text":"a","approved":true}`, "approved", "is not known here"},
		"unknown member below":      {`{"list":[{},{"inner":{"x":1}}]}`, "list.1.inner.x", "is not known here"},
		"other case":                {`{"Text":"a"}`, "Text", "is not known here"},
		"other case beside":         {`{"text":"a","TEXT":"b"}`, "TEXT", "is not known here"},
		"case folding":              {`{"\u212aount":1}`, "(unusual name)", "is not known here"},
		"duplicate":                 {`{"text":"a","text":"b"}`, "text", "appears twice"},
		"duplicate by escape":       {`{"text":"a","\u0074ext":"b"}`, "text", "appears twice"},
		"duplicate of null":         {`{"text":null,"text":"b"}`, "text", "appears twice"},
		"duplicate in raw":          {`{"raw":{"a":1,"a":2}}`, "raw.a", "appears twice"},
		"duplicate deep in raw":     {`{"raw":[[{"x":{"a":1,"\u0061":2}}]]}`, "raw.0.0.x.a", "appears twice"},
		"duplicate in an interface": {`{"any":{"a":1,"a":1}}`, "any.a", "appears twice"},
		"integer beyond":            {`{"count":9007199254740992}`, "count", "is a number too large or too long to be kept exactly"},
		"beyond in raw":             {`{"raw":{"n":[9007199254740993]}}`, "raw.n.0", "is a number too large or too long to be kept exactly"},
		"negative beyond in any":    {`{"any":-9007199254740993}`, "any", "is a number too large or too long to be kept exactly"},
		"infinite":                  {`{"free":{"x":1e400}}`, "free.x", "is a number too large or too long to be kept exactly"},
		"underflow":                 {`{"raw":1e-400}`, "raw", "is a number too large or too long to be kept exactly"},
		"too many digits":           {`{"raw":0.10000000000000000001}`, "raw", "is a number too large or too long to be kept exactly"},
		"fraction for an integer":   {`{"count":1.0}`, "count", "has the wrong type"},
		"exponent for an integer":   {`{"count":1e2}`, "count", "has the wrong type"},
		"text for an integer":       {`{"count":"1"}`, "count", "has the wrong type"},
		"number for a text":         {`{"text":5}`, "text", "has the wrong type"},
		"object for a list":         {`{"list":{}}`, "list", "has the wrong type"},
		"list for an object":        {`{"inner":[]}`, "inner", "has the wrong type"},
		"day that is none":          {`{"at":"2026-02-30T00:00:00Z"}`, "at", "has the wrong type"},
		"hour that is none":         {`{"at":"2026-02-03T24:00:00Z"}`, "at", "has the wrong type"},
		"comma in a time":           {`{"at":"2026-02-03T00:00:00,5Z"}`, "at", "has the wrong type"},
		"one digit of an hour":      {`{"at":"2026-02-03T0:00:00Z"}`, "at", "has the wrong type"},
		"time without zone":         {`{"at":"2026-02-03T00:00:00"}`, "at", "has the wrong type"},
		"number for a time":         {`{"at":1700000000}`, "at", "has the wrong type"},
		"base64 without padding":    {`{"bytes":"AA"}`, "bytes", "has the wrong type"},
		"list for bytes":            {`{"bytes":[1]}`, "bytes", "has the wrong type"},
		"null for the whole":        {`null`, "(body)", "must be an object"},
		"list for the whole":        {`[]`, "(body)", "has the wrong type"},
		"text for the whole":        {`"text"`, "(body)", "has the wrong type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := node.Decode([]byte(test.in), new(order))
			e, _ := node.AsError(err)
			if node.CodeOf(err) != node.BadRequest || e.Details == nil {
				t.Fatalf("error %v, want bad_request with a field", err)
			}
			want := map[string]any{"fields": []node.Field{{Field: test.field, Problem: test.problem}}}
			if diff := cmp.Diff(want, e.Details); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefusesWithoutField(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":              ``,
		"space":                " \n",
		"cut":                  `{"text":"a"`,
		"cut in a text":        `{"text":"a`,
		"byte order mark":      "\ufeff{}",
		"UTF-16":               "\xff\xfe{\x00}\x00",
		"bad UTF-8 in a value": "{\"text\":\"\xff\"}",
		"bad UTF-8 in a name":  "{\"\xc0\x80\":1}",
		"overlong":             "{\"text\":\"\xc0\xaf\"}",
		"surrogate in UTF-8":   "{\"text\":\"\xed\xa0\x80\"}",
		"lone surrogate":       `{"text":"\ud800"}`,
		"swapped surrogates":   `{"raw":"\ude00\ud83d"}`,
		"control character":    "{\"text\":\"a\nb\"}",
		"comment":              `{"text":"a"/**/}`,
		"comma too many":       `{"text":"a",}`,
		"single quotes":        `{'text':'a'}`,
		"NaN":                  `{"raw":NaN}`,
		"plus":                 `{"count":+1}`,
		"leading zero":         `{"count":01}`,
		"hexadecimal":          `{"count":0x1}`,
		"a second value":       `{} {}`,
		"a word after":         `{}null`,
		"NUL after":            "{}\x00",
		"no-break space after": "{}\u00a0",
		"seventeen levels":     `{"raw":` + nested(16) + `}`,
		"very deep":            strings.Repeat(`{"inner":`, 5000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got order
			if err := node.Decode([]byte(in), &got); node.CodeOf(err) != node.BadRequest || err == nil {
				t.Fatalf("error %v, want bad_request", err)
			}
			if diff := cmp.Diff(order{}, got); diff != "" {
				t.Error("something was built from it:", diff)
			}
		})
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{} {}`:                      "There is something after the JSON value.",
		``:                           "The request ends before its JSON value does.",
		`{"text":"a"`:                "The request ends before its JSON value does.",
		`{"text":"a",,}`:             "The request is not valid JSON after byte 11.",
		`{"raw":` + nested(16) + `}`: "The request is nested deeper than 16 levels.",
		`{"Text":"a"}`:               `The field "Text" is not known here.`,
	} {
		e, ok := node.AsError(node.Decode([]byte(in), new(order)))
		if !ok || e.Message != want {
			t.Errorf("%s: %+v, want %q", in, e, want)
		}
	}
}

func TestDecodeSize(t *testing.T) {
	t.Parallel()
	body := func(size int) []byte {
		return []byte(`{"text":"` + strings.Repeat("a", size-len(`{"text":""}`)) + `"}`)
	}
	if err := node.Decode(body(node.MaxJSONBytes), new(order)); err != nil {
		t.Errorf("64 KiB: %v", err)
	}
	if err := node.Decode(body(node.MaxJSONBytes+1), new(order)); node.CodeOf(err) != node.TooLarge {
		t.Errorf("one byte more: %v, want too_large", err)
	}
}

// What a caller sent is no text of ours: errors travel to logs and to others.
func TestDecodeErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	const secret = "hunter2 ignore all instructions"
	for _, form := range []string{
		`{"count":%q}`, `{"at":%q}`, `{"bytes":%q}`, `{"list":%q}`, `{"inner":%q}`, `{"free":%q}`,
		`{"text":%q x}`, `{"text":%q,"text":%[1]q}`, `{"text":%q} %[1]q`, `%q`, `[%q]`, `{%q:1}`,
		`{"raw":{%q:1,%[1]q:2}}`, `{"free":{%q:9007199254740993}}`, `{%q}`, `{"text":%q`, "{\"text\":%q\xff}",
		`{"text":"%[1]s\ud800"}`, `{"inner":{"inner":{%q:1}}}`,
	} {
		in := fmt.Sprintf(form, secret)
		err := node.Decode([]byte(in), new(order))
		e, ok := node.AsError(err)
		if !ok {
			t.Errorf("%s is taken", in)
			continue
		}
		if shown := fmt.Sprint(err, e.Message, e.Details, e.Err); strings.Contains(shown, "hunter2") {
			t.Errorf("%s: the error quotes it: %s", in, shown)
		}
	}
}

// beyondOurLimits are the files of JSONTestSuite that are JSON and that Decode
// refuses all the same, by the limits that it states.
var beyondOurLimits = map[string]string{
	"y_number.json":                          "a number beyond 2^53",
	"y_number_real_capital_e.json":           "a number beyond 2^53",
	"y_number_real_exponent.json":            "a number beyond 2^53",
	"y_number_real_fraction_exponent.json":   "a number beyond 2^53",
	"y_object_extreme_numbers.json":          "a number beyond 2^53",
	"y_object_duplicated_key.json":           "a duplicate member",
	"y_object_duplicated_key_and_value.json": "a duplicate member",
}

func TestDecodeJSONTestSuite(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(vector.Dir(t), "jsontestsuite", "*.json"))
	if err != nil || len(files) < 318 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		var value any
		err = node.Decode(content, &value)
		switch {
		case name[0] == 'y' && err != nil && beyondOurLimits[name] == "":
			t.Errorf("%s is refused: %v", name, err)
		case name[0] == 'y' && err == nil && beyondOurLimits[name] != "":
			t.Errorf("%s is taken: %s", name, beyondOurLimits[name])
		case name[0] == 'n' && err == nil:
			t.Errorf("%s is taken", name)
		}
	}
}
