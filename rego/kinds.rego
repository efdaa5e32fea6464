# METADATA
# title: Kinds
# description: |
#   The first column of the source's decision table: which row a capability
#   belongs to. A connection request to a peer that was revoked or rejected has
#   a row of its own, held in every mode.
package agentlink.kinds

# METADATA
# title: The row of a capability
of(capability) := kind if kind := data.kinds[capability]

else := connecting if capability == "connection.request"

else := "disclosure" if named(capability, `^disclose\.[a-z0-9_-]+$`)

else := "action" if named(capability, `^action(\.[a-z0-9_-]+)+$`)

else := "other"

connecting := "connection_to_revoked" if input.connection == "revoked"

else := "connection_to_rejected" if input.connection == "rejected"

else := "connection"

# The owner may name disclosures and actions of their own.
named(capability, form) if {
	count(capability) <= 128
	regex.match(form, capability)
}

# METADATA
# title: Kinds that can be answered as the connection stands
# description: Messages, task writes and disclosures need an active connection.
reachable := {"message", "disclosure", "connection", "connection_to_revoked", "connection_to_rejected", "action"} if {
	input.connection == "active"
}

else := {"connection", "connection_to_revoked", "connection_to_rejected", "action"}
