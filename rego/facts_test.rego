package agentlink.facts_test

import data.agentlink.facts
import data.agentlink.fixture

whole := object.union(fixture.facts, {"wanted": [fixture.message, fixture.dietary]})

test_complete if facts.complete with input as whole

test_each_fact_is_needed if {
	every missing in object.keys(whole) {
		not facts.complete with input as object.remove(whole, [missing])
	}
}

test_each_fact_has_its_type if {
	every name in object.keys(whole) {
		not facts.complete with input as object.union(whole, {name: 1})
	}
}

test_closed_lists if {
	every wrong in [{"mode": "bold", "status": "active"}, {"mode": "manual", "status": "asleep"}, {"mode": "manual"}, {"status": "active"}] {
		not facts.complete with input as object.union(object.remove(whole, ["agent"]), {"agent": wrong})
	}
	not facts.complete with input as object.union(whole, {"assume": "maybe"})
}
