package docs

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formatting are the functions whose format begins at an argument.
var formatting = map[string]int{
	"fmt.Sprintf": 0, "fmt.Errorf": 0, "fmt.Printf": 0, "fmt.Fprintf": 1, "fmt.Sscanf": 1, "node.Errorf": 1, "regexp.MustCompile": 0, "regexp.Compile": 0,
}

// TestFormatsAreConstant: no format is made of what others say.
func TestFormatsAreConstant(t *testing.T) {
	t.Parallel()
	checkConstant(t, 200, func(name string) bool { return !strings.HasPrefix(name, "regexp.") })
}

// TestExpressionsAreConstant: no regular expression is made of what others say, but
// for names within, which are quoted.
func TestExpressionsAreConstant(t *testing.T) {
	t.Parallel()
	checkConstant(t, 10, func(name string) bool { return strings.HasPrefix(name, "regexp.") })
}

func checkConstant(t *testing.T, least int, wanted func(name string) bool) {
	t.Helper()
	calls := 0
	eachProductFile(t, 0, func(folder string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := called(call)
			at, known := formatting[name]
			if !known || !wanted(name) || len(call.Args) <= at {
				return true
			}
			calls++
			if !constant(call.Args[at]) && !passesOn(file, call) {
				t.Errorf("%s: a format of %s is not constant", folder, name)
			}
			return true
		})
	})
	if calls < least {
		t.Errorf("%d calls only", calls)
	}
}

// called names a function of another package, as package.Name.
func called(call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	from, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return from.Name + "." + selector.Sel.Name
}

// constant says whether an expression is written in the source: texts, names of
// constants, quoted names within regular expressions.
func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.BinaryExpr:
		return constant(e.X) && constant(e.Y)
	case *ast.Ident:
		return e.Obj != nil && e.Obj.Kind == ast.Con
	case *ast.CallExpr:
		return called(e) == "regexp.QuoteMeta"
	}
	return false
}

// passesOn says whether a call stands in a function that takes a format itself and
// hands it on; its own callers are looked at by go vet.
func passesOn(file *ast.File, call *ast.CallExpr) bool {
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || call.Pos() < f.Pos() || call.End() > f.End() {
			continue
		}
		for _, field := range f.Type.Params.List {
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				return true
			}
		}
	}
	return false
}

// TestLogsHaveOnePlace: the program makes its log in the command line, on standard
// error; no package has one of its own, in a file or on the network.
func TestLogsHaveOnePlace(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	eachProductFile(t, 0, func(folder string, file *ast.File) {
		for _, spec := range file.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); path == "log" || path == "log/syslog" {
				t.Errorf("%s imports %s", folder, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch called(call) {
				case "slog.NewTextHandler", "slog.NewJSONHandler", "slog.SetDefault":
					made[folder] = true
				}
			}
			return true
		})
	})
	if len(made) != 1 || !made["node/cmd/agentlink"] {
		t.Errorf("logs are made in %v", made)
	}
}

// TestTestsStayOutside: nothing that is there for tests is part of the program.
func TestTestsStayOutside(t *testing.T) {
	t.Parallel()
	var only []string // modules that are not in the program
	for _, row := range tableRows(t, "components.md", "| module |") {
		if row[2] == "no" {
			only = append(only, strings.Trim(row[0], "`"))
		}
	}
	if len(only) < 5 {
		t.Fatalf("%d modules are for tests alone", len(only))
	}
	for folder, imports := range productImports(t) {
		for _, path := range imports {
			own, ours := strings.CutPrefix(path, "agentlink/")
			module := slices.ContainsFunc(only, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
			if path == "testing" || module || ours && forTests(own) {
				t.Errorf("%s imports %s", folder, path)
			}
		}
	}
}

// wild are what a script of ours may not do: make code or pages of texts, keep
// anything in the browser, talk to other windows, keep people from pasting, set
// properties whose names come from outside.
var wild = regexp.MustCompile(`\beval\b|\bFunction\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write|localStorage|sessionStorage|indexedDB|document\.cookie|` +
	`postMessage|"message"|serviceWorker|"paste"|__proto__|Object\.assign|\.prototype`)

// TestOwnScriptsAreTame: the scripts of the pages touch texts and attributes alone;
// and no page asks htmx, which could, to keep its history or to run code.
func TestOwnScriptsAreTame(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app.js", "passkey.js"} {
		content, err := os.ReadFile(filepath.Join(root, "dashboard", "view", "static", name))
		if err != nil {
			t.Fatal(err)
		}
		if found := wild.FindString(string(content)); found != "" {
			t.Errorf("%s has %s", name, found)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "dashboard", "view", "*.templ"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	told := false
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`hx-push-url|hx-replace-url|hx-boost="true"|hx-on|hx-vals="?js|onclick=|onpaste=|<script>|templ\.Raw|@templ\.JS`).FindString(string(content)); found != "" {
			t.Errorf("%s has %s", filepath.Base(page), found)
		}
		told = told || strings.Contains(string(content), `"allowEval":false,"selfRequestsOnly":true,"allowScriptTags":false`)
	}
	if !told {
		t.Error("htmx is not told to run no code")
	}
}
