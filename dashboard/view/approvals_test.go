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
		Reasons:   []string{"action.reservation.book: the agent is not autonomous"},
		ExpiresAt: now.Add(2 * time.Hour), TaskUID: "0197a1b2-0000-7000-8000-000000000002", TaskTitle: "Dinner on Friday",
		TaskStatus: "awaiting_approval", TaskEnds: now.Add(48 * time.Hour),
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	golden(t, "approval-pending", view.Approval(anApproval()))

	warned := anApproval()
	warned.Warnings = []string{`This already ran on Friday 1 May 2026 at 10:00 UTC with the code AL-1234. To run it a second time, type the word "again".`}
	warned.NeedsOverride, warned.NeedsWord, warned.Run = true, true, true
	golden(t, "approval-warned", view.Approval(warned))

	used := anApproval()
	used.Pending, used.Status, used.Meaning, used.DecidedAt, used.Note = false, "consumed", view.OK, now, "go ahead"
	used.RunOutcome, used.RunCode, used.RunText, used.Receipt = "done", "AL-N1KB4A6T", "It was carried out and checked.", "jws"
	golden(t, "approval-used", view.Approval(used))

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
	golden(t, "approvals-none", view.Approvals(view.ApprovalsPage{Frame: frame("Approvals", "/approvals"), Status: "pending"}))
}
