package owner

import (
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"agentlink/node"
)

func TestNewPasswordLimits(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"12 letters": "twelve chars", "12 wide characters": strings.Repeat("語", 12), "1,024 bytes": strings.Repeat("a", MaxPasswordBytes),
		"spaces": strings.Repeat(" ", 12), "NUL": strings.Repeat("\x00", 12),
	} {
		if _, err := NewPassword(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if right, err := hashed(text, cheap).matches(text); err != nil || !right {
			t.Errorf("%s: does not match itself, %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "11 letters": "eleven char", "11 wide characters": strings.Repeat("語", 11), "1,025 bytes": strings.Repeat("a", MaxPasswordBytes+1),
	} {
		if _, err := NewPassword(text); node.CodeOf(err) != node.BadRequest {
			t.Errorf("%s: %v", name, err)
		} else if text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error quotes it", name)
		}
	}
}

func TestPasswordMatchesOnlyItself(t *testing.T) {
	t.Parallel()
	password := hashed(rightPassword, cheap)
	for _, wrong := range []string{"", " " + rightPassword, rightPassword + " ", strings.ToUpper(rightPassword), rightPassword[1:], rightPassword + "\n", rightPassword + "\x00", rightPassword + rightPassword} {
		if right, err := password.matches(wrong); err != nil || right {
			t.Errorf("%q matches: %v", wrong, err)
		}
	}
	if right, err := password.matches(rightPassword); err != nil || !right {
		t.Errorf("it does not match itself: %v", err)
	}
}

// What OWASP lists for argon2id, and a salt for each.
func TestPasswordCost(t *testing.T) {
	t.Parallel()
	one, err := NewPassword(rightPassword)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(one.phc, "$argon2id$v=19$m=19456,t=3,p=1$") || strings.Contains(one.phc, "horse") {
		t.Errorf("stored as %s", one.phc)
	}
	two, err := NewPassword(rightPassword)
	if err != nil || one.phc == two.phc {
		t.Errorf("the same password is stored the same way twice: %v", err)
	}
	if right, err := two.matches(rightPassword); err != nil || !right {
		t.Errorf("%v, %v", right, err)
	}
}

// The same text, typed on two keyboards: é as one code point, and as e with an
// accent behind it.
func TestPasswordIgnoresHowAccentsAreWritten(t *testing.T) {
	t.Parallel()
	password := hashed("caf\u00e9 caf\u00e9 caf\u00e9", cheap)
	if right, err := password.matches("cafe\u0301 cafe\u0301 cafe\u0301"); err != nil || !right {
		t.Errorf("%v, %v", right, err)
	}
}

// A password that was stored at another cost still matches.
func TestPasswordKeepsItsCost(t *testing.T) {
	t.Parallel()
	salt := []byte("0123456789abcdef")
	old := cost{memory: 64, passes: 1, threads: 2}
	password := Password{phc: format(old, salt, argon2.IDKey([]byte(rightPassword), salt, 1, 64, 2, hashSize))}
	if right, err := password.matches(rightPassword); err != nil || !right {
		t.Errorf("%v, %v", right, err)
	}
}

func TestPasswordDamaged(t *testing.T) {
	t.Parallel()
	good := format(cost{memory: 64, passes: 1, threads: 1}, []byte("0123456789abcdef"), make([]byte, hashSize))
	if _, err := (Password{phc: good}).matches("x"); err != nil {
		t.Fatal(err)
	}
	for name, phc := range map[string]string{
		"nothing": "", "argon2i": strings.Replace(good, "argon2id", "argon2i", 1), "another version": strings.Replace(good, "v=19", "v=16", 1),
		"memory of the machine": strings.Replace(good, "m=64", "m=4294967295", 1), "a year": strings.Replace(good, "t=1", "t=4294967295", 1), "no pass": strings.Replace(good, "t=1", "t=0", 1),
		"no thread": strings.Replace(good, "p=1", "p=0", 1), "threads": strings.Replace(good, "p=1", "p=255", 1), "order": strings.Replace(good, "m=64,t=1", "t=1,m=64", 1),
		"text after a cost": strings.Replace(good, "p=1", "p=1,x=2", 1), "zeros before a cost": strings.Replace(good, "m=64", "m=064", 1), "field more": good + "$", "no hash": good[:strings.LastIndex(good, "$")+1],
		"hash cut": good[:len(good)-4], "padding": good + "=", "space": good + " ", "short salt": strings.Replace(good, "MDEyMzQ1Njc4OWFiY2RlZg", "MDEy", 1),
	} {
		if phc == good {
			t.Fatalf("%s changes nothing", name)
		}
		if right, err := (Password{phc: phc}).matches("x"); err == nil || right {
			t.Errorf("%s: %v, %v", name, right, err)
		}
	}
}

func BenchmarkPassword(b *testing.B) {
	password, err := NewPassword(rightPassword)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if right, err := password.matches(rightPassword); err != nil || !right {
			b.Fatal(err)
		}
	}
}
