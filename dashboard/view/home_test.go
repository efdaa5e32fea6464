package view_test

import (
	"strings"
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func TestHome(t *testing.T) {
	t.Parallel()
	f := frame("Home", "/")
	busy := view.HomePage{
		Frame: f, More: true,
		Asks: []view.Ask{
			{URL: "/approvals/1", What: view.Sentence{view.Bold("scout"), view.Plain(" will "), view.Bold("book Da Piero for 4 on Friday 9 May 2031 at 20:00")},
				Why: "Book a table: the agent is not autonomous", ExpiresAt: now.Add(130 * time.Minute)},
			{URL: "/contacts/2", What: view.Sentence{view.Bold("juno@ben.exаmple"), view.Plain(" asks to connect with "), view.Bold("scout")},
				Why: "compare the fingerprint before you accept"},
			{URL: "/approvals/3", What: view.Sentence{view.Bold("scout"), view.Plain(" writes to "), view.Bold("juno@ben.example"), view.Plain(" – "), view.Bold(strings.Repeat("long ", 40))},
				Why: "Send a chat message: a grant says to ask you", ExpiresAt: now.Add(20 * time.Hour)},
		},
		Happened: []view.Happening{
			{Meaning: view.OK, Word: "Confirmed", Text: "1 task", URL: "/tasks"},
			{Meaning: view.OK, Word: "Agreed", Text: "1 task", Name: "Dinner " + hostile, URL: "/tasks/t"},
			{Meaning: view.No, Word: "Failed", Text: "2 messages", URL: "/messages"},
		},
		Health: view.Health{Rows: 51, Undelivered: 3},
	}
	golden(t, "home-busy", view.Home(busy))
	f.Waiting = 0
	golden(t, "home-quiet", view.Home(view.HomePage{Frame: f, Health: view.Health{Rows: 4}}))
	golden(t, "home-restored", view.Home(view.HomePage{
		Frame: f, Health: view.Health{Rows: 4}, Restored: view.Restored{At: now.Add(-time.Hour), BackupFrom: now.Add(-25 * time.Hour)},
	}))
	golden(t, "more", view.More(frame("More", "/more")))
	golden(t, "failed", view.Failed("There is no such page.", "", false))
	golden(t, "failed-internal", view.Failed("Something went wrong inside the node.", "0197-req", true))
}
