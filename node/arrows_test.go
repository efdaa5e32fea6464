package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module is the path that our packages' import paths begin with.
const module = "agentlink/"

// leaves import at most the kernel and one another, so anyone may import them.
var leaves = []string{
	"node", "node/audit", "node/backup", "node/budget", "node/config", "node/display", "node/hookup", "node/identity", "node/oauth", "node/outbox", "node/owner",
	"node/seal", "node/token", "node/api/problem", "node/api/schema", "migrations", "rego",
}

// arrows says what of ours each package may import beside the leaves. A pattern
// is a path.Match pattern of the package's path without the module. Each
// package has to match a row; the first that does counts.
//
//	node ← policy ← approvals ← coordination ← actions ← {store, doors, delivery, dashboard} ← app ← cmd
var arrows = []struct {
	pattern string
	may     []string
}{
	{"node", nil},
	{"node/audit", nil},
	{"node/backup", nil},
	{"node/budget", nil},
	{"node/config", nil},
	{"node/display", nil},
	{"node/hookup", nil},
	{"node/identity", nil},
	{"node/oauth", nil},
	{"node/outbox", nil},
	{"node/owner", nil},
	{"node/seal", nil},
	{"node/token", nil},
	{"node/api/problem", nil},
	{"node/api/schema", nil},
	{"node/docs", nil},
	{"node/requirement", nil},
	{"migrations", nil},
	{"rego", nil},

	{"policy", nil},
	{"policy/engine", []string{"policy"}},
	{"approvals", []string{"policy"}},
	{"coordination/wire", nil},
	{"coordination", []string{"policy", "approvals", "coordination/wire"}},
	{"coordination/*", []string{"policy", "approvals", "coordination", "coordination/wire"}},
	{"actions/executor/*", []string{"actions"}},
	{"actions", []string{"policy", "approvals", "coordination", "coordination/wire"}},

	{"node/store", domains},
	{"node/store/storetest", append([]string{"node/store"}, domains...)},
	{"node/delivery", domains},
	{"node/api", domains},
	{"node/api/agent", append([]string{"node/api"}, domains...)},
	{"node/api/*", append([]string{"node/api", "node/api/agent"}, domains...)},
	{"dashboard/view", domains},
	{"dashboard/browsertest", nil},
	{"dashboard", append([]string{"node/api", "dashboard/view"}, domains...)},

	{"node/app", everything},
	{"node/demo", append([]string{"node/app", "node/api/socket"}, domains...)},
	{"node/nodetest", everything},
	{"node/nodetest/*", nil},
	{"node/simulation", everything},
	{"node/durability", everything},
	{"node/hostile", everything},
	{"node/bench", everything},
	{"node/cmd/agentlink", append([]string{"node/app", "node/demo", "node/api/mcp", "node/api/socket"}, domains...)},
}

var (
	domains = []string{
		"policy", "approvals", "coordination", "coordination/*", "actions",
	}
	everything = []string{"*", "*/*", "*/*/*", "*/*/*/*"}
)

// forTests may be imported by tests and by one another, never by the product.
var forTests = []string{"node/nodetest", "node/nodetest/*", "node/simulation", "node/durability", "node/hostile", "node/bench", "node/store/storetest"}

// homes names the only packages of ours that may import what others wrote:
// whoever wants what it does goes through them. tests are further packages
// whose tests may.
var homes = []struct {
	imported string // this path and what lies beneath it
	in       []string
	tests    []string
}{
	{"filippo.io/age", []string{"node/seal"}, nil},
	{"github.com/golang-jwt/jwt", []string{"node/token"}, nil},
	{"github.com/open-policy-agent/opa", []string{"policy/engine"}, []string{"rego"}},
	{"github.com/go-webauthn/webauthn", []string{"node/owner"}, nil},
	{"github.com/go-oauth2/oauth2", []string{"node/oauth"}, nil},
	{"github.com/gofiber/fiber", []string{"node/api", "node/api/*", "dashboard", "node/app"}, nil},
	{"github.com/pelletier/go-toml", []string{"node/hookup"}, nil},
	{"github.com/tailscale/hujson", []string{"node/hookup"}, nil},
	{"github.com/modelcontextprotocol/go-sdk", []string{"node/api/mcp"}, []string{"dashboard/browsertest"}},
	{"github.com/valyala/fasthttp", []string{"node/api"}, nil},
	{"database/sql", []string{"node/store", "node/store/storetest"}, []string{"migrations", "node/durability", "node/hostile", "node/nodetest", "node/bench"}},
	{"modernc.org/sqlite", []string{"node/store", "node/store/storetest"}, []string{"migrations", "node/durability", "node/hostile", "node/nodetest", "node/bench"}},
	{"github.com/jackc/pgx", []string{"node/store", "node/store/storetest"}, []string{"migrations", "node/durability", "node/hostile", "node/nodetest", "node/bench"}},
	{"github.com/pressly/goose", []string{"node/store"}, []string{"migrations"}},
	{"github.com/spf13/cobra", []string{"node/cmd/agentlink"}, nil},
	{"github.com/chromedp", nil, []string{"dashboard/browsertest"}},
	{"golang.org/x/net/html", []string{"node/nodetest"}, []string{"dashboard", "dashboard/browsertest"}},
}

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// TestArrows keeps the direction of imports.
func TestArrows(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	for _, violation := range violations(packages) {
		t.Error(violation)
	}
}

// TestArrowsFindViolations plants one violation of each kind.
func TestArrowsFindViolations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		pkg  pkg
		want []string
	}{
		{"back", pkg{ImportPath: "agentlink/policy", Imports: []string{"agentlink/node", "agentlink/approvals"}},
			[]string{"policy may not import approvals"}},
		{"kernel", pkg{ImportPath: "agentlink/node", Imports: []string{"agentlink/policy"}},
			[]string{"node may not import policy"}},
		{"sideways", pkg{ImportPath: "agentlink/node/delivery", Imports: []string{"agentlink/node/store"}},
			[]string{"node/delivery may not import node/store"}},
		{"door into door", pkg{ImportPath: "agentlink/node/api/rest", Imports: []string{"agentlink/node/api", "agentlink/node/api/peer"}},
			[]string{"node/api/rest may not import node/api/peer"}},
		{"a domain into a test package", pkg{ImportPath: "agentlink/node/app", Imports: []string{"agentlink/node/nodetest"}},
			[]string{"node/app imports node/nodetest, which is for tests only"}},
		{"stranger to its home", pkg{ImportPath: "agentlink/approvals", Imports: []string{"filippo.io/age", "github.com/golang-jwt/jwt/v5"}},
			[]string{"approvals may not import filippo.io/age, whose home is node/seal", "approvals may not import github.com/golang-jwt/jwt/v5, whose home is node/token"}},
		{"stranger in a test", pkg{ImportPath: "agentlink/node/store", TestImports: []string{"github.com/open-policy-agent/opa/v1/rego"}},
			[]string{"node/store may not import github.com/open-policy-agent/opa/v1/rego, whose home is policy/engine"}},
		{"unknown package", pkg{ImportPath: "agentlink/util"},
			[]string{"util has no row in the table of arrows"}},
		{"fine", pkg{ImportPath: "agentlink/actions", Imports: []string{"fmt", "agentlink/node", "agentlink/coordination/wire", "agentlink/node/token"}},
			nil},
		{"fine in a test", pkg{ImportPath: "agentlink/policy", XTestImports: []string{"agentlink/node/nodetest", "agentlink/policy/engine"}},
			nil},
		{"a name that only begins alike", pkg{ImportPath: "agentlink/policy", Imports: []string{"filippo.io/ageless"}},
			nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, violations([]pkg{test.pkg})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		from := strings.TrimPrefix(p.ImportPath, module)
		row := slices.IndexFunc(arrows, func(a struct {
			pattern string
			may     []string
		}) bool {
			return matches([]string{a.pattern}, from)
		})
		if row < 0 {
			found = append(found, from+" has no row in the table of arrows")
			continue
		}
		for _, imported := range p.Imports {
			if problem := forbidden(from, imported, arrows[row].may); problem != "" {
				found = append(found, problem)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if home := strayedFrom(from, imported, true); home != "" {
				found = append(found, home)
			}
		}
	}
	return found
}

// forbidden says what is wrong with an import outside tests, or "".
func forbidden(from, imported string, may []string) string {
	to, ours := strings.CutPrefix(imported, module)
	switch {
	case !ours:
		return strayedFrom(from, imported, false)
	case matches(forTests, to) && !matches(forTests, from):
		return fmt.Sprintf("%s imports %s, which is for tests only", from, to)
	case slices.Contains(leaves, to) && from != "node" && (to == "node" || !slices.Contains(leaves, from) || leafMay(from, to)):
		return ""
	case matches(may, to):
		return ""
	}
	return fmt.Sprintf("%s may not import %s", from, to)
}

// leafMay says what a leaf may import beside the kernel.
func leafMay(from, to string) bool {
	switch from {
	case "node/identity", "node/owner", "node/config":
		return slices.Contains([]string{"node/audit", "node/seal", "node/token"}, to)
	}
	return to == "node/audit"
}

// strayedFrom says that an import belongs into another package, or "".
func strayedFrom(from, imported string, inTest bool) string {
	for _, home := range homes {
		if imported != home.imported && !strings.HasPrefix(imported, home.imported+"/") {
			continue
		}
		if !matches(home.in, from) && (!inTest || !matches(home.tests, from)) {
			return fmt.Sprintf("%s may not import %s, whose home is %s", from, imported, strings.Join(home.in, ", "))
		}
	}
	return ""
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	command.Dir = root(t)
	output, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var packages []pkg
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read what go list says: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 10 {
		t.Fatalf("go list names %d packages only", len(packages))
	}
	return packages
}

// TestClockHasOneHome keeps the machine's clock inside package node: everyone
// else is given a node.Clock, so that tests and the simulation own the time.
func TestClockHasOneHome(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || path.Dir(name) == "node" {
			continue
		}
		for _, violation := range readsClock(t, name, nil) {
			t.Error(violation)
		}
	}
}

// TestClockIsFound plants calls to be found, under another name too.
func TestClockIsFound(t *testing.T) {
	t.Parallel()
	source := `package p
import clock "time"
var a, b, c = clock.Now(), clock.Since(x), clock.Second
var f = clock.Until
`
	got := readsClock(t, "planted.go", source)
	want := []string{"planted.go:3: time.Now outside package node", "planted.go:3: time.Since outside package node", "planted.go:4: time.Until outside package node"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// readsClock lists the places of a file that read the machine's clock. source
// nil reads the file of that name beneath the root.
func readsClock(t *testing.T, name string, source any) []string {
	t.Helper()
	where := name
	if source == nil {
		where = filepath.Join(root(t), name)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, where, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	local := localName(file, "time")
	if local == "" {
		return nil
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		base, ok := selector.X.(*ast.Ident)
		if ok && base.Name == local && slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
			found = append(found, fmt.Sprintf("%s:%d: time.%s outside package node", name, files.Position(selector.Pos()).Line, selector.Sel.Name))
		}
		return true
	})
	return found
}

// localName is the name under which a file knows an imported package, or "".
func localName(file *ast.File, imported string) string {
	for _, spec := range file.Imports {
		if strings.Trim(spec.Path.Value, `"`) != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(imported)
	}
	return ""
}
