# METADATA
# title: Constraints
# description: |
#   They narrow an allow grant: all of them have to match. A rule here proves
#   that one does; what cannot be proven does not match.
package agentlink.constraints

# METADATA
# title: The grant's constraints match the request
met(grant) if grant.constraints == {}

else if input.assume == "met"

else if {
	input.assume == "nothing"
	amount_met(grant.constraints.maxAmount)
	every field, allowed in grant.constraints.allowedValues {
		value_met(field, allowed, grant.capability)
	}
}

# METADATA
# title: maxAmount
# description: |
#   The request carries an amount, a number from 0 that JSON keeps exactly (up
#   to 2^53 − 1) and no larger than the limit. null is no limit.
amount_met(null)

amount_met(limit) if {
	amount := input.fields[input.amountField]
	is_number(amount)
	amount >= 0
	amount <= 9007199254740991
	amount <= limit
}

# METADATA
# title: allowedValues
# description: |
#   The field's value is allowed; of a list every entry is, so that an empty list
#   discloses nothing and matches. The wildcard of disclosures ignores a field
#   that the request does not contain, every other grant does not.
value_met(field, allowed, _) if input.fields[field] in allowed

value_met(field, allowed, _) if {
	is_array(input.fields[field])
	every entry in input.fields[field] {
		entry in allowed
	}
}

value_met(field, _, "disclose.*") if {
	present := object.keys(input.fields)
	not field in present
}
