package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

const rowHash = "79785e612ef13aabb1153834b1bf2b1fc69c3c0ea61c49bd3d3769df7ea035ca"

func aDecision() view.ActivityRow {
	return view.ActivityRow{
		URL: "/activity/41", Position: 41, At: now, Chip: "refused", Meaning: view.No,
		What: view.Sentence{view.Plain("The rules on "), view.Bold("disclose.dietary"), view.Plain(" towards "), view.Bold("juno@ben.example")},
		By:   view.Sentence{view.Plain("by "), view.Bold("scout")},
	}
}

func someDays(counts ...int) []view.Day {
	days := make([]view.Day, len(counts))
	for i, count := range counts {
		days[i] = view.Day{Day: now.Truncate(24*time.Hour).AddDate(0, 0, i-len(counts)+1), Allowed: 2 * count, Held: count, Refused: count}
	}
	return days
}

func TestActivity(t *testing.T) {
	t.Parallel()
	page := view.ActivityPage{
		Frame: frame("Activity", "/activity"), Last: 41, Days: someDays(0, 1, 3, 2),
		Types:  []view.Option{{Value: "policy.decided", Text: "The rules decided", Group: "Policy"}, {Value: "message.queued", Text: "A message may leave", Group: "Message"}},
		Agents: []view.Option{{Value: "a", Text: "scout"}}, Contacts: []view.Option{{Value: "c", Text: "juno@ben.example – scout"}},
		Rows:  []view.ActivityRow{aDecision(), {URL: "/activity/40", Position: 40, At: now, What: view.Sentence{view.Plain("The node started")}, By: view.Sentence{view.Plain("by "), view.Bold("the node")}}},
		Older: "/activity?before=40",
	}
	golden(t, "activity", view.Activity(page))
	page.Type, page.Agent, page.Contact, page.Task, page.Search = "policy.decided", "a", "c", taskUID, `"><script>`
	page.Looked, page.ByName, page.ContactName = "Looked at 2000 rows, back to #12. There are older ones.", "/activity?q=juno", "juno@ben.example"
	page.Rows, page.Unopened, page.Days = nil, true, someDays(0, 0)
	golden(t, "activity-search", view.Activity(page))
}

func TestActivityEntry(t *testing.T) {
	t.Parallel()
	page := view.ActivityRowPage{
		Frame: frame("Activity", "/activity"), Row: aDecision(), Type: "policy.decided", Actor: "scout", Agent: "scout", AgentURL: "/agents/a",
		TaskUID: taskUID, TaskURL: "/tasks/" + taskUID, Subject: "0197a1b2-0000-7000-8000-00000000000d", Hash: rowHash, Previous: rowHash, DataHash: rowHash,
		Data: []view.Parameter{{Name: "outcome", Value: "refuse"}}, OlderURL: "/activity/40", NewerURL: "/activity/42",
		Decision: &view.Decision{
			Outcome: "refused", Meaning: view.No, RulesRev: 5, Version: "fd2e41abbbc62d9a", DenyOnly: true,
			Facts:  []view.Parameter{{Name: "The agent’s mode", Value: "autonomous"}, {Name: "Contact", Value: "juno@ben.example"}},
			Fields: []view.Parameter{{Name: "dietaryNotes.1", Value: "no <nuts>"}},
			Answers: []view.DecisionAnswer{
				{Capability: "disclose.dietary", Outcome: "refused", Meaning: view.No, Why: "a grant denies it",
					Grant: view.Sentence{view.Plain("deny "), view.Bold("disclose.dietary"), view.Plain(" for "), view.Bold("juno@ben.example")}, GrantURL: "/agents/a"},
				{Capability: "task.propose", Outcome: "allowed", Meaning: view.OK, Why: "the mode allows it"},
				{Capability: "disclose.budget", Outcome: "held", Meaning: view.Waits, Why: "a grant says to ask you", Grant: view.Sentence{view.Plain("one that was removed since, "), view.Bold("g")}},
			},
		},
	}
	golden(t, "activity-decision", view.ActivityEntry(page))
	page.Decision, page.Row.Chip, page.Type, page.Via, page.NewerURL = nil, "", "approval.approved", "dashboard session=1", ""
	page.Subject, page.SubjectURL, page.Contact, page.ContactURL = "0197a1b2-0000-7000-8000-000000000001", "/approvals/1", "juno@ben.example", "/contacts/3"
	golden(t, "activity-entry", view.ActivityEntry(page))
	page.Unopened, page.Data = true, nil
	golden(t, "activity-unopened", view.ActivityEntry(page))
}

func TestVerified(t *testing.T) {
	t.Parallel()
	page := view.VerifyPage{Frame: frame("Is the log whole?", "/activity"), Rows: 41, Head: rowHash}
	golden(t, "activity-whole", view.Verified(page))
	page.Problem, page.Deep = "the data of row 42 was changed", true
	golden(t, "activity-not-whole", view.Verified(page))
	page.Problem, page.Head, page.Rows = "the head is missing", "", 0
	golden(t, "activity-no-head", view.Verified(page))
}
