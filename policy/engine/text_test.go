package engine

import (
	"slices"
	"testing"
	"time"

	"agentlink/policy"
)

// The tables of this file are those of the requirement, row by row. Their names
// are referred to by node/docs/coverage.md.

const anna = "anna@a.example"

// toAnna is a request over an active connection.
func toAnna(capabilities ...string) policy.Request {
	return policy.Request{Contact: anna, Connection: "active", Capabilities: capabilities}
}

// newPeer is a request to connect with somebody unknown.
func newPeer(connection string) policy.Request {
	return policy.Request{Contact: anna, Connection: connection, Capabilities: []string{policy.ConnectionRequest}}
}

func with(r policy.Request, change func(*policy.Request)) policy.Request {
	change(&r)
	return r
}

// textCase is one statement of the text: under this mode and these grants, the
// request's first capability gets this answer.
type textCase struct {
	name    string
	mode    policy.Mode
	grants  []policy.Grant
	request policy.Request
	want    policy.Answer
}

func answer(outcome policy.Outcome, reason policy.Reason, grant string) policy.Answer {
	return policy.Answer{Outcome: outcome, Reason: reason, GrantID: grant}
}

func runText(t *testing.T, tests []textCase) {
	t.Helper()
	t.Parallel()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.setRules(test.mode, test.grants...)
			got := b.decide(t, test.request).Answers[0]
			test.want.Capability = test.request.Capabilities[0]
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func grants(list ...policy.Grant) []policy.Grant { return list }

// TestModes: how much an agent may do on its own, four kinds of wish by three modes.
func TestModes(t *testing.T) {
	none := grants()
	asks := grants(grant("", "task.*", policy.Ask))
	denies := grants(grant("", "task.*", policy.Deny))
	dietary := grants(grant(anna, "disclose.dietary", policy.Allow))
	booking := grants(grant(anna, "action.*", policy.Allow))
	narrow := grants(grant(anna, "action.*", policy.Allow, allowed("venue", "Lola")))
	lola := with(toAnna("action.reservation.book"), func(r *policy.Request) { r.Fields = map[string]any{"venue": "Lola"} })
	other := with(lola, func(r *policy.Request) { r.Fields = map[string]any{"venue": "Rex"} })
	runText(t, []textCase{
		{"manual: a chat message waits", policy.Manual, none, toAnna("message.send"), answer(policy.Held, policy.ModeManual, "")},
		{"manual: a task write waits", policy.Manual, none, toAnna("task.create"), answer(policy.Held, policy.ModeManual, "")},
		{"manual: a proposal waits", policy.Manual, none, toAnna("task.propose"), answer(policy.Held, policy.ModeManual, "")},
		{"manual: a response waits", policy.Manual, none, toAnna("task.respond"), answer(policy.Held, policy.ModeManual, "")},
		{"manual: an allow grant changes nothing", policy.Manual, grants(grant("", "task.*", policy.Allow)), toAnna("task.propose"), answer(policy.Held, policy.ModeManual, "agent task.* allow")},
		{"assisted: a chat message goes ahead", policy.Assisted, none, toAnna("message.send"), answer(policy.Allowed, policy.ModeAllows, "")},
		{"assisted: a task write goes ahead", policy.Assisted, none, toAnna("task.respond"), answer(policy.Allowed, policy.ModeAllows, "")},
		{"assisted: unless a grant says ask", policy.Assisted, asks, toAnna("task.propose"), answer(policy.Held, policy.GrantAsks, "agent task.* ask")},
		{"assisted: unless a grant says deny", policy.Assisted, denies, toAnna("task.propose"), answer(policy.Refused, policy.GrantDenies, "agent task.* deny")},
		{"autonomous: a chat message goes ahead", policy.Autonomous, none, toAnna("message.send"), answer(policy.Allowed, policy.ModeAllows, "")},
		{"autonomous: unless a grant says ask", policy.Autonomous, asks, toAnna("task.create"), answer(policy.Held, policy.GrantAsks, "agent task.* ask")},
		{"autonomous: unless a grant says deny", policy.Autonomous, denies, toAnna("task.create"), answer(policy.Refused, policy.GrantDenies, "agent task.* deny")},

		{"manual: personal details follow the grants", policy.Manual, dietary, toAnna("disclose.dietary"), answer(policy.Allowed, policy.GrantAllows, anna+" disclose.dietary allow")},
		{"assisted: personal details follow the grants", policy.Assisted, dietary, toAnna("disclose.dietary"), answer(policy.Allowed, policy.GrantAllows, anna+" disclose.dietary allow")},
		{"autonomous: personal details follow the grants", policy.Autonomous, dietary, toAnna("disclose.dietary"), answer(policy.Allowed, policy.GrantAllows, anna+" disclose.dietary allow")},
		{"autonomous: personal details without a grant", policy.Autonomous, none, toAnna("disclose.dietary"), answer(policy.Refused, policy.NoGrant, "")},

		{"manual: asking to connect waits", policy.Manual, none, newPeer(""), answer(policy.Held, policy.ModeNotAutonomous, "")},
		{"assisted: asking to connect waits", policy.Assisted, none, newPeer(""), answer(policy.Held, policy.ModeNotAutonomous, "")},
		{"autonomous: asking to connect goes ahead", policy.Autonomous, none, newPeer(""), answer(policy.Allowed, policy.ModeAllows, "")},
		{"autonomous: except to a peer that was revoked", policy.Autonomous, none, newPeer("revoked"), answer(policy.Held, policy.PeerRevoked, "")},
		{"autonomous: except to a peer that was rejected", policy.Autonomous, none, newPeer("rejected"), answer(policy.Held, policy.PeerRejected, "")},

		{"manual: an action needs an approval", policy.Manual, booking, lola, answer(policy.Held, policy.ModeNotAutonomous, anna+" action.* allow")},
		{"assisted: an action needs an approval", policy.Assisted, booking, lola, answer(policy.Held, policy.ModeNotAutonomous, anna+" action.* allow")},
		{"autonomous: an action goes ahead with an allow grant", policy.Autonomous, booking, lola, answer(policy.Allowed, policy.GrantAllows, anna+" action.* allow")},
		{"autonomous: whose constraints match", policy.Autonomous, narrow, lola, answer(policy.Allowed, policy.GrantAllows, anna+" action.* allow")},
		{"autonomous: otherwise needs an approval", policy.Autonomous, narrow, other, answer(policy.Held, policy.ConstraintsNotMatched, anna+" action.* allow")},
		{"autonomous: needs an approval without a grant", policy.Autonomous, none, lola, answer(policy.Held, policy.NoAllowGrant, "")},
	})
}

// TestManualHoldsTheMessageOfAnAllowedDisclosure: the details follow the grants,
// the message waits anyway.
func TestManualHoldsTheMessageOfAnAllowedDisclosure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Manual, grant(anna, "disclose.*", policy.Allow))
	decision := b.decide(t, toAnna("task.propose", "disclose.dietary"))
	names, _ := decision.NeedApproval()
	if decision.Outcome != policy.Held || len(names) != 1 || names[0] != "task.propose" {
		t.Errorf("got %+v, want the proposal alone to be held", decision)
	}
}

// TestDisabledAgentIsRefusedEverything: every policy check refuses it.
func TestDisabledAgentIsRefusedEverything(t *testing.T) {
	t.Parallel()
	for _, mode := range policy.Modes {
		for _, denyOnly := range []bool{false, true} {
			b := newBench(t)
			b.setRulesOf(agentID, mode, policy.Disabled, grants(grant("", "task.*", policy.Allow), grant("", "disclose.*", policy.Allow), grant("", "action.*", policy.Allow)))
			decision := b.decide(t, with(toAnna(append(policy.Known, "root")...), func(r *policy.Request) { r.DenyOnly = denyOnly }))
			for _, answer := range decision.Answers {
				if answer.Outcome != policy.Refused || answer.Reason != policy.AgentDisabled {
					t.Errorf("%s, %s: got %+v", mode, answer.Capability, answer)
				}
			}
		}
	}
}

// TestDecisionTable: five rows by refuse, hold and allow.
func TestDecisionTable(t *testing.T) {
	wide := func(capability string, mode policy.GrantMode) []policy.Grant {
		return grants(grant("", capability, mode))
	}
	narrow := func(capability string) []policy.Grant {
		return grants(grant("", capability, policy.Allow, maxAmount(30)))
	}
	costing := func(amount any, capability string) policy.Request {
		return with(toAnna(capability), func(r *policy.Request) { r.AmountField, r.Fields = "budget", map[string]any{"budget": amount} })
	}
	pending := with(toAnna("message.send"), func(r *policy.Request) { r.Connection = "pending_outgoing" })
	gone := with(toAnna("disclose.dietary"), func(r *policy.Request) { r.Connection = "" })
	runText(t, []textCase{
		{"messages: refused where the connection is not active", policy.Autonomous, wide("message.send", policy.Allow), pending, answer(policy.Refused, policy.ConnectionNotActive, "")},
		{"messages: refused where a grant says deny", policy.Autonomous, wide("message.send", policy.Deny), toAnna("message.send"), answer(policy.Refused, policy.GrantDenies, "agent message.send deny")},
		{"messages: held where a grant says ask", policy.Autonomous, wide("message.send", policy.Ask), toAnna("message.send"), answer(policy.Held, policy.GrantAsks, "agent message.send ask")},
		{"messages: held in manual mode", policy.Manual, grants(), toAnna("message.send"), answer(policy.Held, policy.ModeManual, "")},
		{"messages: allowed otherwise", policy.Assisted, grants(), toAnna("message.send"), answer(policy.Allowed, policy.ModeAllows, "")},
		{"messages: allowed by a grant", policy.Assisted, wide("message.send", policy.Allow), toAnna("message.send"), answer(policy.Allowed, policy.GrantAllows, "agent message.send allow")},
		{"task writes: cancelling is one", policy.Manual, grants(), toAnna("task.cancel"), answer(policy.Held, policy.ModeManual, "")},

		{"disclosures: refused where the connection is not active", policy.Autonomous, wide("disclose.*", policy.Allow), gone, answer(policy.Refused, policy.ConnectionNotActive, "")},
		{"disclosures: refused where a grant says deny", policy.Autonomous, wide("disclose.*", policy.Deny), toAnna("disclose.dietary"), answer(policy.Refused, policy.GrantDenies, "agent disclose.* deny")},
		{"disclosures: refused where there is no grant at all", policy.Autonomous, grants(), toAnna("disclose.dietary"), answer(policy.Refused, policy.NoGrant, "")},
		{"disclosures: held where a grant says ask", policy.Autonomous, wide("disclose.*", policy.Ask), toAnna("disclose.dietary"), answer(policy.Held, policy.GrantAsks, "agent disclose.* ask")},
		{"disclosures: held where the constraints do not match", policy.Autonomous, narrow("disclose.budget"), costing(31.0, "disclose.budget"), answer(policy.Held, policy.ConstraintsNotMatched, "agent disclose.budget allow")},
		{"disclosures: allowed where the constraints match", policy.Autonomous, narrow("disclose.budget"), costing(30.0, "disclose.budget"), answer(policy.Allowed, policy.GrantAllows, "agent disclose.budget allow")},
		{"disclosures: an own name is one", policy.Assisted, wide("disclose.*", policy.Allow), toAnna("disclose.shoe-size_2"), answer(policy.Allowed, policy.GrantAllows, "agent disclose.* allow")},

		{"connection.request: refused where a grant says deny", policy.Autonomous, wide("connection.request", policy.Deny), newPeer(""), answer(policy.Refused, policy.GrantDenies, "agent connection.request deny")},
		{"connection.request: held unless autonomous", policy.Assisted, wide("connection.request", policy.Allow), newPeer(""), answer(policy.Held, policy.ModeNotAutonomous, "agent connection.request allow")},
		{"connection.request: allowed for an autonomous agent", policy.Autonomous, grants(), newPeer(""), answer(policy.Allowed, policy.ModeAllows, "")},
		{"connection.request: a grant that asks holds in every mode", policy.Autonomous, wide("connection.request", policy.Ask), newPeer(""), answer(policy.Held, policy.GrantAsks, "agent connection.request ask")},
		{"connection.request: an allow does not bring a revoked peer back", policy.Autonomous, wide("connection.request", policy.Allow), newPeer("revoked"), answer(policy.Held, policy.PeerRevoked, "agent connection.request allow")},
		{"connection.request: to a revoked peer, refused where a grant says deny", policy.Autonomous, wide("connection.request", policy.Deny), newPeer("revoked"), answer(policy.Refused, policy.GrantDenies, "agent connection.request deny")},

		{"actions: refused where a grant says deny", policy.Autonomous, wide("action.*", policy.Deny), toAnna("action.reservation.book"), answer(policy.Refused, policy.GrantDenies, "agent action.* deny")},
		{"actions: held unless autonomous", policy.Assisted, wide("action.*", policy.Allow), toAnna("action.reservation.book"), answer(policy.Held, policy.ModeNotAutonomous, "agent action.* allow")},
		{"actions: held without an allow grant", policy.Autonomous, grants(), toAnna("action.reservation.book"), answer(policy.Held, policy.NoAllowGrant, "")},
		{"actions: held where a grant says ask", policy.Autonomous, wide("action.*", policy.Ask), toAnna("action.reservation.book"), answer(policy.Held, policy.GrantAsks, "agent action.* ask")},
		{"actions: held where the constraints do not match", policy.Autonomous, narrow("action.*"), costing(31.0, "action.reservation.book"), answer(policy.Held, policy.ConstraintsNotMatched, "agent action.* allow")},
		{"actions: allowed where the constraints match", policy.Autonomous, narrow("action.*"), costing(30.0, "action.reservation.book"), answer(policy.Allowed, policy.GrantAllows, "agent action.* allow")},
		{"actions: need no connection", policy.Autonomous, wide("action.*", policy.Allow), policy.Request{Capabilities: []string{"action.my.own"}}, answer(policy.Allowed, policy.GrantAllows, "agent action.* allow")},

		{"anything else: always refused", policy.Autonomous, grants(grant("", "task.*", policy.Allow)), toAnna("task.confirm"), answer(policy.Refused, policy.UnknownCapability, "")},
		{"anything else: a wildcard is no capability", policy.Autonomous, grants(grant("", "disclose.*", policy.Allow)), toAnna("disclose.*"), answer(policy.Refused, policy.UnknownCapability, "")},
		{"anything else: an own name in capitals", policy.Autonomous, grants(grant("", "action.*", policy.Allow)), toAnna("action.Pay"), answer(policy.Refused, policy.UnknownCapability, "")},
	})
}

// TestWholeRequest: any refused refuses it all, else any held holds it all, else it is sent.
func TestWholeRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		grants       []policy.Grant
		want         policy.Outcome
		denied, held []string
	}{
		{"any refused refuses the whole", grants(grant("", "disclose.dietary", policy.Ask), grant("", "disclose.notes", policy.Deny)), policy.Refused, []string{"disclose.budget", "disclose.notes"}, []string{"disclose.dietary"}},
		{"any held holds the whole", grants(grant("", "disclose.*", policy.Allow), grant("", "disclose.dietary", policy.Ask)), policy.Held, []string{}, []string{"disclose.dietary"}},
		{"otherwise it is sent", grants(grant("", "disclose.*", policy.Allow)), policy.Allowed, []string{}, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.setRules(policy.Assisted, test.grants...)
			decision := b.decide(t, toAnna("task.propose", "disclose.budget", "disclose.dietary", "disclose.notes"))
			denied, _ := decision.Denied()
			held, _ := decision.NeedApproval()
			if decision.Outcome != test.want || !slices.Equal(denied, test.denied) || !slices.Equal(held, test.held) {
				t.Errorf("got %s, denied %v, held %v; want %s, %v, %v", decision.Outcome, denied, held, test.want, test.denied, test.held)
			}
		})
	}
}

// TestPrecedence: which grant counts, rules 1 to 4.
func TestPrecedence(t *testing.T) {
	dietary, booking := toAnna("disclose.dietary"), toAnna("action.reservation.book")
	later, over := noon.Add(time.Second), noon
	expires := func(g policy.Grant, when time.Time) policy.Grant { g.ExpiresAt = when; return g }
	runText(t, []textCase{
		{"1. exact beats wildcard", policy.Assisted, grants(grant("", "disclose.dietary", policy.Allow), grant("", "disclose.*", policy.Deny)), dietary, answer(policy.Allowed, policy.GrantAllows, "agent disclose.dietary allow")},
		{"1. an agent-wide exact allow beats a contact's ask of the wildcard", policy.Assisted, grants(grant("", "disclose.dietary", policy.Allow), grant(anna, "disclose.*", policy.Ask)), dietary, answer(policy.Allowed, policy.GrantAllows, "agent disclose.dietary allow")},
		{"2. the longer wildcard beats the shorter", policy.Autonomous, grants(grant("", "action.reservation.*", policy.Allow), grant("", "action.*", policy.Deny)), booking, answer(policy.Allowed, policy.GrantAllows, "agent action.reservation.* allow")},
		{"2. even where the shorter is the contact's", policy.Autonomous, grants(grant("", "action.reservation.*", policy.Allow), grant(anna, "action.*", policy.Deny)), booking, answer(policy.Allowed, policy.GrantAllows, "agent action.reservation.* allow")},
		{"3. a contact's grant beats an agent-wide one", policy.Assisted, grants(grant(anna, "disclose.*", policy.Allow), grant("", "disclose.*", policy.Deny)), dietary, answer(policy.Allowed, policy.GrantAllows, anna+" disclose.* allow")},
		{"3. but only that contact's", policy.Assisted, grants(grant("bert@b.example", "disclose.*", policy.Allow), grant("", "disclose.*", policy.Ask)), dietary, answer(policy.Held, policy.GrantAsks, "agent disclose.* ask")},
		{"4. deny beats ask", policy.Assisted, grants(grant(anna, "disclose.*", policy.Ask), grant(anna, "disclose.*", policy.Deny), grant(anna, "disclose.*", policy.Allow)), dietary, answer(policy.Refused, policy.GrantDenies, anna+" disclose.* deny")},
		{"4. ask beats allow", policy.Assisted, grants(grant(anna, "disclose.*", policy.Allow), grant(anna, "disclose.*", policy.Ask)), dietary, answer(policy.Held, policy.GrantAsks, anna+" disclose.* ask")},
		{"an expired grant is ignored", policy.Assisted, grants(expires(grant(anna, "disclose.*", policy.Deny), over), grant("", "disclose.*", policy.Allow)), dietary, answer(policy.Allowed, policy.GrantAllows, "agent disclose.* allow")},
		{"a grant that has not expired counts", policy.Assisted, grants(expires(grant(anna, "disclose.*", policy.Deny), later), grant("", "disclose.*", policy.Allow)), dietary, answer(policy.Refused, policy.GrantDenies, anna+" disclose.* deny")},
		{"all expired is no grant at all", policy.Assisted, grants(expires(grant(anna, "disclose.*", policy.Allow), over)), dietary, answer(policy.Refused, policy.NoGrant, "")},
	})
}

// TestConstraints: maxAmount, allowedValues, and what absent fields mean.
func TestConstraints(t *testing.T) {
	notes := grants(grant("", "disclose.dietary", policy.Allow, allowed("dietaryNotes", "vegan", "no nuts")))
	wide := grants(grant("", "disclose.*", policy.Allow, allowed("dietaryNotes", "vegan")))
	mistyped := grants(grant("", "disclose.dietary", policy.Allow, allowed("dietryNotes", "vegan")))
	carrying := func(capability string, fields map[string]any) policy.Request {
		return with(toAnna(capability), func(r *policy.Request) { r.AmountField, r.Fields = "budget", fields })
	}
	yes := answer(policy.Allowed, policy.GrantAllows, "agent disclose.dietary allow")
	no := answer(policy.Held, policy.ConstraintsNotMatched, "agent disclose.dietary allow")
	wideYes, wideNo := answer(policy.Allowed, policy.GrantAllows, "agent disclose.* allow"), answer(policy.Held, policy.ConstraintsNotMatched, "agent disclose.* allow")
	runText(t, []textCase{
		{"of a list every entry must be allowed", policy.Assisted, notes, carrying("disclose.dietary", map[string]any{"dietaryNotes": []any{"vegan", "no nuts"}}), yes},
		{"one entry that is not allowed holds", policy.Assisted, notes, carrying("disclose.dietary", map[string]any{"dietaryNotes": []any{"vegan", "kosher"}}), no},
		{"an empty list discloses nothing and matches", policy.Assisted, notes, carrying("disclose.dietary", map[string]any{"dietaryNotes": []any{}}), yes},
		{"a single value", policy.Assisted, notes, carrying("disclose.dietary", map[string]any{"dietaryNotes": "vegan"}), yes},
		{"a constrained wildcard ignores an absent field", policy.Assisted, wide, carrying("disclose.budget", map[string]any{"budget": 5}), wideYes},
		{"a constrained wildcard does not ignore a present one", policy.Assisted, wide, carrying("disclose.budget", map[string]any{"dietaryNotes": "kosher"}), wideNo},
		{"a constrained exact grant does not ignore an absent field", policy.Assisted, notes, carrying("disclose.dietary", nil), no},
		{"a mistyped field name sends the proposal to the owner", policy.Assisted, mistyped, carrying("disclose.dietary", map[string]any{"dietaryNotes": []any{"vegan"}}), no},
		{"the request must carry an amount", policy.Assisted, grants(grant("", "disclose.*", policy.Allow, maxAmount(30))), carrying("disclose.dietary", nil), wideNo},
		{"an amount that is no number", policy.Assisted, grants(grant("", "disclose.*", policy.Allow, maxAmount(30))), carrying("disclose.dietary", map[string]any{"budget": "5"}), wideNo},
		{"an amount up to the limit", policy.Assisted, grants(grant("", "disclose.*", policy.Allow, maxAmount(30))), carrying("disclose.dietary", map[string]any{"budget": 30}), wideYes},
	})
}

// TestBeyondTheText: what the protocol's chapter on policy adds.
func TestBeyondTheText(t *testing.T) {
	const bert = "bert@b.example"
	alone := policy.Request{Capabilities: []string{"action.reservation.book"}}
	structured := func(r policy.Request) policy.Request {
		r.StructuredOnly, r.FreeText = true, r.Capabilities
		return r
	}
	denyOnly := func(r policy.Request) policy.Request { r.DenyOnly = true; return r }
	revoked := with(toAnna("message.send"), func(r *policy.Request) { r.Connection = "revoked" })
	runText(t, []textCase{
		{"an action without a task meets a contact's deny", policy.Autonomous, grants(grant("", "action.*", policy.Allow), grant(bert, "action.reservation.book", policy.Deny)), alone, answer(policy.Held, policy.ContactDeniesAction, "agent action.* allow")},
		{"an action with a task does not meet another contact's", policy.Autonomous, grants(grant("", "action.*", policy.Allow), grant(bert, "action.reservation.book", policy.Deny)), toAnna("action.reservation.book"), answer(policy.Allowed, policy.GrantAllows, "agent action.* allow")},
		{"structuredOnly holds free text", policy.Autonomous, grants(), structured(toAnna("message.send")), answer(policy.Held, policy.StructuredOnly, "")},
		{"structuredOnly does not soften a deny", policy.Autonomous, grants(grant("", "message.send", policy.Deny)), structured(toAnna("message.send")), answer(policy.Refused, policy.GrantDenies, "agent message.send deny")},
		{"structuredOnly holds an allowed disclosure that no rule reads", policy.Assisted, grants(grant("", "disclose.notes", policy.Allow)), structured(toAnna("disclose.notes")), answer(policy.Held, policy.StructuredOnly, "agent disclose.notes allow")},
		{"what was approved is asked for denies only", policy.Manual, grants(grant("", "message.send", policy.Ask)), denyOnly(toAnna("message.send")), answer(policy.Allowed, policy.NothingDenies, "agent message.send ask")},
		{"a deny added later still refuses", policy.Manual, grants(grant("", "message.send", policy.Deny)), denyOnly(toAnna("message.send")), answer(policy.Refused, policy.GrantDenies, "agent message.send deny")},
		{"a connection that ended still refuses", policy.Manual, grants(), denyOnly(revoked), answer(policy.Refused, policy.ConnectionNotActive, "")},
		{"an approved action runs in every mode", policy.Manual, grants(), denyOnly(alone), answer(policy.Allowed, policy.NothingDenies, "")},
	})
}
