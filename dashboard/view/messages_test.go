package view_test

import (
	"strings"
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	golden(t, "messages", view.Messages(view.MessagesPage{
		Frame: frame("Messages", "/messages"),
		Threads: []view.ThreadRow{
			{URL: "/messages/1", Contact: "juno@ben.example", Agent: "scout", From: "juno@ben.example", Text: "Does Friday suit you? " + hostile, At: now.Add(-time.Hour)},
			{URL: "/messages/2", Contact: "kay@kay.example", Agent: "scout", From: "You", Text: strings.Repeat("long ", 40), Meaning: view.No, Word: "Failed", At: now.Add(-2 * time.Hour)},
		},
		Older: "/messages?at=1&id=2",
	}))
	golden(t, "messages-none", view.Messages(view.MessagesPage{Frame: frame("Messages", "/messages")}))
	golden(t, "messages-failed", view.Messages(view.MessagesPage{
		Frame: frame("Messages", "/messages"), Status: "failed",
		Unsent: []view.UnsentRow{{
			URL: "/messages/2", What: view.Sentence{view.Bold("scout"), view.Plain(" writes to "), view.Bold("kay@kay.example"), view.Plain(" – "), view.Bold("Are you there?")},
			Why: "its time was over before it arrived", At: now.Add(-2 * time.Hour),
		}},
	}))
	golden(t, "messages-none-held", view.Messages(view.MessagesPage{Frame: frame("Messages", "/messages"), Status: "pending_approval"}))
}

func aThread() view.ThreadPage {
	return view.ThreadPage{
		Frame: frame("Messages", "/messages"), ID: "1", Contact: "juno@ben.example", Agent: "scout", ContactURL: "/contacts/1",
		Meaning: view.OK, Word: "Connected", Open: true, Older: "/messages/1?at=1&id=2",
		Items: []view.ThreadItem{
			{From: "juno@ben.example", What: view.Sentence{view.Plain("asked to connect")}, Quote: "We met at the fair.", At: now.Add(-72 * time.Hour)},
			{From: "juno@ben.example", Text: "Hello,\n\n\n\n\n\ndoes Friday suit you?\n" + hostile, At: now.Add(-5 * time.Hour)},
			{From: "juno@ben.example", ByOwner: true, Text: "This is Ben himself.", At: now.Add(-4 * time.Hour)},
			{
				Ours: true, From: "scout", What: view.Sentence{view.Plain("started "), view.Bold("Dinner " + hostile), view.Plain(" with a first proposal")},
				Meaning: view.OK, Word: "Delivered", URL: "/tasks/t", URLName: "Task", At: now.Add(-3 * time.Hour),
			},
			{Ours: true, From: "scout", Text: "Shall I book?", Meaning: view.Waits, Word: "Waits for you", URL: "/approvals/p", URLName: "Decide", At: now.Add(-2 * time.Hour)},
			{Ours: true, From: "You", Text: "Friday it is.", Meaning: view.No, Word: "Failed", Why: "its time was over before it arrived", At: now.Add(-time.Hour)},
			{Ours: true, From: "You", Text: "Friday!", Meaning: view.Neutral, Word: "On its way", At: now},
		},
	}
}

func TestThread(t *testing.T) {
	t.Parallel()
	golden(t, "thread", view.Thread(aThread()))

	again := aThread()
	again.Items, again.Older, again.Text = nil, "", "typed\n<b>"
	again.Frame.Problem = "The connection is not active."
	golden(t, "thread-again", view.Thread(again))

	closed := aThread()
	closed.Open, closed.Meaning, closed.Word = false, view.Ended, "Ended"
	closed.Earlier = []view.ContactRow{{URL: "/messages/2", Contact: "juno@ben.example", Agent: "scout", Meaning: view.OK, Word: "Connected", Why: "known since", At: now}}
	golden(t, "thread-closed", view.Thread(closed))
}
