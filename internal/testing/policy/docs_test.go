package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// link matches a link from a documentation page to a file in the repository, and the names in
	// backquotes after it, which the file must declare.
	link = regexp.MustCompile("\\]\\(([^)#:]+)(?:#[^)]*)?\\)((?:,? `\\w+`)*)")
	name = regexp.MustCompile(`\w+`)
)

func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, path := range append(paths, filepath.Join(root, "README.md"), filepath.Join(root, "experiments", "README.md")) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[path] = string(content)
	}
	return text
}

// If names follow the link to a file on a page, the file must contain these names.
func TestPageLinksExist(t *testing.T) {
	named := 0
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			content, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr == nil && info.IsDir() && m[2] == "" {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
				continue
			}
			for _, n := range name.FindAllString(m[2], -1) {
				named++
				if !regexp.MustCompile(`(?m)(^func (\([^)]*\) )?|^type |^\s*(var |const )?)` + n + `\b`).Match(content) {
					t.Errorf("%s: %s declares no %s", filepath.Base(page), strings.TrimPrefix(m[1], "../"), n)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d names were looked up: the pattern no longer fits the pages", named)
	}
}
