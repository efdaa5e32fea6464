# METADATA
# title: From allow to hold
# description: |
#   Two facts beside mode and grants turn an allow into a hold. An allow stays
#   only where it is proven that neither is there.
package agentlink.narrowing

# METADATA
# title: The reason that remains
narrowed(reason, kind, want) := reason if nothing_narrows

else := reason if data.outcomes[reason] != "allow"

else := reason if input.denyOnly == true

else := reason if {
	no_contact_denies(kind, want)
	no_unread_text(want)
}

else := "contact_denies_action" if {
	kind == "action"
	input.contact == ""
	some pattern in want.patterns
	input.denied[pattern]
}

else := "structured_only" if {
	input.structuredOnly == true
	want.freeText == true
}

# Most requests: to a contact, where free text may pass.
nothing_narrows if {
	input.contact != ""
	input.structuredOnly == false
}

# An action that names no task has no contact. Leaving the task out must not
# get around a contact's deny.
no_contact_denies(kind, _) if kind != "action"

no_contact_denies("action", _) if input.contact != ""

no_contact_denies("action", want) if {
	every pattern in want.patterns {
		object.get(input.denied, pattern, false) == false
	}
}

# No rule reads free text. Where the owner wants structured fields only, it
# waits.
no_unread_text(_) if input.structuredOnly == false

no_unread_text(want) if want.freeText == false
