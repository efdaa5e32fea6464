// Package display makes text from agents and peers safe to show to the owner.
// Everything that such a text could use to hide, reorder or fake what the
// reader sees is written out visibly; nothing is dropped or cut.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text gives the text with every control, format, bidirectional, private,
// unassigned and invisible character escaped: \n, \t, or \u{202E}. Bytes that
// are no UTF-8 are shown as \x{FF}, and a backslash as \\, so that the form can
// be read back without doubt. The result is one line.
func Text(text string) string {
	if plain(text) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		out.WriteString(escape(r, text[:size]))
		text = text[size:]
	}
	return out.String()
}

// plain is the quick answer for most texts: nothing to escape.
func plain(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

func escape(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x{%02X}`, raw[0])
	case r == '\\':
		return `\\`
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case Visible(r):
		return raw
	}
	return fmt.Sprintf(`\u{%04X}`, r)
}

// Grouped is a fingerprint or hash as people compare it, in groups of four.
func Grouped(hash string) string {
	var groups []string
	for len(hash) > 4 {
		groups = append(groups, hash[:4])
		hash = hash[4:]
	}
	return strings.Join(append(groups, hash), " ")
}

// Visible says whether a character shows itself and nothing else: letters,
// marks, numbers, punctuation, symbols and the plain space, without those that
// Unicode lets a renderer ignore.
func Visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) &&
		!unicode.Is(unicode.Variation_Selector, r) && r != brailleBlank
}

// brailleBlank is a symbol by its category and an empty cell to the eye.
const brailleBlank = '\u2800'

// JSON gives JSON text with the same characters of its strings written as
// \u escapes, so that it reads as the same value and hides nothing either. Line
// breaks and blanks between the values stay.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == '\n' || r == '\\' || (Visible(r) && !(r == utf8.RuneError && size == 1)) {
			out = append(out, text[:size]...)
		} else {
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return out
}
