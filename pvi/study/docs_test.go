package study

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// readers lists the functions and methods that read a key of a study. The key is the first string
// literal among their arguments.
var readers = map[string]bool{
	"Int": true, "Float": true, "Floats": true, "String": true, "Strings": true, "Bool": true, "Choice": true,
	"Table": true, "Tables": true, "List": true, "Value": true, "Require": true, "readShare": true, "needs": true,
}

// readKeys scans the sources of this package. It returns the literal keys in calls to the functions
// in readers. It also returns all string literals, because some keys reach these functions in a
// variable.
func readKeys(t *testing.T) (keys, texts map[string]bool) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	keys, texts = map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if expr, ok := n.(ast.Expr); ok {
				if text, ok := firstText([]ast.Expr{expr}); ok {
					texts[text] = true
				}
			}
			if call, ok := n.(*ast.CallExpr); ok && readers[called(call)] {
				if key, ok := firstText(call.Args); ok {
					keys[key] = true
				}
			}
			return true
		})
	}
	return keys, texts
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func firstText(args []ast.Expr) (string, bool) {
	for _, arg := range args[:min(2, len(args))] {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			return text, err == nil
		}
	}
	return "", false
}

// describedKeys returns the keys that have a heading or a table row in docs/use/study.md.
func describedKeys(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "use", "study.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([a-z_]+)`")
	heading := regexp.MustCompile("^## `\\[+([a-z]+)\\]+`")
	keys, table := map[string]bool{}, false
	for line := range strings.Lines(string(page)) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		switch {
		case heading.MatchString(line):
			keys[heading.FindStringSubmatch(line)[1]] = true
		case !strings.HasPrefix(line, "|"):
			table = false
		case strings.HasPrefix(first, " key"):
			table = true
		case table:
			for _, m := range quoted.FindAllStringSubmatch(first, -1) {
				keys[m[1]] = true
			}
		}
	}
	return keys
}

func TestEveryFamilyIsDescribed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "use", "study.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| family | outcome | distribution |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, f := range Families() {
		if !strings.Contains(table, fmt.Sprintf("`%q`", f)) {
			t.Errorf("docs/use/study.md: %s has no row", f)
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	read, texts := readKeys(t)
	described := describedKeys(t)
	if len(read) < 70 {
		t.Errorf("only %d keys were found in the sources: the pattern no longer fits them", len(read))
	}
	// The page describes these keys in the table rows of the priors they belong to.
	inRows := map[string]bool{"median": true, "factor": true}
	for key := range read {
		if !described[key] && !inRows[key] {
			t.Errorf("docs/use/study.md: %s has no row", key)
		}
	}
	for key := range described {
		if !texts[key] {
			t.Errorf("docs/use/study.md: %s has a row, and is never read", key)
		}
	}
}
