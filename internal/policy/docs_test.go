package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is a link of a page to a file of the repository, with the name in it that the
// page speaks of, if any.
var link = regexp.MustCompile("\\]\\(([^)#:]+)(?:#[^)]*)?\\)(?: `(\\w+)`)?")

// What the pages point at is there: files, and the names in them.
func TestPagesPointAtWhatIsThere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range append(pages, filepath.Join("..", "..", "README.md"), filepath.Join("..", "..", "experiments", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			content, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr == nil && info.IsDir() && m[2] == "" {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
				continue
			}
			if m[2] == "" {
				continue
			}
			named++
			if !regexp.MustCompile(`\b` + m[2] + `\b`).Match(content) {
				t.Errorf("%s: %s has no %s", filepath.Base(page), strings.TrimPrefix(m[1], "../"), m[2])
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d names were looked up: the pattern no longer fits the pages", named)
	}
}
