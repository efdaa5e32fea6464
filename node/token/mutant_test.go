package token

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlink/node"
)

// forge signs headers and claims that Signer would never write, with the right
// key: what refuses them is not the signature.
type forge struct {
	signer *Signer
	header string // the right one for an Envelope
}

func newForge(t testing.TB) forge {
	signer := newSigner(t)
	return forge{signer: signer, header: headerFor(Envelope, signer)}
}

func headerFor(kind Kind, signer *Signer) string {
	return fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"typ":%q}`, signer.Fingerprint(), kind)
}

func (f forge) sign(header, claims string) string {
	return f.signText(encode([]byte(header)) + "." + encode([]byte(claims)))
}

func (f forge) signText(text string) string {
	return text + "." + encode(ed25519.Sign(f.signer.key, []byte(text)))
}

// mutant is a token that must not be taken.
type mutant struct{ name, compact string }

const nodeURL = "http://localhost:7410"

func goodClaims(f forge, now time.Time) string {
	return fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":"agent-1","jti":"x","iat":%d,"exp":%d,"gen":1}`,
		nodeURL, f.signer.Fingerprint(), now.Unix(), now.Add(AccessLife).Unix())
}

func headerMutants(t *testing.T, f forge, claims string) []mutant {
	fp := f.signer.Fingerprint()
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
	mutants := []mutant{
		{"kid missing", f.sign(`{"alg":"EdDSA","typ":"at+jwt"}`, claims)},
		{"kid empty", f.sign(`{"alg":"EdDSA","kid":"","typ":"at+jwt"}`, claims)},
		{"kid of another", f.sign(headerFor(Access, newSigner(t)), claims)},
		{"header empty object", f.sign(`{}`, claims)}, {"header null", f.sign(`null`, claims)}, {"header list", f.sign(`[]`, claims)}, {"header empty", f.sign(``, claims)},
		{"header cut", f.sign(strings.TrimSuffix(headerFor(Access, f.signer), "}"), claims)},
		{"header with something after", f.sign(headerFor(Access, f.signer)+`{}`, claims)},
		{"header with a byte order mark", f.sign("\ufeff"+headerFor(Access, f.signer), claims)},
	}
	for name, members := range headers {
		header := "{" + strings.ReplaceAll(members, "%s", fp) + "}"
		mutants = append(mutants, mutant{name, f.sign(header, claims)})
	}
	return append(mutants, mutant{"HS256 with the public key", hs256(f, claims)})
}

// hs256 is the classic: the public key as the secret of an HMAC.
func hs256(f forge, claims string) string {
	text := encode(fmt.Appendf(nil, `{"alg":"HS256","kid":%q,"typ":"at+jwt"}`, f.signer.Fingerprint())) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, f.signer.PublicKey())
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

func shapeMutants(t *testing.T, f forge, good string) []mutant {
	parts := strings.Split(good, ".")
	head, claims, signature := parts[0], parts[1], parts[2]
	raw, _ := decode(signature)
	other := forge{signer: newSigner(t)}
	join := func(texts ...string) string { return strings.Join(texts, ".") }
	mutants := []mutant{
		{"nothing", ""}, {"dots", ".."}, {"one part", head}, {"two parts", join(head, claims)}, {"four parts", join(good, signature)}, {"five parts", join(good, "", "")},
		{"no header", join("", claims, signature)}, {"no claims", join(head, "", signature)}, {"no signature", join(head, claims, "")},
		{"dot before", "." + good}, {"dot after", good + "."}, {"space before", " " + good}, {"space after", good + " "}, {"line after", good + "\n"}, {"NUL after", good + "\x00"},
		{"line in the header", join(head[:4]+"\n"+head[4:], claims, signature)}, {"line in the claims", join(head, claims[:4]+"\r\n"+claims[4:], signature)}, {"line in the signature", join(head, claims, signature[:4]+"\n"+signature[4:])},
		{"signed line in the header", f.signText(join(head[:4]+"\n"+head[4:], claims))}, {"signed line in the claims", f.signText(join(head, claims+"\n"))},
		{"padded header", f.signText(join(base64.URLEncoding.EncodeToString([]byte(headerFor(Access, f.signer)+" ")), claims))}, {"padded claims", f.signText(join(head, base64.URLEncoding.EncodeToString([]byte("{}"))))}, {"padded signature", good + "=="},
		{"signature in hexadecimal", join(head, claims, fmt.Sprintf("%x", raw))}, {"signature in standard base64", join(head, claims, base64.StdEncoding.EncodeToString(raw))},
		{"signature with loose bits", join(head, claims, loosen(signature))}, {"signature short", join(head, claims, encode(raw[:63]))}, {"signature long", join(head, claims, encode(append(slices.Clone(raw), 0)))},
		{"signature of zeros", join(head, claims, encode(make([]byte, 64)))}, {"signature with S + L", join(head, claims, encode(addL(raw)))}, {"halves swapped", join(head, claims, encode(append(slices.Clone(raw[32:]), raw[:32]...)))},
		{"signature of the claims only", join(head, claims, encode(ed25519.Sign(f.signer.key, []byte(claims))))}, {"signature of another token", join(head, claims, strings.Split(f.sign(f.header, "{}"), ".")[2])},
		{"signed by another", other.signText(join(head, claims))}, {"header and claims swapped", f.signText(join(claims, head))},
		{"JSON serialization", fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, head, claims, signature)}, {"Bearer before", "Bearer " + good},
	}
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		mutants = append(mutants, mutant{fmt.Sprint("signature byte ", i), join(head, claims, encode(changed))})
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

func claimMutants(f forge, good string, now time.Time) []mutant {
	header := headerFor(Access, f.signer)
	change := func(old, new string) string {
		changed := strings.Replace(good, old, new, 1)
		if changed == good {
			panic(old)
		}
		return f.sign(header, changed)
	}
	exp, iat := fmt.Sprintf(`"exp":%d`, now.Add(AccessLife).Unix()), fmt.Sprintf(`"iat":%d`, now.Unix())
	at := func(name string, d time.Duration) string { return fmt.Sprintf(`%q:%d`, name, now.Add(d).Unix()) }
	fp := f.signer.Fingerprint()
	return []mutant{
		{"another issuer", change(nodeURL, "http://localhost:7411")}, {"issuer with a slash", change(nodeURL, nodeURL+"/")}, {"no issuer", change(`"iss":"`+nodeURL+`",`, "")},
		{"another audience", change(fp, strings.Repeat("a", 52))}, {"list of audiences", change(`"`+fp+`"`, `["`+fp+`"]`)}, {"no audience", change(`"aud":"`+fp+`",`, "")},
		{"no subject", change(`"sub":"agent-1",`, "")}, {"empty subject", change("agent-1", "")}, {"subject null", change(`"agent-1"`, "null")}, {"subject number", change(`"agent-1"`, "1")}, {"no id", change(`"jti":"x",`, "")},
		{"no exp", change(`,`+exp, "")}, {"exp now", change(exp, at("exp", 0))}, {"exp past", change(exp, at("exp", -time.Second))}, {"exp text", change(exp, `"exp":"9999999999"`)}, {"exp fraction", change(exp, exp+".5")},
		{"exp too far", change(exp, at("exp", AccessLife+time.Second))}, {"exp beyond integers", change(exp, `"exp":1e400`)}, {"exp negative", change(exp, `"exp":-1`)}, {"exp null", change(exp, `"exp":null`)},
		{"iat to come", change(iat, at("iat", accessSkew+time.Second))}, {"no iat", change(iat+",", "")}, {"iat long ago", change(iat, at("iat", -time.Second))},
		{"gen text", change(`"gen":1`, `"gen":"1"`)}, {"gen fraction", change(`"gen":1`, `"gen":1.0`)},
		{"a claim more", change(`"gen":1`, `"gen":1,"scope":"owner"`)}, {"nbf", change(`"gen":1`, `"gen":1,"nbf":0`)}, {"subject twice", change(`"gen":1`, `"gen":1,"sub":"agent-2"`)}, {"Sub beside sub", change(`"gen":1`, `"gen":1,"Sub":"agent-2"`)},
		{"claims list", f.sign(header, "["+good+"]")}, {"claims null", f.sign(header, "null")}, {"claims cut", f.sign(header, good[:len(good)-1])}, {"claims twice", f.sign(header, good+good)},
		{"claims no JSON", f.sign(header, "agent-1")}, {"claims text", f.sign(header, `"agent-1"`)}, {"claims encrypted", f.sign(header, "age-encryption.org/v1")},
	}
}

func TestMutantsOfAccessTokens(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	tokens := NewTokens(f.signer, nodeURL)
	claims := goodClaims(f, now)
	good := f.sign(headerFor(Access, f.signer), claims)
	if _, err := tokens.Check(good, now); err != nil {
		t.Fatalf("the token that all mutants come from: %v", err)
	}
	mutants := slices.Concat(headerMutants(t, f, claims), shapeMutants(t, f, good), claimMutants(f, claims, now))
	if len(mutants) < 60 {
		t.Fatalf("%d mutants", len(mutants))
	}
	for _, m := range mutants {
		got, err := tokens.Check(m.compact, now)
		if node.CodeOf(err) != node.Unauthorized || err == nil || got != (AccessClaims{}) {
			t.Errorf("%s: %+v, %v", m.name, got, err)
		}
	}
}
