package node_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"agentlink/node"
	"agentlink/node/nodetest/vector"
)

// RFC 8785, by the files of its author.
func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"arrays", "french", "structures", "unicode", "values", "weird"} {
		got, err := node.Canonical(json.RawMessage(vector.Read(t, "jcs/input/"+name+".json")))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := vector.Read(t, "jcs/output/"+name+".json"); !bytes.Equal(got, want) {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
}

// RFC 8785, appendix B.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		got, err := node.Canonical(math.Float64frombits(bits))
		if err != nil || string(got) != want {
			t.Errorf("%016x: %s, %v; want %s", bits, got, err, want)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got, err := node.Canonical(bad); err == nil {
			t.Errorf("%v has the canonical form %s", bad, got)
		}
	}
}

// approvalVectors are those of another implementation, whose digest is SHA-256
// over the same canonical form.
type approvalVectors struct {
	Vectors []struct {
		ID        string          `json:"id"`
		Source    json.RawMessage `json:"source"`
		SHA256    string          `json:"sha256"`
		Mutations []struct {
			Path   string          `json:"path"`
			Value  json.RawMessage `json:"value"`
			SHA256 string          `json:"sha256"`
		} `json:"mutations"`
	} `json:"vectors"`
}

func TestCanonicalApprovalVectors(t *testing.T) {
	t.Parallel()
	var file approvalVectors
	vector.JSON(t, "openagent-approval.json", &file)
	if len(file.Vectors) < 4 {
		t.Fatalf("only %d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		if got := digest(t, v.Source); got != v.SHA256 {
			t.Errorf("%s: %s, want %s", v.ID, got, v.SHA256)
		}
		for _, m := range v.Mutations {
			if got := digest(t, replace(t, v.Source, strings.Split(m.Path, "."), m.Value)); got != m.SHA256 {
				t.Errorf("%s with another %s: %s, want %s", v.ID, m.Path, got, m.SHA256)
			}
		}
	}
}

func digest(t *testing.T, value any) string {
	t.Helper()
	canonical, err := node.Canonical(value)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// replace puts a value at a path of member names.
func replace(t *testing.T, source json.RawMessage, path []string, value json.RawMessage) json.RawMessage {
	t.Helper()
	if len(path) == 0 {
		return value
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(source, &members); err != nil {
		t.Fatal(err)
	}
	members = maps.Clone(members)
	members[path[0]] = replace(t, members[path[0]], path[1:], value)
	changed, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// Another implementation of RFC 8785 agrees.
func TestCanonicalProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := value(t, 4)
		got, err := node.Canonical(json.RawMessage(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		other := jsontext.Value(text)
		if err := other.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, other) {
			t.Fatalf("%s\nours   %s\nothers %s", text, got, other)
		}
	})
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{`, `{} {}`, `1e400`} {
		if got, err := node.Canonical(json.RawMessage(bad)); err == nil {
			t.Errorf("%q has the canonical form %q", bad, got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustCanonical does not panic")
		}
	}()
	node.MustCanonical(make(chan int))
}

// What Go code canonicalises: the rules that differ from encoding/json's.
func TestCanonicalOfGoValues(t *testing.T) {
	t.Parallel()
	type row struct {
		B     string         `json:"b"`
		A     int64          `json:"a"`
		Empty []string       `json:"empty"`
		Map   map[string]int `json:"map"`
		Text  string         `json:"text,omitempty"`
	}
	got, err := node.Canonical(row{B: "<&>", A: node.MaxSafeInt})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":9007199254740991,"b":"<&>","empty":[],"map":{}}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSafeNumber(t *testing.T) {
	t.Parallel()
	safe := []string{
		"0", "-0", "0.0", "-0.0", "0e5", "0.000e-999", "1", "-1", "10", "1e2", "1E+2", "5.0", "5.000", "0.1", "1e-7", "1.5e-3", "0.000001",
		"9007199254740991", "-9007199254740991", "9007199254740991.0", "9.007199254740991e15", "90071992547409910e-1",
		"0.30000000000000004", "333333333.3333333", "5e-324", "4503599627370495.5",
	}
	for _, text := range safe {
		if !node.SafeNumber(text) {
			t.Errorf("%s is refused", text)
		}
	}
	unsafe := []string{
		"9007199254740992", "9007199254740993", "-9007199254740992", "9007199254740991.5", "9007199254740990.9999", "9.007199254740992e15",
		"1e16", "1e308", "1e309", "-1e400", "1e999999999999999999999", "1e-400", "1e-999999999999999999999", "4e-324", "0.10000000000000000001",
		"333333333.33333329", "0.1000000000000000055511151231257827021181583404541015625", "1.00000000000000001", "2.4703282292062327e-324",
	}
	for _, text := range unsafe {
		if node.SafeNumber(text) {
			t.Errorf("%s is taken", text)
		}
	}
}

// A long number must not take long.
func TestSafeNumberLong(t *testing.T) {
	t.Parallel()
	if node.SafeNumber("0." + strings.Repeat("1", node.MaxJSONBytes)) {
		t.Error("64 Ki digits are taken")
	}
	if !node.SafeNumber("1." + strings.Repeat("0", node.MaxJSONBytes)) {
		t.Error("zeros at the end change nothing")
	}
}
