package dashboard

import (
	"strings"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/owner"
)

func (d *Dashboard) settingsRoutes() []route {
	return []route{
		get("/settings", (*visit).settings),
		get("/settings/passkey", (*visit).passkeyPage).with(fresh), post("/settings/passkey", (*visit).passkeyAdd).with(fresh),
		get("/settings/passkeys/:id", (*visit).passkeyRemovePage).with(fresh), post("/settings/passkeys/:id", (*visit).passkeyRemove).with(fresh),
		get("/settings/password", (*visit).passwordPage).with(fresh), post("/settings/password", (*visit).passwordSet).with(fresh),
		get("/settings/codes", (*visit).codesPage).with(fresh), post("/settings/codes", (*visit).codesMake).with(fresh),
		get("/settings/link", (*visit).linkMakePage).with(fresh), post("/settings/link", (*visit).makeLink).with(fresh),
		get("/settings/key", (*visit).nodeKey).with(fresh), post("/settings/key", (*visit).rotateKey).with(fresh),
		post("/settings/sessions/others", (*visit).endOthers).with(fresh), post("/settings/sessions/:id", (*visit).endSession).with(fresh),
	}
}

// settings shows how the owner signs in, where they are, and what the node is.
func (v *visit) settings() error {
	p := view.SettingsPage{Node: view.NodeFacts{
		Host: v.d.Info.Host, URL: v.d.Info.URL, Fingerprint: v.d.Signer.Fingerprint(),
		DataDir: v.d.Info.DataDir, Database: v.d.Info.Database, Version: v.d.Info.Version,
	}}
	if !v.site().Passkeys() {
		p.NoPasskeys = "Passkeys need https and a name, or this machine as localhost. This address can have none."
	}
	err := v.read(func(tx node.Tx) (err error) {
		if p.Frame, err = v.frame(tx, "Settings", "/settings"); err != nil {
			return err
		}
		if p.Password, err = v.d.Owner.HasPassword(tx); err != nil {
			return err
		}
		codes, err := v.d.Entry.RecoveryCodes(tx)
		if err != nil {
			return err
		}
		p.CodesLeft, p.CodesAt = codes.Left, codes.MadeAt
		if p.Passkeys, err = v.passkeyRows(tx); err != nil {
			return err
		}
		backup, err := v.latest(tx, audit.NodeBackedUp)
		if err != nil {
			return err
		}
		p.BackupAt = backup.At
		p.Sessions, err = v.sessionRows(tx)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Settings(p))
}

func (v *visit) passkeyRows(tx node.Tx) (rows []view.PasskeyRow, err error) {
	passkeys, err := v.d.Entry.Passkeys(tx)
	for _, passkey := range passkeys {
		rows = append(rows, v.passkeyRow(passkey))
	}
	return rows, err
}

func (v *visit) passkeyRow(passkey owner.Passkey) view.PasskeyRow {
	return view.PasskeyRow{
		URL: "/settings/passkeys/" + passkey.ID, Name: passkey.Name, Party: passkey.Party, Here: passkey.Party == v.site().Party(),
		CreatedAt: passkey.CreatedAt, LastUsedAt: passkey.LastUsedAt,
	}
}

// hows say how a session was opened.
var hows = map[owner.How]string{
	owner.HowPasskey: "By passkey", owner.HowPassword: "By password", owner.HowRecovery: "By recovery code",
	owner.HowLink: "By a one-time link", owner.HowSetUp: "At the set-up",
}

func (v *visit) sessionRows(tx node.Tx) (rows []view.SessionRow, err error) {
	sessions, err := v.d.Entry.Sessions(tx)
	for _, s := range sessions {
		rows = append(rows, view.SessionRow{
			URL: "/settings/sessions/" + s.ID, Browser: browserOf(s.UserAgent), IP: s.IP, How: hows[s.How],
			Current: s.ID == v.visitor.SessionID, CreatedAt: s.CreatedAt, SeenAt: s.LastSeenAt,
		})
	}
	return rows, err
}

// browsers are told by these words, and systems by those: the first that occurs.
// What Chrome says of itself names Safari too, so that the order matters.
var browsers, systems = [][2]string{
	{"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Edg", "Edge"}, {"OPR/", "Opera"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
}, [][2]string{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"},
}

// browserOf is short where it knows the words, and all of what a browser says of
// itself where not.
func browserOf(userAgent string) string {
	browser, system := firstOf(browsers, userAgent), firstOf(systems, userAgent)
	switch {
	case userAgent == "":
		return "A browser that says nothing of itself"
	case browser == "" || system == "":
		return userAgent
	}
	return browser + " on " + system
}

func firstOf(words [][2]string, text string) string {
	for _, word := range words {
		if strings.Contains(text, word[0]) {
			return word[1]
		}
	}
	return ""
}

// formFrame reads what stands around a page that is a form and nothing else.
func (v *visit) formFrame(title string) (frame view.Frame, err error) {
	err = v.read(func(tx node.Tx) (err error) {
		frame, err = v.frame(tx, title, "/settings")
		return err
	})
	return frame, err
}
