package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"agentlink/node/store/storetest"
)

// TestStore runs the suite on both databases. In memory it is run by
// TestStatementsUseIndexes.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) { storetest.Run(t, open) })
}

// TestSuiteIsWhole: each exported function of storetest that takes a test and
// an opener is a part of the suite.
func TestSuiteIsWhole(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("storetest/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of storetest: %v", err)
	}
	list := storetest.Names()
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if ok && takesOpener(f) && f.Name.Name != "Run" && !slices.Contains(list, f.Name.Name) {
				t.Errorf("%s: %s is missing in the suite's list", file, f.Name.Name)
			}
		}
	}
}

func takesOpener(f *ast.FuncDecl) bool {
	params := f.Type.Params.List
	if f.Recv != nil || !f.Name.IsExported() || len(params) != 2 {
		return false
	}
	if _, ok := params[1].Type.(*ast.FuncType); ok {
		return params[1].Type.(*ast.FuncType).Results != nil
	}
	name, ok := params[1].Type.(*ast.Ident)
	return ok && name.Name == "Opener"
}
