package agentlink.decide_test

import data.agentlink.decide
import data.agentlink.fixture

# The answer for one capability under one agent-wide grant, or none.
answer(wanted, change) := given if {
	facts := object.union(object.union(fixture.facts, {"wanted": [wanted]}), change)
	given := decide.answers[wanted.capability] with input as facts
}

agent(mode) := {"agent": {"mode": mode, "status": "active"}}

under(mode, grants) := object.union(agent(mode), {"grants": {"": fixture.place(grants)}})

test_message_row if {
	message := fixture.message
	every mode in ["manual", "assisted", "autonomous"] {
		answer(message, under(mode, [fixture.grant("g", "message.send", "deny")])) == ["refuse", "grant_denies", "g"]
		answer(message, under(mode, [fixture.grant("g", "message.send", "ask")])) == ["hold", "grant_asks", "g"]
	}
	answer(message, agent("manual")) == ["hold", "mode_manual", ""]
	answer(message, agent("assisted")) == ["allow", "mode_allows", ""]
	answer(message, agent("autonomous")) == ["allow", "mode_allows", ""]
	answer(message, {"connection": "revoked"}) == ["refuse", "connection_not_active", ""]
}

test_disclosure_row if {
	dietary := fixture.dietary
	narrow := {"maxAmount": 5, "allowedValues": {}}
	every mode in ["manual", "assisted", "autonomous"] {
		answer(dietary, agent(mode)) == ["refuse", "no_grant", ""]
		answer(dietary, under(mode, [fixture.grant("g", "disclose.*", "deny")])) == ["refuse", "grant_denies", "g"]
		answer(dietary, under(mode, [fixture.grant("g", "disclose.*", "ask")])) == ["hold", "grant_asks", "g"]
		answer(dietary, under(mode, [fixture.grant("g", "disclose.*", "allow")])) == ["allow", "grant_allows", "g"]
		answer(dietary, under(mode, [fixture.constrained("g", "disclose.*", "allow", narrow)])) == ["hold", "constraints_not_matched", "g"]
	}
	answer(dietary, {"connection": ""}) == ["refuse", "connection_not_active", ""]
}

test_connection_row if {
	connecting := fixture.connecting
	new := {"connection": ""}
	every mode in ["manual", "assisted", "autonomous"] {
		answer(connecting, under(mode, [fixture.grant("g", "connection.request", "deny")])) == ["refuse", "grant_denies", "g"]
		answer(connecting, under(mode, [fixture.grant("g", "connection.request", "ask")])) == ["hold", "grant_asks", "g"]
		answer(connecting, object.union(agent(mode), {"connection": "revoked"})) == ["hold", "peer_revoked", ""]
		answer(connecting, object.union(agent(mode), {"connection": "rejected"})) == ["hold", "peer_rejected", ""]
	}
	answer(connecting, object.union(agent("manual"), new)) == ["hold", "mode_not_autonomous", ""]
	answer(connecting, object.union(agent("assisted"), new)) == ["hold", "mode_not_autonomous", ""]
	answer(connecting, object.union(agent("autonomous"), new)) == ["allow", "mode_allows", ""]
}

test_action_row if {
	booking := fixture.booking
	narrow := {"maxAmount": 5, "allowedValues": {}}
	every mode in ["manual", "assisted", "autonomous"] {
		answer(booking, under(mode, [fixture.grant("g", "action.*", "deny")])) == ["refuse", "grant_denies", "g"]
	}
	every mode in ["manual", "assisted"] {
		answer(booking, under(mode, [fixture.grant("g", "action.*", "allow")])) == ["hold", "mode_not_autonomous", "g"]
	}
	answer(booking, agent("autonomous")) == ["hold", "no_allow_grant", ""]
	answer(booking, under("autonomous", [fixture.grant("g", "action.*", "ask")])) == ["hold", "grant_asks", "g"]
	answer(booking, under("autonomous", [fixture.grant("g", "action.*", "allow")])) == ["allow", "grant_allows", "g"]
	answer(booking, under("autonomous", [fixture.constrained("g", "action.*", "allow", narrow)])) == ["hold", "constraints_not_matched", "g"]
}

test_anything_else_row if {
	every name in ["task.confirm", "disclose.*", "root"] {
		allowed := [fixture.grant("g", name, "allow")]
		answer(fixture.want([name]), under("autonomous", allowed)) == ["refuse", "unknown_capability", ""]
	}
}

test_disabled_agent if {
	every wanted in [fixture.message, fixture.dietary, fixture.connecting, fixture.booking, fixture.want(["root"])] {
		every deny_only in [true, false] {
			change := {"agent": {"mode": "autonomous", "status": "disabled"}, "denyOnly": deny_only}
			answer(wanted, change) == ["refuse", "agent_disabled", ""]
		}
	}
}

test_deny_only if {
	manual := object.union(agent("manual"), {"denyOnly": true})
	every wanted in [fixture.message, fixture.dietary, fixture.connecting, fixture.booking] {
		answer(wanted, manual) == ["allow", "nothing_denies", ""]
		denies := {"grants": {"": fixture.place([fixture.grant("g", wanted.capability, "deny")])}}
		answer(wanted, object.union(manual, denies)) == ["refuse", "grant_denies", "g"]
	}
	answer(fixture.message, object.union(manual, {"connection": "revoked"})) == ["refuse", "connection_not_active", ""]
	answer(fixture.want(["root"]), manual) == ["refuse", "unknown_capability", ""]
}

test_every_capability_is_answered if {
	wanted := [fixture.proposal, fixture.dietary, fixture.booking]
	answers := decide.answers with input as object.union(fixture.facts, {"wanted": wanted})
	object.keys(answers) == {"task.propose", "disclose.dietary", "action.reservation.book"}
}

test_no_answer_without_the_facts if {
	every missing in object.keys(fixture.facts) {
		answers := decide.answers with input as object.remove(object.union(fixture.facts, {"wanted": [fixture.message]}), [missing])
		answers == {}
	}
}

test_no_answer_for_half_a_wish if {
	halves := [{}, {"capability": "message.send"}, {"capability": "message.send", "patterns": []}, {"capability": "message.send", "patterns": ["task.*"]}]
	every half in halves {
		answers := decide.answers with input as object.union(fixture.facts, {"wanted": [fixture.proposal, half]})
		object.keys(answers) == {"task.propose"}
	}
	structured := {"structuredOnly": true, "wanted": [object.remove(fixture.message, ["freeText"])]}
	answers := decide.answers with input as object.union(fixture.facts, structured)
	answers == {}
}

# The table has a cell for each kind, mode and standing, and each of its reasons
# an outcome.
test_the_table_is_whole if {
	every kind in ["message", "disclosure", "connection", "connection_to_revoked", "connection_to_rejected", "action"] {
		every mode in ["manual", "assisted", "autonomous"] {
			every standing in ["deny", "ask", "allow", "unmatched", "none"] {
				data.outcomes[data.table[mode][kind][standing]] in {"refuse", "hold", "allow"}
			}
		}
	}
}
