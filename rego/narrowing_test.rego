package agentlink.narrowing_test

import data.agentlink.fixture
import data.agentlink.narrowing

remains(reason, kind, wanted, change) := remaining if {
	remaining := narrowing.narrowed(reason, kind, wanted) with input as object.union(fixture.facts, change)
}

denied := {"contact": "", "denied": {"action.*": true}}

test_nothing_to_narrow if {
	remains("mode_allows", "message", fixture.message, {}) == "mode_allows"
	remains("grant_allows", "action", fixture.booking, {}) == "grant_allows"
	remains("grant_allows", "action", fixture.booking, {"contact": ""}) == "grant_allows"
}

test_action_without_a_task_meets_a_contacts_deny if {
	remains("grant_allows", "action", fixture.booking, denied) == "contact_denies_action"
	remains("grant_allows", "action", fixture.booking, object.union(denied, {"contact": "anna"})) == "grant_allows"
	remains("grant_allows", "action", fixture.want(["action.pay"]), denied) == "grant_allows"
	remains("grant_allows", "disclosure", fixture.dietary, {"contact": "", "denied": {"disclose.*": true}}) == "grant_allows"
}

test_structured_only_holds_free_text if {
	remains("mode_allows", "message", fixture.free(fixture.message), {"structuredOnly": true}) == "structured_only"
	remains("mode_allows", "message", fixture.message, {"structuredOnly": true}) == "mode_allows"
	remains("mode_allows", "message", fixture.free(fixture.message), {}) == "mode_allows"
}

test_structured_only_is_the_reason_where_no_action_is_denied if {
	facts := {"contact": "", "structuredOnly": true, "denied": {"message.send": true}}
	remains("mode_allows", "message", fixture.free(fixture.message), facts) == "structured_only"
}

test_only_an_allow_is_narrowed if {
	every reason in ["grant_denies", "no_grant", "grant_asks", "mode_manual", "mode_not_autonomous", "constraints_not_matched"] {
		remains(reason, "message", fixture.free(fixture.message), {"structuredOnly": true}) == reason
	}
}

test_what_was_approved_is_not_narrowed if {
	remains("nothing_denies", "action", fixture.booking, object.union(denied, {"denyOnly": true})) == "nothing_denies"
}

stays_allowed(facts) if {
	"grant_allows" == narrowing.narrowed("grant_allows", "action", fixture.free(fixture.booking)) with input as facts
}

test_a_missing_fact_proves_nothing if {
	whole := object.union(fixture.facts, {"contact": "", "structuredOnly": true})
	every missing in ["contact", "denied", "structuredOnly", "denyOnly"] {
		not stays_allowed(object.remove(whole, [missing]))
	}
	read := object.union(whole, {"structuredOnly": false})
	stays_allowed(read)
	not stays_allowed(object.remove(read, ["denied"]))
}
