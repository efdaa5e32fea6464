package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func TestSignInPages(t *testing.T) {
	t.Parallel()
	both := view.SignInPage{Next: "/approvals/1?x=<y>", Passkey: `{"publicKey":{"challenge":"AAAA","rpId":"localhost"}}`, Password: true}
	golden(t, "signin", view.SignIn(both))
	golden(t, "signin-password", view.SignIn(view.SignInPage{Next: "/", Password: true, Problem: "The password is wrong."}))
	golden(t, "signin-nothing", view.SignIn(view.SignInPage{Next: "/"}))
	golden(t, "signin-recovery", view.Recovery(view.SignInPage{Next: "/tasks", Problem: "This is none of your recovery codes, or it was used already."}))
	golden(t, "signin-link", view.SignInLink(view.LinkPage{Action: "/link/secret"}))
	golden(t, "signin-link-over", view.SignInLink(view.LinkPage{Problem: "This link is over. Make a new one."}))
	both.CSRF = "token of the session"
	golden(t, "confirm", view.Confirm(both))
	golden(t, "confirm-nothing", view.Confirm(view.SignInPage{Next: "/settings", CSRF: "token of the session"}))
}

func TestSetUpPages(t *testing.T) {
	t.Parallel()
	golden(t, "setup-not", view.NotSetUp())
	golden(t, "setup-name", view.SetUpName(view.SetUpPage{Action: "/setup/link/secret"}))
	golden(t, "setup-name-again", view.SetUpName(view.SetUpPage{Action: "/setup/link/secret", Name: "Ada\u202e <b>"}))
	golden(t, "setup-name-over", view.SetUpName(view.SetUpPage{Problem: "This link was used already; each works once."}))
	page := view.SetUpPage{
		CSRF: "token of the session", Host: "ada.example", Passkey: `{"publicKey":{"challenge":"AAAA"}}`, PasskeyName: "This device",
	}
	golden(t, "setup-way", view.SetUpWay(page))
	golden(t, "setup-way-password", view.SetUpWay(view.SetUpPage{CSRF: page.CSRF, Problem: "The two passwords are not the same. Type both again."}))
	golden(t, "setup-codes", view.SetUpCodes(page))
	golden(t, "setup-codes-made", view.Codes(view.SetUpPage{Codes: []string{"0123-4567-89ab-cdef", "ghjk-mnpq-rstv-wxyz"}}))
	golden(t, "setup-agent", view.SetUpAgent(page))
}

func TestSettingsPages(t *testing.T) {
	t.Parallel()
	f := frame("Settings", "/settings")
	facts := view.NodeFacts{
		Host: "ada.example", URL: "http://localhost:7410", Fingerprint: "abcdefgh234567abcdefgh23", DataDir: "/home/ada/.local/share/agentlink",
		Database: "sqlite:/home/ada/.local/share/agentlink/node.db", Version: "v1.2.3",
	}
	golden(t, "settings-link", view.OtherDevice(view.OtherDevicePage{Frame: f, URL: "http://localhost:7410", Here: true}))
	golden(t, "settings-link-made", view.OtherDevice(view.OtherDevicePage{
		Frame: f, URL: "https://ada.example", Link: "https://ada.example/link/secret", QR: view.QR{Size: 29, Path: "M4 4h7v1h-7z"}, ExpiresAt: now.Add(15 * time.Minute),
	}))
	key := view.PasskeyRow{URL: "/settings/passkeys/1", Name: "Tele\u202ephone", Party: "localhost", Here: true, CreatedAt: now.Add(-time.Hour)}
	golden(t, "settings", view.Settings(view.SettingsPage{
		Frame: f, Password: true, CodesLeft: 9, CodesAt: now.Add(-time.Hour), Node: facts,
		Passkeys: []view.PasskeyRow{key, {URL: "/settings/passkeys/2", Name: "Key ring", Party: "ada.example", CreatedAt: now, LastUsedAt: now}},
		Sessions: []view.SessionRow{
			{URL: "/settings/sessions/1", Browser: "Firefox on Linux", IP: "127.0.0.1", How: "By passkey", Current: true, CreatedAt: now, SeenAt: now},
			{URL: "/settings/sessions/2", Browser: "<script>alert(1)</script>", IP: "192.0.2.7", How: "By password", CreatedAt: now, SeenAt: now},
		},
	}))
	golden(t, "settings-bare", view.Settings(view.SettingsPage{
		Frame: f, NoPasskeys: "Passkeys need https and a name. This address can have none.", Node: facts,
		Sessions: []view.SessionRow{{URL: "/settings/sessions/1", Browser: "Safari on iPhone", IP: "127.0.0.1", How: "By a one-time link", Current: true, CreatedAt: now, SeenAt: now}},
	}))
	golden(t, "settings-few-codes", view.Settings(view.SettingsPage{Frame: f, Password: true, CodesLeft: 1, CodesAt: now, Node: facts}))
	golden(t, "settings-passkey", view.AddPasskey(view.AddPasskeyPage{Frame: f, Passkey: `{"publicKey":{"challenge":"AAAA"}}`, Name: "This device"}))
	golden(t, "settings-passkey-remove", view.RemovePasskey(view.FormPage{Frame: f, Passkey: key}))
	golden(t, "settings-password", view.ChangePassword(view.FormPage{Frame: f}))
	golden(t, "settings-password-current", view.ChangePassword(view.FormPage{Frame: f, Current: true}))
	golden(t, "settings-codes", view.MakeCodes(view.FormPage{Frame: f, Left: 9}))
	golden(t, "settings-codes-made", view.Codes(view.SetUpPage{Codes: []string{"0123-4567-89ab-cdef-ghjk-mnpq-rst0"}, Settings: true}))
}
