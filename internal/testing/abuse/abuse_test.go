package abuse

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fedpvi/internal/testing/manual"
)

var update = flag.Bool("update", false, "write the lists of docs/prove/threat-model.md")

// Every case must have a test, and the lists on the documentation page must be up to date.
func TestPageMatchesTests(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	shows, err := Scan(os.DirFS(root))
	check(t, err)
	for _, problem := range Check(shows) {
		t.Error(problem)
	}
	manual.Tables(t, filepath.Join(root, "docs", "prove", "threat-model.md"), map[string]string{
		"cases": List(Cases, shows), "advisories": List(Advisories, shows),
	}, *update, "go test ./internal/testing/abuse -update")
}

// Scan must accept a directive only in the doc comment of a test.
func TestScan(t *testing.T) {
	file := func(text string) fstest.MapFS {
		return fstest.MapFS{"p/a_test.go": {Data: []byte("package p\n" + text)}}
	}
	got, err := Scan(file("\n// It holds.\n//\n//abuse:case A01 nothing\n//abuse:case P02  all \nfunc TestX(t *testing.T) {}\n"))
	want := []Show{{"A01", "p/a_test.go", "TestX", "nothing"}, {"P02", "p/a_test.go", "TestX", "all"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	for name, text := range map[string]string{
		"of a helper": "\n//abuse:case A01 nothing\nfunc helper() {}\n",
		"of nothing":  "\n//abuse:case A01 nothing\n\nfunc TestX(t *testing.T) {}\n",
		"of a method": "\n//abuse:case A01 nothing\nfunc (x) TestX(t *testing.T) {}\n",
	} {
		if _, err := Scan(file(text)); err == nil {
			t.Errorf("%s: it counts", name)
		}
	}
	plain := fstest.MapFS{"p/a.go": {Data: []byte("package p\n\n//abuse:case A01 nothing\nfunc TestX() {}\n")}}
	if _, err := Scan(plain); err == nil {
		t.Error("a test outside of the tests counts")
	}
}

func TestCheck(t *testing.T) {
	var all []Show
	for _, c := range slices.Concat(Cases, Advisories) {
		all = append(all, Show{c.ID, "f", "TestX", "refused"})
	}
	if problems := Check(all); len(problems) != 0 {
		t.Errorf("%v", problems)
	}
	for says, shows := range map[string][]Show{
		"no test shows case A01":        all[1:],
		"not to be shown":               append(all[:len(all):len(all)], Show{"A99", "f", "TestX", "refused"}),
		"does not say how case A01 end": append(all[:len(all):len(all)], Show{"A01", "f", "TestX", ""}),
	} {
		if problems := Check(shows); len(problems) != 1 || !strings.Contains(problems[0], says) {
			t.Errorf("%s: %v", says, problems)
		}
	}
}
