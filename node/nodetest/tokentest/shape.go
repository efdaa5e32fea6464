package tokentest

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

func shapeMutants(f forge, good string) []Mutant {
	parts := strings.Split(good, ".")
	head, claims, signature := parts[0], parts[1], parts[2]
	raw, _ := encoding.DecodeString(signature) // of ours
	other := stranger()
	join := func(texts ...string) string { return strings.Join(texts, ".") }
	mutants := []Mutant{
		{"nothing", ""}, {"dots", ".."}, {"one part", head}, {"two parts", join(head, claims)}, {"four parts", join(good, signature)}, {"five parts", join(good, "", "")},
		{"no header", join("", claims, signature)}, {"no claims", join(head, "", signature)}, {"no signature", join(head, claims, "")},
		{"dot before", "." + good}, {"dot after", good + "."}, {"space before", " " + good}, {"space after", good + " "}, {"line after", good + "\n"}, {"NUL after", good + "\x00"},
		{"line in the header", join(head[:4]+"\n"+head[4:], claims, signature)}, {"line in the claims", join(head, claims[:4]+"\r\n"+claims[4:], signature)}, {"line in the signature", join(head, claims, signature[:4]+"\n"+signature[4:])},
		{"signed line in the header", f.signText(join(head[:4]+"\n"+head[4:], claims))}, {"signed line in the claims", f.signText(join(head, claims+"\n"))},
		{"padded header", f.signText(join(base64.URLEncoding.EncodeToString([]byte(f.header()+" ")), claims))}, {"padded claims", f.signText(join(head, base64.URLEncoding.EncodeToString([]byte("{}"))))}, {"padded signature", good + "=="},
		{"signature in hexadecimal", join(head, claims, fmt.Sprintf("%x", raw))}, {"signature in standard base64", join(head, claims, base64.StdEncoding.EncodeToString(raw))},
		{"signature with loose bits", join(head, claims, loosen(signature))}, {"signature short", join(head, claims, encode(raw[:63]))}, {"signature long", join(head, claims, encode(append(slices.Clone(raw), 0)))},
		{"signature of zeros", join(head, claims, encode(make([]byte, 64)))}, {"signature with S + L", join(head, claims, encode(addL(raw)))}, {"halves swapped", join(head, claims, encode(append(slices.Clone(raw[32:]), raw[:32]...)))},
		{"signature of the claims only", join(head, claims, encode(ed25519.Sign(f.key, []byte(claims))))}, {"signature of another token", join(head, claims, strings.Split(f.sign(f.header(), "{}"), ".")[2])},
		{"signed by another", other.signText(join(head, claims))}, {"header and claims swapped", f.signText(join(claims, head))},
		{"JSON serialization", fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, head, claims, signature)}, {"Bearer before", "Bearer " + good},
	}
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		mutants = append(mutants, Mutant{fmt.Sprint("signature byte ", i), join(head, claims, encode(changed))})
	}
	return mutants
}

// loosen sets a bit of the last character that belongs to no byte.
func loosen(text string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, text[len(text)-1])
	return text[:len(text)-1] + string(alphabet[last|1])
}

// addL makes the other S that a careless verifier takes.
func addL(signature []byte) []byte {
	l, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := slices.Clone(signature[32:])
	slices.Reverse(s)
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), l)
	out := sum.FillBytes(make([]byte, 32))
	slices.Reverse(out)
	return append(slices.Clone(signature[:32]), out...)
}
