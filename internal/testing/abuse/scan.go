package abuse

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
)

// directive begins the comment line that says which case a test covers.
const directive = "//abuse:case "

// Scan returns the cases that the tests under root cover, in order of file and position. A
// directive outside the comment of a test is an error.
func Scan(root fs.FS) ([]Show, error) {
	var all []Show
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil || !strings.Contains(string(source), "\n"+directive) {
			return err
		}
		found, err := scanFile(name, source)
		all = append(all, found...)
		return err
	})
	return all, err
}

func scanFile(name string, source []byte) ([]Show, error) {
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, name, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var all []Show
	tests := map[*ast.CommentGroup]bool{}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasSuffix(name, "_test.go") || !isTest(f.Name.Name) {
			continue
		}
		tests[f.Doc] = true
		for _, said := range saidIn(f.Doc) {
			id, outcome, _ := strings.Cut(said, " ")
			all = append(all, Show{id, name, f.Name.Name, strings.TrimSpace(outcome)})
		}
	}
	for _, group := range parsed.Comments {
		if !tests[group] && len(saidIn(group)) > 0 {
			return nil, fmt.Errorf("%s: a case that is shown by no test", positions.Position(group.Pos()))
		}
	}
	return all, nil
}

func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")
}

func saidIn(group *ast.CommentGroup) (all []string) {
	if group == nil {
		return nil
	}
	for _, c := range group.List {
		if said, ok := strings.CutPrefix(c.Text, directive); ok {
			all = append(all, said)
		}
	}
	return all
}

// Check describes each problem: a directive with an unknown case or without a result, or a case
// without a test.
func Check(shows []Show) (problems []string) {
	shown := map[string]int{}
	for _, s := range shows {
		shown[s.Case]++
		if s.Outcome == "" {
			problems = append(problems, fmt.Sprintf("%s: %s does not say how case %s ends", s.File, s.Test, s.Case))
		}
		if !slices.ContainsFunc(slices.Concat(Cases, Advisories), func(c Case) bool { return c.ID == s.Case }) {
			problems = append(problems, fmt.Sprintf("%s: %s shows case %q, which is not to be shown", s.File, s.Test, s.Case))
		}
	}
	for _, c := range slices.Concat(Cases, Advisories) {
		if shown[c.ID] == 0 {
			problems = append(problems, "no test shows case "+c.ID+": "+c.Does)
		}
	}
	return problems
}

// List returns a Markdown list of the given cases and the tests that cover them, with links for a
// page in docs.
func List(cases []Case, shows []Show) string {
	var b strings.Builder
	for _, c := range cases {
		b.WriteString("- **" + c.ID + "** " + c.Does)
		if c.Named != "" {
			b.WriteString(" (" + c.Named + ")")
		}
		b.WriteString(":\n")
		for _, s := range shows {
			if s.Case == c.ID {
				fmt.Fprintf(&b, "  - [%s](../../%s): %s\n", s.Test, s.File, s.Outcome)
			}
		}
	}
	return b.String()
}
