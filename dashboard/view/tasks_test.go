package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

const taskUID = "0197a1b2-0000-7000-8000-000000000002"

func aTask() view.TaskPage {
	terms := []view.Parameter{{Name: "Date", Value: "2031-05-09"}, {Name: "Dietary notes · 1", Value: "no nuts"}, {Name: "Time", Value: "18:00"}}
	return view.TaskPage{
		Frame: frame("Task", "/tasks"), UID: taskUID, AgentID: "0197a1b2-0000-7000-8000-00000000000a", Title: "Dinner", Agent: "scout",
		Contact: "juno@ben.example", ContactURL: "/contacts/3", Type: "Dinner", Role: "initiator", Status: "agreed", Meaning: view.OK,
		Stands:  view.Sentence{view.Bold("Dinner"), view.Plain(" with "), view.Bold("juno@ben.example"), view.Plain(" – both accepted version 2")},
		TermsOf: "Version 2, accepted by both sides", Terms: terms,
		Acceptances: []view.Acceptance{
			{Who: "juno@ben.example", Text: "proposed version 2", At: now}, {Who: "scout", Text: "accepted version 2", At: now, Meaning: view.Neutral, Word: "not sent yet"},
		},
		Steps: []view.Step{
			{Who: "scout", What: "started the task with a first proposal", At: now, Meaning: view.OK, Delivery: "delivered", First: true, Version: 1, Terms: terms},
			{Who: "scout", What: "proposed version 2", At: now, Meaning: view.No, Delivery: "not sent: both sides proposed at once", VoidWhy: "crossed, superseded", Version: 2, Terms: terms},
			{Who: "juno@ben.example", What: "rejected version 1", At: now, Reason: "too <late>\u202e"},
			{Who: "juno@ben.example", What: "proposed version 2", At: now, Version: 2, Terms: terms, Changes: []view.Change{
				{Label: "Cuisine", Kind: view.Removed, Was: "thai"}, {Label: "Dietary notes", Kind: view.Added, Now: "no nuts"},
				{Label: "Time", Kind: view.Changed, Was: "19:30", Now: "18:00"},
			}},
			{Who: "juno@ben.example", Owner: true, What: "proposed version 3", At: now, Version: 3, Terms: terms},
		},
		Started: now.Add(-time.Hour), Ends: now.Add(70 * time.Hour), ActivityURL: "/activity?task=" + taskUID,
		CancelURL: "/tasks/" + taskUID + "/cancel",
	}
}

func TestTask(t *testing.T) {
	t.Parallel()
	golden(t, "task-agreed", view.Task(aTask()))

	flagged := aTask()
	flagged.CancelURL, flagged.NoCancel = "", "It cannot be cancelled any more."
	flagged.TwinURL = "/tasks/" + taskUID + "?agent=other"
	flagged.Flags = []view.Flag{
		{
			Name: "The two sides disagree on how it ended", What: view.Sentence{view.Plain("A cancellation and a confirmation crossed.")},
			Do:       view.Sentence{view.Plain("Settle it with "), view.Bold("juno@ben.example")},
			Bookings: []view.Booking{{Who: "juno@ben.example", Action: "reservation.book", Code: "AL-1", At: now, Simulated: true}},
			Links:    []view.Link{{Text: "Contact", URL: "/contacts/3"}},
		},
		{Name: "It is not known whether our last message arrived", What: view.Sentence{view.Plain("It was taken back.")}, Do: view.Sentence{view.Plain("You need not do anything.")}},
	}
	golden(t, "task-flagged", view.Task(flagged))

	done := aTask()
	done.Status, done.Ended, done.CancelURL = "confirmed", true, ""
	done.Confirmation = &view.Booking{Who: "scout", Action: "reservation.book", Code: "AL-N1KB", At: now}
	done.ReceiptURL = "/tasks/" + taskUID + "/receipt"
	done.Asks = []view.TaskAsk{{URL: "/approvals/1", Action: "reservation.book", Status: "consumed", Meaning: view.OK, At: now}}
	done.Runs = []view.TaskRun{{
		Action: "reservation.book", Outcome: "done", Text: "It was carried out and checked.", Meaning: view.OK, Code: "AL-N1KB", At: now,
		ApprovalURL: "/approvals/1", ReceiptURL: "/approvals/1/receipt",
	}}
	golden(t, "task-done", view.Task(done))

	held := aTask()
	held.Status, held.Meaning, held.Steps, held.Acceptances, held.TermsOf, held.CancelURL = "waits to be started", view.Waits, nil, nil, "", ""
	held.NoCancel = "It has not started: reject its approval, and it never will."
	golden(t, "task-held", view.Task(held))

	golden(t, "task-cancel", view.CancelTask(view.CancelTaskPage{
		Frame: frame("Cancel a task", "/tasks"), URL: "/tasks/" + taskUID, AgentID: "a", Title: "Dinner", Contact: "juno@ben.example", Status: "agreed", Agreed: true,
	}))
}

func TestTasks(t *testing.T) {
	t.Parallel()
	card := view.TaskCard{URL: "/tasks/" + taskUID, Title: "Dinner", Agent: "scout", Contact: "juno@ben.example", Status: "negotiating", Meaning: view.Neutral, Version: 2, At: now}
	odd := card
	odd.Status, odd.Meaning, odd.Flags, odd.Version, odd.Title = "confirmed", view.OK, []string{"disagreement", "confirmation owed"}, 0, "Dіnner" // its і is Cyrillic
	page := view.TasksPage{
		Frame: frame("Tasks", "/tasks"), Agents: []view.Option{{Value: "a", Text: "scout"}},
		Contacts: []view.Option{{Value: "c", Text: "juno@ben.example – scout"}, {Value: "d", Text: "junо@ben.example\u202e – scout"}}, Contact: "c",
		Flagged: view.TaskColumn{Name: "Needs a look", Cards: []view.TaskCard{odd}},
		Columns: []view.TaskColumn{
			{Name: "Negotiating", Cards: []view.TaskCard{card}, More: []view.Link{{Text: "All negotiating", URL: "/tasks?status=negotiating"}}},
			{Name: "Agreed", Empty: "Nothing is agreed and still to be done."},
		},
		ContactsCut: true,
	}
	golden(t, "tasks-board", view.Tasks(page))
	page.Status, page.Cards, page.Older = "negotiating", []view.TaskCard{card}, "/tasks?status=negotiating&at=1&id=2"
	golden(t, "tasks-list", view.Tasks(page))
	page.Cards, page.Older = nil, ""
	golden(t, "tasks-none", view.Tasks(page))
}
