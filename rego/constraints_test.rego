package agentlink.constraints_test

import data.agentlink.constraints
import data.agentlink.fixture

request(fields) := object.union(fixture.facts, {"fields": fields, "amountField": "budget"})

up_to(limit) := fixture.constrained("g", "disclose.budget", "allow", {"maxAmount": limit, "allowedValues": {}})

values(pattern, allowed) := fixture.constrained("g", pattern, "allow", {"maxAmount": null, "allowedValues": allowed})

test_without_constraints if {
	constraints.met(fixture.grant("g", "disclose.*", "allow")) with input as request({})
}

test_amount_within_the_limit if {
	constraints.met(up_to(50)) with input as request({"budget": 50})
	constraints.met(up_to(50)) with input as request({"budget": 0})
	constraints.met(up_to(0)) with input as request({"budget": 0})
	constraints.met(up_to(49.5)) with input as request({"budget": 49.25})
}

test_amount_over_the_limit if {
	not constraints.met(up_to(50)) with input as request({"budget": 50.01})
}

# The amount has to be carried: a request without one never matches, whatever
# the grant.
test_amount_missing if {
	wide := fixture.constrained("g", "disclose.*", "allow", {"maxAmount": 50, "allowedValues": {}})
	not constraints.met(up_to(50)) with input as request({})
	not constraints.met(wide) with input as request({})
	not constraints.met(wide) with input as object.union(fixture.facts, {"fields": {"budget": 5}})
}

test_no_amount_but_a_number_matches if {
	amounts := ["5", "", null, true, false, [5], [], {"amount": 5}, -1, -0.5]
	every amount in amounts {
		not constraints.met(up_to(50)) with input as request({"budget": amount})
	}
}

test_amount_that_json_does_not_keep_exactly if {
	constraints.met(up_to(9007199254740991)) with input as request({"budget": 9007199254740991})
	not constraints.met(up_to(1e300)) with input as request({"budget": 9007199254740992})
}

test_value if {
	allowed := values("disclose.preferences", {"cuisine": ["thai", 5, false]})
	every value in ["thai", 5, 5.0, false] {
		constraints.met(allowed) with input as request({"cuisine": value})
	}
	every value in ["Thai", "5", "false", 0, true, null, ["thai", "french"], {"thai": true}] {
		not constraints.met(allowed) with input as request({"cuisine": value})
	}
}

test_every_entry_of_a_list if {
	notes := values("disclose.dietary", {"dietaryNotes": ["vegan", "no nuts"]})
	constraints.met(notes) with input as request({"dietaryNotes": ["no nuts", "vegan", "vegan"]})
	constraints.met(notes) with input as request({"dietaryNotes": []})
	not constraints.met(notes) with input as request({"dietaryNotes": ["vegan", "kosher"]})
	not constraints.met(notes) with input as request({"dietaryNotes": [["vegan"]]})
}

test_every_field if {
	both := values("disclose.preferences", {"cuisine": ["thai"], "area": ["north"]})
	constraints.met(both) with input as request({"cuisine": "thai", "area": "north"})
	not constraints.met(both) with input as request({"cuisine": "thai", "area": "south"})
	not constraints.met(both) with input as request({"cuisine": "thai"})
}

test_both_constraints if {
	both := fixture.constrained("g", "action.*", "allow", {"maxAmount": 50, "allowedValues": {"cuisine": ["thai"]}})
	constraints.met(both) with input as request({"budget": 5, "cuisine": "thai"})
	not constraints.met(both) with input as request({"budget": 55, "cuisine": "thai"})
	not constraints.met(both) with input as request({"budget": 5, "cuisine": "french"})
}

test_absent_field_only_the_wildcard_of_disclosures_ignores if {
	allowed := {"cuisine": ["thai"]}
	constraints.met(values("disclose.*", allowed)) with input as request({})
	not constraints.met(values("disclose.*", allowed)) with input as request({"cuisine": "french"})
	not constraints.met(values("disclose.*", allowed)) with input as request({"cuisine": null})
	every pattern in ["disclose.preferences", "action.*", "action.reservation.*", "action.reservation.book"] {
		not constraints.met(values(pattern, allowed)) with input as request({})
	}
}

# Both shapes that are known to fail open, with the fact missing.
test_a_missing_fact_proves_nothing if {
	every missing in ["fields", "amountField", "assume"] {
		facts := object.remove(request({"budget": 5}), [missing])
		not constraints.met(up_to(50)) with input as facts
	}
	not constraints.met(values("disclose.*", {"cuisine": ["thai"]})) with input as object.remove(fixture.facts, ["fields"])
}

test_forecast if {
	met := object.union(fixture.facts, {"assume": "met"})
	unmet := object.union(fixture.facts, {"assume": "unmet"})
	constraints.met(up_to(50)) with input as met
	not constraints.met(up_to(50)) with input as unmet
	constraints.met(fixture.grant("g", "disclose.*", "allow")) with input as unmet
}
