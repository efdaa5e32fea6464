package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func anApproval() view.ApprovalPage {
	return view.ApprovalPage{
		Frame: frame("Approval", "/approvals"), ID: "0197a1b2-0000-7000-8000-000000000001", Agent: "scout", Action: "reservation.book",
		Contact: "juno@ben.example", Status: "pending", Meaning: view.Waits, Pending: true,
		What: view.Sentence{view.Bold("scout"), view.Plain(" will "), view.Bold("book Da Piero for 6 on Friday 9 May 2031 at 20:00")},
		Parameters: []view.Parameter{
			{Name: "date", Value: "2031-05-09"}, {Name: "partySize", Value: "6", Was: "4", Differs: true}, {Name: "time", Value: "20:00"},
			{Name: "venue", Value: "Da Piero"}, {Name: "notes", Value: "<b>bold</b>\u202e and hidden\u200b"},
		},
		Hash:      "5c1e09b74f2a88d061c3aa079be2f4d50d7712ce83ab90f11f6b45aa7e20c9d4",
		Reasons:   []view.Reason{{Name: "Book a table", Capability: "action.reservation.book", Why: "the agent is not autonomous"}},
		ExpiresAt: now.Add(2 * time.Hour), TaskUID: "0197a1b2-0000-7000-8000-000000000002", TaskTitle: "Dinner on Friday",
		TaskStatus: "awaiting_approval", TaskEnds: now.Add(48 * time.Hour),
	}
}

// aHeldProposal is a second version that a grant and the mode hold.
func aHeldProposal() view.ApprovalPage {
	p := anApproval()
	p.Action = "task.propose"
	p.What = view.Sentence{view.Bold("scout"), view.Plain(" proposes version 2 of "), view.Bold("Dinner on Friday"), view.Plain(" to "), view.Bold("juno@ben.example")}
	p.Parameters = []view.Parameter{{Name: "content.fields.dietaryNotes.1", Value: "no peanuts"}, {Name: "type", Value: "task.propose"}}
	p.Terms = view.HeldTerms{
		Of:   "What version 2 says",
		Rows: []view.Parameter{{Name: "Dietary notes · 1", Value: "no peanuts", Asked: true}, {Name: "Time", Value: "20:00"}}, Version: 2,
		Changes: []view.Change{{Label: "Time", Kind: view.Changed, Was: "19:30", Now: "20:00"}, {Label: "Dietary notes · 1", Kind: view.Added, Now: "no peanuts"}},
	}
	p.Reasons = []view.Reason{
		{
			Name: "Share dietary needs", Capability: "disclose.dietary", Why: "a grant says to ask you", GrantURL: "/agents/1/grants?contact=juno%40ben.example",
			Grant: view.Sentence{view.Plain("ask "), view.Bold("disclose.*"), view.Plain(" for "), view.Bold("juno@ben.example")},
		},
		{Name: "Make a proposal", Capability: "task.propose", Why: "the agent is in manual mode: everything waits for you"},
	}
	return p
}

func TestApproval(t *testing.T) {
	t.Parallel()
	golden(t, "approval-pending", view.Approval(anApproval()))

	warned := anApproval()
	warned.Warnings = []string{`This already ran on Friday 1 May 2026 at 10:00 UTC with the code AL-1234. To run it a second time, type the word "again".`}
	warned.NeedsOverride, warned.NeedsWord, warned.Run = true, true, true
	golden(t, "approval-warned", view.Approval(warned))

	approved := anApproval()
	approved.Pending, approved.Status, approved.DecidedAt = false, "approved", now
	golden(t, "approval-approved", view.Approval(approved))

	used := anApproval()
	used.Pending, used.Status, used.Meaning, used.DecidedAt, used.Note = false, "consumed", view.OK, now, "go ahead"
	used.Came = view.Came{Meaning: view.OK, Word: "done", Why: "It was carried out and checked.", Code: "AL-N1KB4A6T", ReceiptURL: "/approvals/1/receipt"}
	golden(t, "approval-used", view.Approval(used))

	chat := anApproval()
	chat.What, chat.Parameters = view.Sentence{view.Bold("scout"), view.Plain(" writes to "), view.Bold("juno@ben.example")}, nil
	chat.Text = "Hello,\n\n\n\n\ndoes Friday suit you?\n" + hostile
	golden(t, "approval-message", view.Approval(chat))
	golden(t, "approval-proposal", view.Approval(aHeldProposal()))

	sent := aHeldProposal()
	sent.Pending, sent.Status, sent.Meaning, sent.DecidedAt = false, "consumed", view.OK, now
	sent.Came = view.Came{Meaning: view.No, Word: "Failed", Why: "the task had moved on to another version", URL: "/messages/1", URLName: "The thread"}
	golden(t, "approval-failed", view.Approval(sent))

	damaged := anApproval()
	damaged.Pending, damaged.Damaged, damaged.What, damaged.Parameters = false, true, nil, nil
	golden(t, "approval-damaged", view.Approval(damaged))
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	row := view.ApprovalRow{
		Ask:    view.Ask{URL: "/approvals/1", What: view.Sentence{view.Bold("scout"), view.Plain(" writes to "), view.Bold("juno@ben.example")}, Why: "message.send: a grant says to ask you", ExpiresAt: now.Add(time.Minute)},
		Status: "expired", Meaning: view.Ended, At: now,
	}
	golden(t, "approvals-waiting", view.Approvals(view.ApprovalsPage{Frame: frame("Approvals", "/approvals"), Status: "pending", Rows: []view.ApprovalRow{row}, Older: "/approvals?at=1&id=2"}))
	golden(t, "approvals-expired", view.Approvals(view.ApprovalsPage{Frame: frame("Approvals", "/approvals"), Status: "expired", Rows: []view.ApprovalRow{row}}))
	row.Status, row.Meaning = "consumed", view.OK
	row.Came = view.Came{Meaning: view.OK, Word: "done", Why: "It was carried out and checked.", Code: "AL-N1KB4A6T", ReceiptURL: "/approvals/1/receipt"}
	golden(t, "approvals-used", view.Approvals(view.ApprovalsPage{Frame: frame("Approvals", "/approvals"), Status: "consumed", Rows: []view.ApprovalRow{row}}))
	golden(t, "approvals-none", view.Approvals(view.ApprovalsPage{Frame: frame("Approvals", "/approvals"), Status: "pending"}))
}
