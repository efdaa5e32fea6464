package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// formTime is how a browser writes a time without its zone.
const formTime = "2006-01-02T15:04:05"

// plan is a change of rules with what its pages carry from one to the next.
type plan struct {
	policy.Plan
	back string // where saving leads, "" for the page of grants
}

// modePlan reads a plan for a mode.
func (v *visit) modePlan(value func(string, ...string) string) plan {
	return plan{Plan: policy.Plan{AgentID: v.c.Params("id"), Mode: policy.Mode(value("mode"))}}
}

// removalPlan reads a plan to remove a grant.
func (v *visit) removalPlan(value func(string, ...string) string) plan {
	return plan{Plan: policy.Plan{AgentID: v.c.Params("id"), Remove: value("grant")}, back: backOf(value("back"))}
}

// grantPlan reads a plan for a grant. Constraints are kept: this page cannot make
// any.
func (v *visit) grantPlan(value func(string, ...string) string) (plan, error) {
	p := plan{back: backOf(value("back"))}
	expires, err := v.expiry(value("for"), value("until"))
	p.Plan = policy.Plan{
		AgentID: v.c.Params("id"), Instead: value("beside") == "",
		Grant: &policy.NewGrant{
			Contact: value("contact"), Capability: value("capability"), Mode: policy.GrantMode(value("mode")), ExpiresAt: expires,
		},
	}
	return p, err
}

// expiry reads when a grant ends: after a span, or at an exact time (UTC).
func (v *visit) expiry(span, until string) (time.Time, error) {
	at := slices.IndexFunc(view.Spans, func(s view.Span) bool { return s.Value == span })
	if at < 0 {
		return time.Time{}, node.BadFields(node.Field{Field: "for", Problem: "must be one of the times that the form offers"})
	}
	if long := view.Spans[at].Long; long > 0 {
		if until != "" {
			return time.Time{}, node.BadFields(node.Field{Field: "until", Problem: "cannot be given beside a span: choose one of them"})
		}
		return v.now.Add(long), nil
	}
	if until == "" && span == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{formTime, "2006-01-02T15:04", time.RFC3339Nano} {
		if at, err := time.Parse(layout, until); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, node.BadFields(node.Field{Field: "until", Problem: "must be a date with a time"})
}

// hidden is the plan as its form carries it to be saved, with the revision of the
// rules under which it was shown.
func (p plan) hidden(rev int64) []view.Hidden {
	fields := []view.Hidden{{Name: "rev", Value: strconv.FormatInt(rev, 10)}}
	values := p.values()
	for _, name := range sortedKeys(values) {
		fields = append(fields, view.Hidden{Name: name, Value: values.Get(name)})
	}
	return fields
}

func (p plan) values() url.Values {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("mode", string(p.Mode))
	set("grant", p.Remove)
	set("back", p.back)
	if g := p.Grant; g != nil {
		set("contact", g.Contact)
		set("capability", g.Capability)
		set("mode", string(g.Mode))
		if !g.ExpiresAt.IsZero() {
			set("until", g.ExpiresAt.UTC().Format(time.RFC3339Nano))
		}
		if !p.Instead {
			set("beside", "yes")
		}
	}
	return values
}

// url is the page that shows the plan.
func (p plan) url() string { return agentURL(p.AgentID) + p.part() + "?" + p.values().Encode() }

func (p plan) part() string {
	switch {
	case p.Grant != nil:
		return "/grants/change"
	case p.Remove != "":
		return "/grants/remove"
	}
	return "/mode"
}

// opens says whether saving needs password or passkey, and gives the route that
// asks for it.
func (p plan) opens() (action string, needed bool) {
	switch {
	case p.Mode == policy.Autonomous:
		return "/mode/autonomous", true
	case p.Grant != nil && p.Grant.Mode == policy.Allow:
		return "/grants/allow", true
	case p.Remove != "":
		return "/grants/remove", true
	}
	return p.part(), false
}

// leads is where saving leads.
func (p plan) leads(contact string) string {
	switch {
	case p.back != "":
		return p.back
	case p.Grant != nil || p.Remove != "":
		return grantsURL(p.AgentID, contact)
	}
	return agentURL(p.AgentID)
}
