package display_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"agentlink/node/display"
)

func TestTextEscapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Table for 2, 19:30", "Table for 2, 19:30"},
		{"accents and symbols stay", "Zoë's 🍝 café — 寿司", "Zoë's 🍝 café — 寿司"},
		{"line breaks", "a\nb\r\tc", `a\nb\u{000D}\tc`},
		{"terminal escape", "\x1b[2J", `\u{001B}[2J`},
		{"c1 control", "\u009b2J", `\u{009B}2J`},
		{"bidi override", "pay \u202e001\u202c", `pay \u{202E}001\u{202C}`},
		{"bidi isolate", "\u2066x\u2069", `\u{2066}x\u{2069}`},
		{"zero width", "a\u200bb\u200d\ufeff", `a\u{200B}b\u{200D}\u{FEFF}`},
		{"no-break space", "a\u00a0b", `a\u{00A0}b`},
		{"line separator", "a\u2028b\u2029", `a\u{2028}b\u{2029}`},
		{"hangul filler", "\u3164", `\u{3164}`},
		{"braille blank", "\u2800", `\u{2800}`},
		{"variation selector", "a\ufe0f", `a\u{FE0F}`},
		{"tag character", "\U000e0041", `\u{E0041}`},
		{"private use", "\ue000", `\u{E000}`},
		{"unassigned", "\u0378", `\u{0378}`},
		{"backslash", `\u{202E}`, `\\u{202E}`},
		{"bad bytes", "a\xff\xc3", `a\x{FF}\x{C3}`},
		{"replacement character itself", "\ufffd", "\ufffd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := display.Text(c.in); got != c.want {
				t.Errorf("Text(%q) = %s, want %s", c.in, got, c.want)
			}
		})
	}
}

// Every code point of the dangerous classes is escaped, whatever is added to
// the Unicode tables later.
func TestTextLeavesNothingInvisible(t *testing.T) {
	t.Parallel()
	dangerous := []*unicode.RangeTable{
		unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
		unicode.Bidi_Control, unicode.Join_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && unicode.In(r, dangerous...) && strings.ContainsRune(display.Text(string(r)), r) {
			t.Errorf("U+%04X is shown raw", r)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u202eb\\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range display.Text(text) {
			if !display.Visible(r) {
				t.Errorf("U+%04X is shown raw", r)
			}
		}
	})
}

// The value stays the same, and nothing of it is invisible.
func TestJSON(t *testing.T) {
	t.Parallel()
	text := "Zoë \u202e001 \u200b\u2028 \U000e0041 \ue000 \\ \"\n\t\x1b"
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	shown := display.JSON(raw)
	for _, r := range string(shown) {
		if !display.Visible(r) {
			t.Errorf("U+%04X is shown raw", r)
		}
	}
	var back map[string]string
	if err := json.Unmarshal(shown, &back); err != nil || back["text"] != text {
		t.Errorf("%s reads as %q, %v", shown, back["text"], err)
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abcd", "abcde": "abcd e", "abcdefghij": "abcd efgh ij"} {
		if got := display.Grouped(text); got != want {
			t.Errorf("%q is grouped as %q", text, got)
		}
	}
}
