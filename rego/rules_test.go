package rego_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/util"
)

const rulesFolder = "."

// TestRego runs the tests that stand beside the rules, compiled strictly.
func TestRego(t *testing.T) {
	t.Parallel()
	results := runRegoTests(t, parseFolder(t, rulesFolder))
	if len(results) == 0 {
		t.Fatal("no Rego test ran")
	}
	for _, result := range results {
		if result.Error != nil || !result.Pass() {
			t.Errorf("%s: %s.%s: %v", result.Location, result.Package, result.Name, result.Error)
		}
	}
	t.Logf("%d Rego tests", len(results))
}

// TestRegoRulesAreDescribed keeps the rules readable: each file says what it is
// about.
func TestRegoRulesAreDescribed(t *testing.T) {
	t.Parallel()
	for path, module := range parseFolder(t, rulesFolder) {
		if strings.HasSuffix(path, "_test.rego") {
			continue
		}
		described := false
		for _, annotation := range module.Annotations {
			described = described || annotation.Scope == "package" && annotation.Title != "" && annotation.Description != ""
		}
		if !described {
			t.Errorf("%s: the package has no METADATA with title and description", path)
		}
	}
}

func parseFolder(t *testing.T, folder string) map[string]*ast.Module {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.rego"))
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]*ast.Module{}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		module, err := ast.ParseModuleWithOpts(path, string(source), ast.ParserOptions{ProcessAnnotation: true})
		if err != nil {
			t.Fatal(err)
		}
		modules[path] = module
	}
	return modules
}

func runRegoTests(t *testing.T, modules map[string]*ast.Module) []*tester.Result {
	t.Helper()
	ctx := context.Background()
	var data map[string]any
	table, err := os.ReadFile(filepath.Join(rulesFolder, "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := util.UnmarshalJSON(table, &data); err != nil {
		t.Fatal(err)
	}
	store := inmem.NewFromObject(data)
	txn, err := store.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(ctx, txn)
	channel, err := tester.NewRunner().
		SetCompiler(ast.NewCompiler().WithStrict(true)).
		SetStore(store).
		RaiseBuiltinErrors(true).
		SetModules(modules).
		RunTests(ctx, txn)
	if err != nil {
		t.Fatal(err)
	}
	var results []*tester.Result
	for result := range channel {
		results = append(results, result)
	}
	return results
}
