package dashboard

import (
	"slices"

	"agentlink/dashboard/view"
	"agentlink/policy"
)

// contactOf is the contact that a plan is for; "" for the agent as a whole.
func contactOf(s policy.Steps) string {
	switch {
	case s.Set != nil:
		return s.Set.Contact
	case len(s.Ends) > 0:
		return s.Ends[0].Contact
	}
	return ""
}

// planWords says a plan in one sentence.
func planWords(s policy.Steps) view.Sentence {
	handle := view.Bold(s.Agent.Handle)
	switch {
	case s.Mode != "":
		return view.Sentence{handle, view.Plain(" becomes "), view.Bold(string(s.Mode)), view.Plain(" – it " + modeWords[s.Mode].says + ".")}
	case s.Set == nil:
		words := view.Sentence{view.Plain("The grant "), view.Bold(s.Ends[0].Capability + " " + string(s.Ends[0].Mode)), view.Plain(" of "), handle}
		return append(whom(words, s.Ends[0].Contact), view.Plain(" ends."))
	}
	g := *s.Set
	may, how := " may ", ""
	switch g.Mode {
	case policy.Allow:
		how = " without asking you"
	case policy.Ask:
		how = " once you approve it"
	case policy.Deny:
		may = " may not "
	}
	words := whom(view.Sentence{handle, view.Plain(may), view.Bold(lowerFirst(capabilityName(g.Capability)))}, g.Contact)
	words = append(words, view.Plain(how))
	if !g.ExpiresAt.IsZero() {
		words = append(words, view.Plain(", until "+g.ExpiresAt.UTC().Format("2 Jan 2006, 15:04")+" UTC"))
	}
	return append(words, view.Plain("."))
}

func whom(words view.Sentence, contact string) view.Sentence {
	if contact == "" {
		return words
	}
	return append(words, view.Plain(" towards "), view.Bold(contact))
}

func saveWord(s policy.Steps) string {
	switch {
	case s.Mode != "":
		return "Make it " + string(s.Mode)
	case s.Set == nil:
		return "Remove the grant"
	}
	return "Save this grant"
}

// nothingNew says whether a plan writes what is there already.
func nothingNew(s policy.Steps, grants []policy.Grant) bool {
	switch {
	case s.Mode != "":
		return s.Mode == s.Agent.Mode
	case s.Set == nil || len(s.Ends) > 0 || s.Set.ID == "":
		return false
	}
	at := slices.IndexFunc(grants, func(g policy.Grant) bool { return g.ID == s.Set.ID })
	return at >= 0 && grants[at].ExpiresAt.Equal(s.Set.ExpiresAt)
}
