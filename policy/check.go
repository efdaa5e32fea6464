package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentlink/node"
)

// Limits of a grant's constraints.
const (
	MaxConstrainedFields = 50
	MaxAllowedValues     = 100
)

// checked is the grant to set in its one spelling. Code: bad_request, naming
// every field that is wrong.
func (n NewGrant) checked(now time.Time) (NewGrant, error) {
	var fields []node.Field
	bad := func(field, problem string) { fields = append(fields, node.Field{Field: field, Problem: problem}) }

	if n.Contact != "" {
		address, err := node.ParseAddress(n.Contact)
		if err != nil {
			bad("contact", "must look like handle@host or handle@host:port")
		}
		n.Contact = address.String()
	}
	if !ValidPattern(n.Capability) {
		bad("capability", "must be a capability that the node knows, a name of your own that begins with disclose. or action., or a wildcard: task.*, disclose.*, action.*")
	}
	if !slices.Contains(GrantModes, n.Mode) {
		bad("mode", "must be allow, ask or deny")
	}
	if !n.ExpiresAt.IsZero() {
		n.ExpiresAt = n.ExpiresAt.UTC().Truncate(time.Microsecond)
		if !n.ExpiresAt.After(now) {
			bad("expiresAt", "must be in the future")
		}
	}
	if n.Constraints != nil && !n.Constraints.Empty() {
		fields = append(fields, n.constraintProblems()...)
	}
	if len(fields) > 0 {
		return NewGrant{}, node.BadFields(fields...)
	}
	return n, nil
}

func (n NewGrant) constraintProblems() []node.Field {
	if n.Mode != Allow {
		return []node.Field{{Field: "constraints", Problem: "narrow an allow grant only"}}
	}
	// The table reads constraints for these two kinds. Kept elsewhere they would be
	// shown and not enforced.
	if prefix, _, _ := strings.Cut(n.Capability, "."); prefix != "disclose" && prefix != "action" {
		return []node.Field{{Field: "constraints", Problem: "work for disclose.… and action.… capabilities only"}}
	}
	return n.Constraints.problems()
}

func (c Constraints) problems() (fields []node.Field) {
	if limit := c.MaxAmount; limit != nil && !(*limit >= 0 && *limit <= node.MaxSafeInt) {
		fields = append(fields, node.Field{Field: "constraints.maxAmount", Problem: "must be a number from 0 to 9007199254740991"})
	}
	if len(c.AllowedValues) > MaxConstrainedFields {
		fields = append(fields, node.Field{Field: "constraints.allowedValues", Problem: fmt.Sprintf("must name at most %d fields", MaxConstrainedFields)})
	}
	for name, values := range c.AllowedValues {
		if problem := valuesProblem(name, values); problem != "" {
			fields = append(fields, node.Field{Field: "constraints.allowedValues." + strings.ToValidUTF8(name, "?"), Problem: problem})
		}
	}
	slices.SortFunc(fields, func(a, b node.Field) int { return strings.Compare(a.Field, b.Field) })
	return fields
}

func valuesProblem(name string, values []any) string {
	switch {
	case name == "" || utf8.RuneCountInString(name) > MaxCapability || !utf8.ValidString(name):
		return "must be a field's name"
	case len(values) == 0:
		return "must list at least one value"
	case len(values) > MaxAllowedValues:
		return fmt.Sprintf("must list at most %d values", MaxAllowedValues)
	case !allScalar(values):
		return "must list strings, numbers and booleans only"
	}
	return ""
}

func allScalar(values []any) bool {
	return !slices.ContainsFunc(values, func(value any) bool {
		switch v := value.(type) {
		case string:
			return !utf8.ValidString(v)
		case bool:
			return false
		case float64:
			return !(math.Abs(v) <= node.MaxSafeInt)
		}
		return true
	})
}
