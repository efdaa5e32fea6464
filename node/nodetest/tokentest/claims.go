package tokentest

import (
	"fmt"
	"strings"
	"time"

	"agentlink/node/token"
)

func (f Forge) claimMutants() []Mutant {
	by, good, now := forge{f.Key}, f.claims(), f.Time
	header := by.header()
	change := func(old, new string) string {
		changed := strings.Replace(good, old, new, 1)
		if changed == good {
			panic(old)
		}
		return by.sign(header, changed)
	}
	exp, iat := fmt.Sprintf(`"exp":%d`, now.Add(token.AccessLife).Unix()), fmt.Sprintf(`"iat":%d`, now.Unix())
	at := func(name string, d time.Duration) string { return fmt.Sprintf(`%q:%d`, name, now.Add(d).Unix()) }
	fp, sub, gen := by.fingerprint(), fmt.Sprintf(`"sub":%q`, f.Sub), fmt.Sprintf(`"gen":%d`, f.Gen)
	return []Mutant{
		{"another issuer", change(f.URL, "http://localhost:7411/elsewhere")}, {"issuer with a slash", change(f.URL, f.URL+"/")}, {"no issuer", change(`"iss":"`+f.URL+`",`, "")},
		{"another audience", change(fp, strings.Repeat("a", 52))}, {"list of audiences", change(`"`+fp+`"`, `["`+fp+`"]`)}, {"no audience", change(`"aud":"`+fp+`",`, "")},
		{"no subject", change(sub+`,`, "")}, {"empty subject", change(sub, `"sub":""`)}, {"subject null", change(sub, `"sub":null`)}, {"subject number", change(sub, `"sub":1`)}, {"no id", change(`"jti":"x",`, "")},
		{"no exp", change(`,`+exp, "")}, {"exp now", change(exp, at("exp", 0))}, {"exp past", change(exp, at("exp", -time.Second))}, {"exp text", change(exp, `"exp":"9999999999"`)}, {"exp fraction", change(exp, exp+".5")},
		{"exp too far", change(exp, at("exp", token.AccessLife+time.Second))}, {"exp beyond integers", change(exp, `"exp":1e400`)}, {"exp negative", change(exp, `"exp":-1`)}, {"exp null", change(exp, `"exp":null`)},
		{"iat to come", change(iat, at("iat", 2*time.Minute))}, {"no iat", change(iat+",", "")}, {"iat long ago", change(iat, at("iat", -time.Second))},
		{"gen text", change(gen, fmt.Sprintf(`"gen":"%d"`, f.Gen))}, {"gen fraction", change(gen, gen+".0")},
		{"a claim more", change(gen, gen+`,"scope":"owner"`)}, {"nbf", change(gen, gen+`,"nbf":0`)}, {"subject twice", change(gen, gen+`,"sub":"agent-2"`)}, {"Sub beside sub", change(gen, gen+`,"Sub":"agent-2"`)},
		{"claims list", by.sign(header, "["+good+"]")}, {"claims null", by.sign(header, "null")}, {"claims cut", by.sign(header, good[:len(good)-1])}, {"claims twice", by.sign(header, good+good)},
		{"claims no JSON", by.sign(header, f.Sub)}, {"claims text", by.sign(header, `"`+f.Sub+`"`)}, {"claims encrypted", by.sign(header, "age-encryption.org/v1")},
	}
}
