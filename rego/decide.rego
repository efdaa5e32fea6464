# METADATA
# title: How the node decides
# description: |
#   An answer for each capability: the reason, its outcome, and the grant that
#   won. A capability that gets none here is refused by the node.
package agentlink.decide

import data.agentlink.constraints
import data.agentlink.facts
import data.agentlink.kinds
import data.agentlink.narrowing
import data.agentlink.precedence

# METADATA
# title: Answers by capability
# description: '{capability: [outcome, reason, grant]}'
# entrypoint: true
answers := {want.capability: [data.outcomes[reason], reason, grant] |
	facts.complete
	some want in input.wanted
	want.patterns[0] == want.capability
	[reason, grant] := verdict(want, kinds.of(want.capability))
}

# What ends before any grant is looked at, then the table.
verdict(want, kind) := ["agent_disabled", ""] if input.agent.status == "disabled"

else := ["unknown_capability", ""] if kind == "other"

else := [narrowing.narrowed(cell, kind, want), grant.id] if {
	input.agent.status == "active"
	kind in kinds.reachable
	grant := precedence.winner(want.patterns)
	cell := rows[kind][standing(grant)]
}

else := ["connection_not_active", ""] if not kind in kinds.reachable

# METADATA
# title: The rows of the table
# description: What the owner approved, or what was queued before, is asked only for denies.
rows := data.table[input.agent.mode] if input.denyOnly == false

else := data.table.deny_only if input.denyOnly == true

# METADATA
# title: The column of the table
standing(grant) := grant.mode if grant.mode != "allow"

else := "allow" if constraints.met(grant)

else := "unmatched"
