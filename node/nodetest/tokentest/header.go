package tokentest

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
)

func headerMutants(f forge, claims string) []Mutant {
	fp := f.fingerprint()
	headers := map[string]string{
		"alg none": `"alg":"none","kid":"%s","typ":"at+jwt"`, "alg None": `"alg":"None","kid":"%s","typ":"at+jwt"`, "alg empty": `"alg":"","kid":"%s","typ":"at+jwt"`,
		"alg missing": `"kid":"%s","typ":"at+jwt"`, "alg null": `"alg":null,"kid":"%s","typ":"at+jwt"`, "alg number": `"alg":1,"kid":"%s","typ":"at+jwt"`, "alg list": `"alg":["EdDSA"],"kid":"%s","typ":"at+jwt"`,
		"alg eddsa": `"alg":"eddsa","kid":"%s","typ":"at+jwt"`, "alg Ed25519": `"alg":"Ed25519","kid":"%s","typ":"at+jwt"`, "alg with space": `"alg":"EdDSA ","kid":"%s","typ":"at+jwt"`,
		"alg HS256": `"alg":"HS256","kid":"%s","typ":"at+jwt"`, "alg ES256": `"alg":"ES256","kid":"%s","typ":"at+jwt"`, "alg RS256": `"alg":"RS256","kid":"%s","typ":"at+jwt"`, "alg PS256": `"alg":"PS256","kid":"%s","typ":"at+jwt"`,
		"typ missing": `"alg":"EdDSA","kid":"%s"`, "typ JWT": `"alg":"EdDSA","kid":"%s","typ":"JWT"`, "typ empty": `"alg":"EdDSA","kid":"%s","typ":""`, "typ null": `"alg":"EdDSA","kid":"%s","typ":null`,
		"typ upper case": `"alg":"EdDSA","kid":"%s","typ":"AT+JWT"`, "typ long form": `"alg":"EdDSA","kid":"%s","typ":"application/at+jwt"`, "typ of an envelope": `"alg":"EdDSA","kid":"%s","typ":"agentlink-envelope+jwt"`,
		"typ of an ack": `"alg":"EdDSA","kid":"%s","typ":"agentlink-ack+jwt"`, "typ of a receipt": `"alg":"EdDSA","kid":"%s","typ":"agentlink-receipt+jwt"`, "typ of a card": `"alg":"EdDSA","kid":"%s","typ":"agentlink-card+jwt"`,
		"kid upper case": `"alg":"EdDSA","kid":"` + strings.ToUpper(fp) + `","typ":"at+jwt"`, "kid longer": `"alg":"EdDSA","kid":"%sa","typ":"at+jwt"`, "kid a path": `"alg":"EdDSA","kid":"../%s","typ":"at+jwt"`,
		"crit": `"alg":"EdDSA","kid":"%s","typ":"at+jwt","crit":["exp"]`, "crit empty": `"alg":"EdDSA","kid":"%s","typ":"at+jwt","crit":[]`, "b64 false": `"alg":"EdDSA","b64":false,"kid":"%s","typ":"at+jwt"`,
		"jwk": `"alg":"EdDSA","jwk":{"kty":"OKP"},"kid":"%s","typ":"at+jwt"`, "jku": `"alg":"EdDSA","jku":"https://example.org","kid":"%s","typ":"at+jwt"`, "x5u": `"alg":"EdDSA","x5u":"https://example.org","kid":"%s","typ":"at+jwt"`,
		"x5c": `"alg":"EdDSA","x5c":[],"kid":"%s","typ":"at+jwt"`, "cty": `"alg":"EdDSA","cty":"JWT","kid":"%s","typ":"at+jwt"`, "zip": `"alg":"EdDSA","zip":"DEF","kid":"%s","typ":"at+jwt"`, "unknown": `"alg":"EdDSA","kid":"%s","typ":"at+jwt","x":1`,
		"alg twice": `"alg":"none","alg":"EdDSA","kid":"%s","typ":"at+jwt"`, "typ twice": `"alg":"EdDSA","kid":"%s","typ":"at+jwt","typ":"at+jwt"`, "Alg beside alg": `"alg":"EdDSA","Alg":"none","kid":"%s","typ":"at+jwt"`, "Typ": `"alg":"EdDSA","kid":"%s","Typ":"at+jwt"`,
	}
	mutants := []Mutant{
		{"kid missing", f.sign(`{"alg":"EdDSA","typ":"at+jwt"}`, claims)},
		{"kid empty", f.sign(`{"alg":"EdDSA","kid":"","typ":"at+jwt"}`, claims)},
		{"kid of another", f.sign(headerFor(stranger().fingerprint()), claims)},
		{"header empty object", f.sign(`{}`, claims)}, {"header null", f.sign(`null`, claims)}, {"header list", f.sign(`[]`, claims)}, {"header empty", f.sign(``, claims)},
		{"header cut", f.sign(strings.TrimSuffix(f.header(), "}"), claims)},
		{"header with something after", f.sign(f.header()+`{}`, claims)},
		{"header with a byte order mark", f.sign("\ufeff"+f.header(), claims)},
	}
	for name, members := range headers {
		header := "{" + strings.ReplaceAll(members, "%s", fp) + "}"
		mutants = append(mutants, Mutant{name, f.sign(header, claims)})
	}
	return append(mutants, Mutant{"HS256 with the public key", hs256(f, claims)})
}

// hs256 is the classic: the public key as the secret of an HMAC.
func hs256(f forge, claims string) string {
	text := encode(fmt.Appendf(nil, `{"alg":"HS256","kid":%q,"typ":"at+jwt"}`, f.fingerprint())) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, f.public())
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}
