package seal

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	agetest "c2sp.org/CCTV/age"
	"filippo.io/age"

	"agentlink/node/nodetest/vector"
)

// ageVector is one file of age's testkit (https://c2sp.org/CCTV/age).
type ageVector struct {
	expect      string
	payloadHash string
	identities  anyOf
	armored     bool
	file        []byte
}

// anyOf is several identities as one.
type anyOf []age.Identity

func (a anyOf) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, identity := range a {
		fileKey, err := identity.Unwrap(stanzas)
		if !errors.Is(err, age.ErrIncorrectIdentity) {
			return fileKey, err
		}
	}
	return nil, age.ErrIncorrectIdentity
}

func parseAgeVector(t *testing.T, content []byte) ageVector {
	t.Helper()
	head, file, _ := bytes.Cut(content, []byte("\n\n"))
	v := ageVector{file: file}
	for line := range strings.SplitSeq(string(head), "\n") {
		name, value, _ := strings.Cut(line, ": ")
		var err error
		var identity age.Identity
		switch name {
		case "expect":
			v.expect = value
		case "payload":
			v.payloadHash = value
		case "identity":
			if identity, err = age.ParseX25519Identity(value); err != nil {
				identity, err = age.ParseHybridIdentity(value)
			}
			v.identities = append(v.identities, identity)
		case "passphrase":
			identity, err = age.NewScryptIdentity(value)
			v.identities = append(v.identities, identity)
		case "armored":
			v.armored = true
		case "compressed":
			v.file = inflate(t, v.file)
		case "file key", "comment":
		default:
			t.Fatalf("the vector has an unknown line %q", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func inflate(t *testing.T, data []byte) []byte {
	t.Helper()
	reader, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// The whole testkit, through the function that opens everything here. Armoured
// files are not taken here, whatever they hold.
func TestAgeTestkit(t *testing.T) {
	t.Parallel()
	files, err := fs.ReadDir(agetest.Vectors, ".")
	if err != nil || len(files) < 147 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	opened := 0
	for _, file := range files {
		content, err := fs.ReadFile(agetest.Vectors, file.Name())
		if err != nil {
			t.Fatal(err)
		}
		v := parseAgeVector(t, content)
		got, err := decrypt(v.identities, v.file, 1<<30)
		want := v.expect == "success" && !v.armored
		if (err == nil) != want || (err != nil && (got != nil || !errors.Is(err, ErrNotOpened))) {
			t.Errorf("%s: expects %q, armoured %v: %d bytes, %v", file.Name(), v.expect, v.armored, len(got), err)
		}
		if err != nil {
			continue
		}
		opened++
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != v.payloadHash {
			t.Errorf("%s: opens as something else", file.Name())
		}
	}
	if opened != 19 { // as many as expect success and are not armoured
		t.Errorf("%d files opened", opened)
	}
}

// hexBytes are written as hexadecimal in Wycheproof's files.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

func TestWycheproofHKDF(t *testing.T) {
	t.Parallel()
	var file struct {
		TestGroups []struct {
			Tests []struct {
				TcID                 int
				IKM, Salt, Info, OKM hexBytes
				Size                 int
				Result               string
			}
		}
	}
	vector.JSON(t, "wycheproof/hkdf_sha256_test.json", &file)
	count := 0
	for _, group := range file.TestGroups {
		for _, test := range group.Tests {
			count++
			got, err := derive(test.IKM, test.Salt, string(test.Info), test.Size)
			if valid := test.Result == "valid"; valid != (err == nil) || (valid && !bytes.Equal(got, test.OKM)) {
				t.Errorf("test %d is %s: %x, %v", test.TcID, test.Result, got, err)
			}
		}
	}
	if count < 86 {
		t.Errorf("only %d tests", count)
	}
}

func TestWycheproofHMAC(t *testing.T) {
	t.Parallel()
	var file struct {
		TestGroups []struct {
			TagSize int
			Tests   []struct {
				TcID          int
				Key, Msg, Tag hexBytes
				Result        string
			}
		}
	}
	vector.JSON(t, "wycheproof/hmac_sha256_test.json", &file)
	count := 0
	for _, group := range file.TestGroups {
		for _, test := range group.Tests {
			count++
			got := keyedHash(test.Key, test.Msg)[:group.TagSize/8]
			if valid := test.Result == "valid"; valid != bytes.Equal(got, test.Tag) {
				t.Errorf("test %d is %s: %x, the file has %x", test.TcID, test.Result, got, test.Tag)
			}
		}
	}
	if count < 174 {
		t.Errorf("only %d tests", count)
	}
}
