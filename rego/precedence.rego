# METADATA
# title: Which grant counts
# description: |
#   Only one grant applies to each capability. In this order: the exact
#   capability before a wildcard, a longer wildcard before a shorter one, the
#   contact's grant before an agent-wide one, deny before ask before allow.
package agentlink.precedence

# METADATA
# title: The grant that wins, or one of mode "none"
winner(patterns) := strictest(found[0]) if found := [by_mode |
	some pattern in patterns
	some place in places
	by_mode := place[pattern]
]

else := {"id": "", "capability": "", "mode": "none", "constraints": {}}

places := [place |
	some contact in [input.contact, ""]
	place := input.grants[contact]
]

strictest(by_mode) := grant if grant := by_mode.deny

else := grant if grant := by_mode.ask

else := grant if grant := by_mode.allow
