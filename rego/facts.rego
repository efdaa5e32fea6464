# METADATA
# title: Facts
# description: |
#   What the node gathers before it asks, as `input`:
#
#   agent:          {"mode", "status"}
#   contact:        where the contact's grants are filed; "" for an action whose parameters name no task
#   connection:     the status of the connection to the contact; "" where there is none
#   structuredOnly: the owner's switch for this contact
#   denyOnly:       ask only whether something forbids it now
#   wanted:         [{"capability", "patterns", "freeText"}]; patterns are what a grant can be
#                   for so as to cover the capability, the most specific first
#   fields:         the structured fields of the request, by name
#   amountField:    which of them is the amount; "" for none
#   assume:         "nothing", or for a forecast that every constraint is "met" or "unmet"
#   grants:         {contact: {pattern: {mode: {"id", "capability", "mode", "constraints"}}}} of the
#                   agent, without those that have expired; contact "" is agent-wide
#   denied:         {pattern: true} for what some contact's grant denies
#
#   Nothing is answered before these are proven to be there, since a missing fact
#   would otherwise read as "no grant".
package agentlink.facts

# METADATA
# title: Every fact is there
complete if {
	input.agent.mode in {"manual", "assisted", "autonomous"}
	input.agent.status in {"active", "disabled"}
	is_string(input.contact)
	is_string(input.connection)
	is_boolean(input.structuredOnly)
	is_boolean(input.denyOnly)
	is_object(input.fields)
	is_string(input.amountField)
	input.assume in {"nothing", "met", "unmet"}
	is_object(input.grants)
	is_object(input.denied)
	is_array(input.wanted)
}
