package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// namedTest matches the name of a test or fuzz target, either in backquotes or as the text of a
// link to its file.
var namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`|\\[((?:Test|Fuzz)[A-Z]\\w*)\\]\\(([^)]*)\\)")

func testsOf(source string) []string {
	return names(source, regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`))
}

// If a page links the name of a test to a file, the file must have this test.
func TestPagesNameExistingTests(t *testing.T) {
	var there []string
	for _, f := range files(t) {
		if f.test {
			there = append(there, testsOf(source(t, f.path))...)
		}
	}
	for page, text := range pages(t) {
		for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
			if m[1] != "" && !slices.Contains(there, m[1]) {
				t.Errorf("%s: there is no %s", filepath.Base(page), m[1])
			}
			if m[2] == "" {
				continue
			}
			source, err := os.ReadFile(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[3])))
			if err != nil || !slices.Contains(testsOf(string(source)), m[2]) {
				t.Errorf("%s: %s has no %s: %v", filepath.Base(page), m[3], m[2], err)
			}
		}
	}
}

// A block is the smallest part of a page that must name a test: a paragraph, a list item, or a
// table row. A table that shows a layout or metrics belongs to the paragraph before it.
type block struct{ heading, text string }

// layout matches the first line of a table that shows a layout or metrics.
var layout = regexp.MustCompile(`^\| (bytes|word|domain|metric of the coordinator|metric of a client) \|`)

// blocksOf divides a page into paragraphs, list items and table rows. It leaves out HTML comments,
// and text that is indented by four spaces, such as commands.
func blocksOf(page string) (all []block) {
	heading, afterProse := "", false
	add := func(text string) { all = append(all, block{heading, text}) }
	for _, chunk := range strings.Split(page, "\n\n") {
		chunk = strings.Trim(chunk, "\n")
		switch {
		case chunk == "" || strings.HasPrefix(chunk, "    ") || strings.HasPrefix(chunk, "<!--"):
		case strings.HasPrefix(chunk, "#"):
			heading, afterProse = strings.TrimLeft(chunk, "# "), false
		case strings.HasPrefix(chunk, "|") && afterProse && layout.MatchString(chunk):
			all[len(all)-1].text += "\n" + chunk
			afterProse = false
		case strings.HasPrefix(chunk, "|"):
			for _, row := range strings.Split(chunk, "\n")[2:] { // skip the table header
				add(row)
			}
			afterProse = false
		default:
			for _, part := range strings.Split(strings.TrimPrefix(chunk, "- "), "\n- ") {
				add(part)
			}
			afterProse = true
		}
	}
	return all
}

// unproved returns an error for each block of a page that names no test, unless it begins with one
// of the exceptions. It also returns an error for each exception that does not match exactly one
// such block.
func unproved(page string, exceptions map[string]string) (errs []error) {
	used := map[string]int{}
	for _, b := range blocksOf(page) {
		if namedTest.MatchString(b.text) {
			continue
		}
		excepted := false
		for beginning := range exceptions {
			if strings.HasPrefix(b.text, beginning) {
				used[beginning]++
				excepted = true
			}
		}
		if !excepted {
			errs = append(errs, fmt.Errorf("%s: no test is named for: %.90s", b.heading, b.text))
		}
	}
	for beginning := range exceptions {
		if used[beginning] != 1 {
			errs = append(errs, fmt.Errorf("the exception %q fits %d blocks without a test", beginning, used[beginning]))
		}
	}
	return errs
}

// promising lists the pages on which every paragraph, list item and table row must name a test. For
// each page it has exceptions, which promise nothing that a test could check: it maps the first
// words of an exception to the reason.
var promising = map[string]map[string]string{
	"docs/prove/identity.md": {
		"This page describes":         "about the page",
		"| identity | Ed25519":        "definition",
		"| connections | Ed25519":     "definition",
		"| sealing | ML-KEM-768":      "definition",
		"| authority | Ed25519":       "definition",
		"The key is the 32-byte seed": "definition; the layout above names the test",
	},
	"docs/prove/threat-model.md": {
		"This page is for the": "about the page",
		"**Noise of others.**": "a limit",
		"**Secure erasure.**":  "a limit",
	},
	"docs/use/operations.md": {
		"This page is for":           "about the page",
		"A data holder with a GPU":   "advice",
		"A client's state directory": "advice; the items below name the tests",
		"**Best: no backup.**":       "advice",
		"`make upgrade FROM=COMMIT`": "a test itself, which builds an earlier commit",
		"See [benchmarks.md]":        "measured there, with the commands",
		"| Is a key lost or stolen?": "refers to tables that name tests",
		"| How are faults reported?": "advice",
		"With Caddy":                 "tried by hand",
	},
}

// The test cannot tell whether the named test fits the promise. This is up to the author of the
// promise.
func TestPromisesNameTests(t *testing.T) {
	for page, exceptions := range promising {
		for _, err := range unproved(source(t, page), exceptions) {
			t.Errorf("%s: %v", page, err)
		}
	}
}

func TestPromisesWithoutTestsAreFound(t *testing.T) {
	page := strings.Join([]string{
		"# A page", "", "A paragraph (`TestA`)", "of two lines.", "", "A definition.", "", "It is refused.", "",
		"- One item (`FuzzB`).", "- Another item,", "  of two lines.", "",
		"| a | b |", "|---|---|", "| 1 | `TestC` |", "| 2 | `Testing` |", "",
		"A layout ([TestD](d_test.go)):", "", "| bytes | field |", "|---|---|", "| 4 | magic |", "",
		"Another:", "", "| word | content |", "|---|---|", "| 1 | kind |", "", "    a command", "<!-- a comment -->",
	}, "\n")
	var got []string
	for _, err := range unproved(page, map[string]string{"A definition": "", "A para": "", "Nothing": ""}) {
		got = append(got, err.Error())
	}
	slices.Sort(got)
	want := []string{
		"A page: no test is named for: Another item,\n  of two lines.",
		"A page: no test is named for: Another:\n| word | content |\n|---|---|\n| 1 | kind |",
		"A page: no test is named for: It is refused.",
		"A page: no test is named for: | 2 | `Testing` |",
		`the exception "A para" fits 0 blocks without a test`,
		`the exception "Nothing" fits 0 blocks without a test`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestIdentityHasTheDomains(t *testing.T) {
	page := section(t, source(t, "docs/prove/identity.md"), "Signatures")
	table := page[strings.Index(page, "\n| `fedpvi/v1/"):strings.Index(page, "\n\n**Envelope**")]
	var said, are []string
	for _, row := range strings.Split(strings.TrimSpace(table), "\n") {
		for _, name := range names(strings.Split(row, "|")[1], regexp.MustCompile("`([a-z0-9/-]+)`")) {
			said = append(said, strings.TrimPrefix(name, "fedpvi/v1/"))
		}
	}
	domain := regexp.MustCompile(`identity\.Domain\s*= "fedpvi/v1/([a-z-]+)"`)
	for _, f := range files(t) {
		if !f.test {
			are = append(are, names(source(t, f.path), domain)...)
		}
	}
	same(t, "domains", said, are)
}
