package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cryptographic are the beginnings of the import paths of cryptography.
var cryptographic = []string{
	"crypto/", "golang.org/x/crypto/", "filippo.io/", "c2sp.org/", "github.com/golang-jwt/", "github.com/go-webauthn/", "math/rand",
}

// refused may be imported by no code of the product: ciphers and hashes that are
// weak or that nobody needs here, and what runs, builds or parses what others say.
var refused = []string{
	"crypto/md5", "crypto/sha1", "crypto/des", "crypto/rc4", "crypto/dsa", "crypto/rsa", "crypto/elliptic", "golang.org/x/crypto/md4", "golang.org/x/crypto/ripemd160",
	"golang.org/x/crypto/blowfish", "golang.org/x/crypto/bcrypt", "math/rand",
	"os/exec", "plugin", "unsafe", "C", "text/template", "html/template", "encoding/xml", "encoding/gob", "net/smtp", "net/http/pprof", "expvar", "net/http/cgi", "net/rpc",
}

// TestCryptoInventory: the table of crypto.md is what the code imports. Chance that
// can be foreseen spreads retries in two packages and is no cryptography.
func TestCryptoInventory(t *testing.T) {
	t.Parallel()
	want := map[string][]string{}
	for _, row := range tableRows(t, "crypto.md", "| package | imports |") {
		for _, match := range tick.FindAllStringSubmatch(row[1], -1) {
			want[strings.Trim(row[0], "`")] = append(want[strings.Trim(row[0], "`")], match[1])
		}
	}
	got := map[string][]string{}
	for folder, imports := range productImports(t) {
		for _, imported := range imports {
			switch {
			case imported == "math/rand/v2" && (folder == "node/app" || folder == "node/store"):
			case slices.ContainsFunc(cryptographic, func(start string) bool { return strings.HasPrefix(imported, start) }):
				got[folder] = append(got[folder], imported)
			}
		}
	}
	for _, imports := range want {
		slices.Sort(imports)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 10 {
		t.Errorf("crypto.md (-documented +imported):\n%s", diff)
	}
}

// TestWhatIsNotImported: no code of the product runs programs, builds pages out of
// texts, reads XML, reaches around the types, or has weak cryptography.
func TestWhatIsNotImported(t *testing.T) {
	t.Parallel()
	for folder, imports := range productImports(t) {
		for _, imported := range imports {
			if slices.Contains(refused, imported) {
				t.Errorf("%s imports %s", folder, imported)
			}
		}
	}
}

// productImports gives what the packages of the product import, sorted and each
// once, by their folders.
func productImports(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	eachProductFile(t, parser.ImportsOnly, func(folder string, file *ast.File) {
		for _, spec := range file.Imports {
			all[folder] = append(all[folder], strings.Trim(spec.Path.Value, `"`))
		}
	})
	for folder, imports := range all {
		slices.Sort(imports)
		all[folder] = slices.Compact(imports)
	}
	return all
}

// eachProductFile reads the source of the product, with the folder of each file.
// What is there for tests alone is left out.
func eachProductFile(t *testing.T, mode parser.Mode, look func(folder string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		place, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		place = filepath.ToSlash(place)
		switch {
		case entry.IsDir() && forTests(place):
			return filepath.SkipDir
		case entry.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, mode)
		if err == nil {
			look(path.Dir(place), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forTests says whether a folder holds what only tests use, or nothing of ours.
func forTests(folder string) bool {
	for _, part := range strings.Split(folder, "/") {
		if part == "testdata" || part == "node_modules" || (strings.HasPrefix(part, ".") && part != ".") {
			return true
		}
	}
	return slices.Contains([]string{
		"node/nodetest", "node/simulation", "node/durability", "node/bench", "node/hostile", "node/store/storetest", "node/composetest", "dashboard/browsertest",
	}, folder)
}
