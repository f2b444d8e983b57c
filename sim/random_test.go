package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// If two purposes had the same name, they would share a stream and could reuse noise.
func TestPurposesDiffer(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "random.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	purposes := map[string]string{} // names of the constants by value
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "purpose") {
			return true
		}
		name, value := spec.Names[0].Name, spec.Values[0].(*ast.BasicLit).Value
		if other, taken := purposes[value]; taken {
			t.Errorf("%s and %s are both %s", other, name, value)
		}
		purposes[value] = name
		return true
	})
	if len(purposes) < 2 {
		t.Errorf("%d purposes were found in random.go", len(purposes))
	}
}
