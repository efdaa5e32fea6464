package agentlink.precedence_test

import data.agentlink.fixture
import data.agentlink.precedence

winner(wanted, contact, agent) := won.id if {
	grants := {"anna": fixture.place(contact), "": fixture.place(agent)}
	won := precedence.winner(wanted.patterns) with input as object.union(fixture.facts, {"grants": grants})
}

test_no_grant if winner(fixture.dietary, [], []) == ""

test_1_exact_beats_wildcard_even_the_contacts if {
	contact := [fixture.grant("contact wildcard", "disclose.*", "deny")]
	agent := [fixture.grant("agent exact", "disclose.dietary", "allow")]
	winner(fixture.dietary, contact, agent) == "agent exact"
}

test_2_longer_wildcard_beats_shorter_even_the_contacts if {
	contact := [fixture.grant("contact short", "action.*", "deny")]
	agent := [fixture.grant("agent long", "action.reservation.*", "allow")]
	winner(fixture.booking, contact, agent) == "agent long"
}

test_3_contact_beats_agent_wide if {
	contact := [fixture.grant("contact", "disclose.*", "allow")]
	agent := [fixture.grant("agent", "disclose.*", "deny")]
	winner(fixture.dietary, contact, agent) == "contact"
}

test_4_deny_beats_ask_beats_allow if {
	allow := fixture.grant("allow", "disclose.*", "allow")
	ask := fixture.grant("ask", "disclose.*", "ask")
	deny := fixture.grant("deny", "disclose.*", "deny")
	winner(fixture.dietary, [allow, ask, deny], []) == "deny"
	winner(fixture.dietary, [allow, ask], []) == "ask"
	winner(fixture.dietary, [allow, deny], []) == "deny"
	winner(fixture.dietary, [], [allow, ask, deny]) == "deny"
	winner(fixture.dietary, [], [allow]) == "allow"
}

# A contact without grants must not hide what applies to the agent as a whole.
test_agent_wide_deny_reaches_a_contact_without_grants if {
	denies := {"grants": {"": fixture.place([fixture.grant("agent", "disclose.*", "deny")])}}
	precedence.winner(fixture.dietary.patterns).id == "agent" with input as object.union(fixture.facts, denies)
}

test_other_contacts_grants_do_not_apply if {
	theirs := {"grants": {"bert": fixture.place([fixture.grant("bert", "disclose.dietary", "allow")])}}
	precedence.winner(fixture.dietary.patterns).id == "" with input as object.union(fixture.facts, theirs)
}
