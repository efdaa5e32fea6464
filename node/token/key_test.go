package token

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"testing"

	"agentlink/node"
	"agentlink/node/nodetest/vector"
)

// lowOrder are all encodings of points of low order that decoders are known to
// take: eight points, and six other ways to write four of them.
var lowOrder = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

func TestParseKeyRefusesLowOrder(t *testing.T) {
	t.Parallel()
	if len(lowOrder) != 14 {
		t.Fatalf("%d encodings", len(lowOrder))
	}
	for _, text := range lowOrder {
		if key, err := ParseKey(unhex(t, text)); node.CodeOf(err) != node.BadRequest || key != nil {
			t.Errorf("%s: %x, %v", text, key, err)
		}
	}
	// Why it matters: under the first of them one signature fits every message.
	signature := make([]byte, ed25519.SignatureSize)
	signature[0] = 1
	if !ed25519.Verify(unhex(t, lowOrder[0]), []byte("anything"), signature) || !ed25519.Verify(unhex(t, lowOrder[0]), []byte("at all"), signature) {
		t.Error("the library refuses it by itself: this test proves nothing")
	}
}

func TestParseKeyRefusesOtherBytes(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey(public)
	if err != nil || !bytes.Equal(key, public) {
		t.Fatalf("an honest key: %v", err)
	}
	public[0] ^= 1
	if bytes.Equal(key, public) {
		t.Error("the key shares memory with what was read")
	}
	for name, raw := range map[string][]byte{
		"nothing": nil, "short": public[:31], "long": append(bytes.Clone(public), 0), "private": private,
		"no point":  unhex(t, "0200000000000000000000000000000000000000000000000000000000000000"),
		"too large": unhex(t, "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
	} {
		if _, err := ParseKey(raw); node.CodeOf(err) != node.BadRequest || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	// From RFC 8032, 7.1, test 1; the hash was computed with another program.
	key := unhex(t, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	fingerprint := Fingerprint(key)
	if want := "eh7ddx5bksrgcytl7bkai36se4nxx3klnk7elksyq57pi74xeg4q"; fingerprint != want {
		t.Errorf("%s, want %s", fingerprint, want)
	}
}

// hexBytes are written as hexadecimal in Wycheproof's files.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// Every signature here goes through this method; a key that ParseKey refuses
// counts as a refused signature.
func TestWycheproofEd25519(t *testing.T) {
	t.Parallel()
	var file struct {
		TestGroups []struct {
			PublicKey struct{ PK hexBytes }
			Tests     []struct {
				TcID     int
				Msg, Sig hexBytes
				Result   string
			}
		}
	}
	vector.JSON(t, "wycheproof/ed25519_test.json", &file)
	count := 0
	for _, group := range file.TestGroups {
		key, keyErr := ParseKey(group.PublicKey.PK)
		for _, test := range group.Tests {
			count++
			good := keyErr == nil && method.Verify(string(test.Msg), test.Sig, key) == nil
			if good != (test.Result == "valid") {
				t.Errorf("test %d is %s: %v, %v", test.TcID, test.Result, good, keyErr)
			}
		}
	}
	if count < 151 {
		t.Errorf("%d tests", count)
	}
}

// Wycheproof has no JWS with EdDSA: all of its JWS, valid ones too, are signed
// with something that has no place here, and all are refused as every kind, with
// whatever key.
func TestWycheproofJWS(t *testing.T) {
	t.Parallel()
	var file struct {
		TestGroups []struct {
			Tests []struct {
				TcID int
				JWS  string
			}
		}
	}
	vector.JSON(t, "wycheproof/json_web_signature_test.json", &file)
	signer := newSigner(t)
	count := 0
	for _, group := range file.TestGroups {
		for _, test := range group.Tests {
			count++
			for _, kind := range []Kind{Access, Envelope, Ack, Receipt, Card, "", "JWT"} {
				var claims any
				if err := Open(kind, signer.PublicKey(), test.JWS, &claims); err == nil || claims != nil {
					t.Errorf("test %d is taken as %q", test.TcID, kind)
				}
				if err := Peek(kind, test.JWS, &claims); err == nil || claims != nil {
					t.Errorf("test %d is looked into as %q", test.TcID, kind)
				}
			}
		}
	}
	if count < 401 {
		t.Errorf("%d tests", count)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func newSigner(t testing.TB) *Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return NewSigner(private)
}
