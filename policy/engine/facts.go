package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"agentlink/policy"
)

// assumption says how an evaluation takes the constraints of an allow grant.
type assumption string

const (
	assumeNothing assumption = "nothing" // compare them with the fields
	assumeMet     assumption = "met"
	assumeUnmet   assumption = "unmet"
)

// facts are a request as the rules read it.
type facts struct {
	contact, connection string
	structuredOnly      bool
	denyOnly            bool
	wanted              []want
	fields              map[string]any // plain values only
	amountField         string
	assume              assumption
	at                  time.Time // for the owner's own rules alone
	problem             error     // why the request cannot be evaluated
}

type want struct {
	capability string
	freeText   bool
}

func factsOf(r policy.Request) facts {
	f := facts{
		contact: r.Contact, connection: r.Connection, structuredOnly: r.StructuredOnly, denyOnly: r.DenyOnly,
		amountField: r.AmountField, assume: assumeNothing, at: r.At, wanted: make([]want, len(r.Capabilities)),
	}
	for i, capability := range r.Capabilities {
		f.wanted[i] = want{capability, slices.Contains(r.FreeText, capability)}
	}
	f.fields, f.problem = plainObject(r.Fields, 0)
	return f
}

// input is what rego/facts.rego describes.
func (f facts) input(set *ruleSet, contactKey string) ast.Value {
	wanted := make([]*ast.Term, len(f.wanted))
	for i, w := range f.wanted {
		wanted[i] = object("capability", text(w.capability), "patterns", texts(policy.Patterns(w.capability)), "freeText", ast.InternedTerm(w.freeText))
	}
	return object(
		"agent", set.agent, "contact", text(contactKey), "connection", text(f.connection),
		"structuredOnly", ast.InternedTerm(f.structuredOnly), "denyOnly", ast.InternedTerm(f.denyOnly),
		"wanted", ast.ArrayTerm(wanted...), "fields", termOf(f.fields), "amountField", text(f.amountField),
		"assume", text(string(f.assume)), "grants", set.grants, "denied", set.denied,
	).Value
}

// answerKey stands for rules and facts: equal keys have equal answers.
type answerKey [sha256.Size]byte

// keyOf hashes an encoding of rules and facts in which every part carries its
// length or its type, so that no two of them share one.
func (s *ruleSet) keyOf(f facts) answerKey {
	buf := make([]byte, 0, 1024)
	buf = appendText(buf, s.standing.AgentID)
	buf = appendText(buf, s.standing.RulesStamp)
	buf = binary.BigEndian.AppendUint64(buf, uint64(s.standing.RulesRev))
	buf = binary.BigEndian.AppendUint64(buf, uint64(s.from.UnixMicro()))
	for _, part := range []string{f.contact, f.connection, f.amountField, string(f.assume)} {
		buf = appendText(buf, part)
	}
	buf = append(buf, bit(f.structuredOnly), bit(f.denyOnly))
	buf = binary.AppendUvarint(buf, uint64(len(f.wanted)))
	for _, w := range f.wanted {
		buf = append(appendText(buf, w.capability), bit(w.freeText))
	}
	return sha256.Sum256(appendObject(buf, f.fields))
}

func appendText(buf []byte, value string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(value))), value...)
}

func appendObject(buf []byte, object map[string]any) []byte {
	var space [16]string
	names := slices.AppendSeq(space[:0], maps.Keys(object))
	slices.Sort(names)
	buf = binary.AppendUvarint(append(buf, 'o'), uint64(len(names)))
	for _, name := range names {
		buf = appendPlain(appendText(buf, name), object[name])
	}
	return buf
}

func appendPlain(buf []byte, value any) []byte {
	switch v := value.(type) {
	case bool:
		return append(buf, 'b', bit(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(buf, 'n'), math.Float64bits(v))
	case string:
		return appendText(append(buf, 's'), v)
	case []any:
		buf = binary.AppendUvarint(append(buf, 'l'), uint64(len(v)))
		for _, entry := range v {
			buf = appendPlain(buf, entry)
		}
		return buf
	case map[string]any:
		return appendObject(buf, v)
	}
	return append(buf, '0')
}

func bit(value bool) byte {
	if value {
		return 1
	}
	return 0
}
