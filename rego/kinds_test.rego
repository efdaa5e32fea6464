package agentlink.kinds_test

import data.agentlink.fixture
import data.agentlink.kinds

all_of(kind, capabilities) if {
	every capability in capabilities {
		kinds.of(capability) == kind with input as fixture.facts
	}
}

test_messages_and_task_writes if {
	all_of("message", ["message.send", "task.create", "task.propose", "task.respond", "task.cancel"])
}

test_disclosures if {
	all_of("disclosure", ["disclose.availability", "disclose.preferences", "disclose.dietary", "disclose.budget", "disclose.notes"])
	all_of("disclosure", ["disclose.shoe-size_2", "disclose.x"])
}

test_actions if {
	all_of("action", ["action.reservation.book", "action.calendar.hold"])
	all_of("action", ["action.pay", "action.my-own.deep_er.name2"])
}

test_anything_else if {
	all_of("other", [
		"", "message", "message.read", "message.*", "task", "task.confirm", "task.*", "connection", "connection.accept",
		"disclose", "disclose.", "disclose.*", "disclose.a.b", "disclose.Dietary", "disclose.é", "disclose.a b", "disclose.a\n",
		"action", "action.", "action.*", "action.a.", "action..a", "action.A", "action.a.*", "xaction.a", "discloser.a",
		sprintf("disclose.%s", [concat("", [x | some i in numbers.range(1, 120); x := substring("a", 0, i)])]),
	])
}

test_requests_to_connect if {
	rows := {
		"": "connection",
		"active": "connection",
		"pending_owner": "connection",
		"revoked": "connection_to_revoked",
		"rejected": "connection_to_rejected",
	}
	every status, row in rows {
		kinds.of("connection.request") == row with input as object.union(fixture.facts, {"connection": status})
	}
}

test_what_needs_an_active_connection if {
	every status in ["", "pending_owner", "pending_outgoing", "pending_incoming", "rejected", "revoked", "Active"] {
		reached := kinds.reachable with input as object.union(fixture.facts, {"connection": status})
		reached == {"connection", "connection_to_revoked", "connection_to_rejected", "action"}
	}
	reached := kinds.reachable with input as fixture.facts
	reached & {"message", "disclosure", "other"} == {"message", "disclosure"}
}
