# METADATA
# title: What the tests start from
# description: An assisted agent on an active connection, without any grant.
package agentlink.fixture

facts := {
	"agent": {"mode": "assisted", "status": "active"},
	"contact": "anna",
	"connection": "active",
	"structuredOnly": false,
	"denyOnly": false,
	"wanted": [],
	"fields": {},
	"amountField": "",
	"assume": "nothing",
	"grants": {},
	"denied": {},
}

# What an agent wants, with the patterns that cover it.
want(patterns) := {"capability": patterns[0], "patterns": patterns, "freeText": false}

message := want(["message.send"])

proposal := want(["task.propose", "task.*"])

dietary := want(["disclose.dietary", "disclose.*"])

booking := want(["action.reservation.book", "action.reservation.*", "action.*"])

connecting := want(["connection.request"])

free(wanted) := object.union(wanted, {"freeText": true})

grant(id, pattern, mode) := constrained(id, pattern, mode, {})

constrained(id, pattern, mode, constraints) := {"id": id, "capability": pattern, "mode": mode, "constraints": constraints}

# The place of grants: {pattern: {mode: grant}}.
place(grants) := {pattern: {grant.mode: grant | some grant in grants; grant.capability == pattern} |
	some pattern in {grant.capability | some grant in grants}
}
