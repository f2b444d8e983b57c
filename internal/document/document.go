// Package document reads TOML files, such as study and sweep files, strictly. For an unknown key, a
// value of the wrong type or a number that is not finite, it reports an error with file, line and
// column. It reports all errors in a file together.
//
// The caller reads keys by name from a [Table], in any order, and then calls [Document.Err].
package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// MaxSize is the maximum size of a document in bytes.
const MaxSize = 1 << 20

const (
	maxKeys  = 10_000
	maxDepth = 16
	maxPath  = 512 // maximum length of a dotted key in bytes
	// maxMarks is the maximum number of characters in a document that begin or separate values. For
	// each of them, the decoder needs up to 240 bytes.
	maxMarks = 1 << 15
)

// An Error is a problem at one place in a document.
type Error struct {
	File    string
	Line    int    // line number from 1; 0 if unknown
	Column  int    // column number from 1
	Key     string // dotted key; empty for a syntax error
	Message string // description of the problem and its remedy
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Message)
	return strings.Map(func(r rune) rune {
		if Hidden(r) && r != '\n' {
			return '?'
		}
		return r
	}, b.String())
}

// Hidden reports whether a character is unsafe to print. Control characters such as ESC, invisible
// characters, and characters that change the direction of text are unsafe, because they could hide
// other text or make it look different. A tab is safe, and so are the joiners that some scripts
// need.
func Hidden(r rune) bool {
	const joiners = "\u200c\u200d"
	if r == '\t' || strings.ContainsRune(joiners, r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

type place struct{ line, column int }

// A Document is a parsed TOML file, together with the problems found so far.
type Document struct {
	file   string
	tree   map[string]any
	places map[string]place
	root   *Table
	errs   []*Error
}

// Parse parses src. Messages call the file file.
func Parse(file string, src []byte) (*Document, error) {
	if len(src) > MaxSize {
		return nil, &Error{File: file, Message: fmt.Sprintf("the file has %d bytes, and at most %d are allowed", len(src), MaxSize)}
	}
	marks := 0
	for _, mark := range []string{",", "=", ".", "[", "{"} {
		marks += bytes.Count(src, []byte(mark))
	}
	if marks > maxMarks {
		return nil, &Error{File: file, Message: fmt.Sprintf("has more than %d keys and values", maxMarks)}
	}
	// findPlaces limits the number of keys in a table, because the decoder takes quadratic time for
	// them
	places, err := findPlaces(src)
	if err != nil {
		return nil, &Error{File: file, Message: err.Error()}
	}
	d := &Document{file: file, tree: map[string]any{}, places: places}
	if err := toml.Unmarshal(src, &d.tree); err != nil {
		var syntax *toml.DecodeError
		if errors.As(err, &syntax) {
			line, column := syntax.Position()
			return nil, &Error{File: file, Line: line, Column: column, Message: "this is not TOML: " + strings.TrimPrefix(syntax.Error(), "toml: ")}
		}
		return nil, &Error{File: file, Message: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	d.root = newTable(d, "", d.tree)
	return d, nil
}

// Root returns the table of the document itself.
func (d *Document) Root() *Table { return d.root }

// Set replaces the value of a dotted key. value is a TOML value, such as "0.1" or `"full"`. Any
// other text is taken as a string, and empty text removes the key. Set must be called before the
// document is read.
func (d *Document) Set(key, value string) error {
	parts := strings.Split(key, ".")
	if slices.Contains(parts, "") {
		return &Error{File: d.file, Key: key, Message: "is not a key: write table.key"}
	}
	table := d.tree
	for _, part := range parts[:len(parts)-1] {
		next, ok := table[part]
		if !ok {
			if value == "" {
				return nil // it is no error to remove a missing key
			}
			next = map[string]any{}
			table[part] = next
		}
		inner, ok := next.(map[string]any)
		if !ok {
			return &Error{File: d.file, Key: key, Message: fmt.Sprintf("%q is not a table", part)}
		}
		table = inner
	}
	last := parts[len(parts)-1]
	if value == "" {
		delete(table, last)
		return nil
	}
	var holder map[string]any
	if err := toml.Unmarshal([]byte("v = "+value), &holder); err != nil || len(holder) != 1 {
		holder = map[string]any{"v": value}
	}
	table[last] = holder["v"]
	return nil
}

// Encode returns the document as TOML. It includes the changes made with [Document.Set], and has
// the keys in alphabetical order.
func (d *Document) Encode() ([]byte, error) { return toml.Marshal(d.tree) }

// maxErrors is the maximum number of problems that Err reports.
const maxErrors = 100

// Err returns the problems, including unknown keys, in the order in which they occur in the file,
// or nil if there are none. If there are more than maxErrors problems, it returns the first
// maxErrors and the number of the others.
func (d *Document) Err() error {
	d.root.reportUnknown()
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	var errs []error
	for _, e := range d.errs[:min(len(d.errs), maxErrors)] {
		errs = append(errs, e)
	}
	if more := len(d.errs) - len(errs); more > 0 {
		errs = append(errs, &Error{File: d.file, Message: fmt.Sprintf("and %d more problems", more)})
	}
	return errors.Join(errs...)
}

func (d *Document) report(key, message string) {
	// A missing key gets the position of the innermost table in the file that should have it.
	p, ok := d.places[key]
	for at := key; !ok && strings.Contains(at, "."); p, ok = d.places[at] {
		at = at[:strings.LastIndexByte(at, '.')]
	}
	d.errs = append(d.errs, &Error{d.file, p.line, p.column, key, message})
}

// found removes the report that key is missing, because a misspelling of it has been reported.
func (d *Document) found(key string) {
	d.errs = slices.DeleteFunc(d.errs, func(e *Error) bool { return e.Key == key && strings.HasPrefix(e.Message, missing) })
}

// findPlaces returns the line and column of each key in a TOML document, by dotted key. Tables in
// an array are numbered from 1, so column.3.bounds is a key of the third [[column]]. It fails if a
// table has too many keys, or if a key is too long or too deeply nested.
func findPlaces(src []byte) (map[string]place, error) {
	places := map[string]place{}
	elements := map[string]int{} // number of tables seen in each array
	keys := map[string]int{}     // number of keys in each table
	var wrong error
	var parser unstable.Parser
	parser.Reset(src)
	lines := []int{0} // offsets of lines, so that the parser need not count lines from the beginning for each key
	for i, b := range src {
		if b == '\n' {
			lines = append(lines, i+1)
		}
	}
	at := func(n *unstable.Node) place {
		offset := int(n.Raw.Offset)
		line := sort.SearchInts(lines, offset+1)
		return place{line, offset - lines[line-1] + 1}
	}
	// mark records where n's key, in the table prefix, occurs. It returns the whole dotted key.
	mark := func(prefix string, n *unstable.Node, array bool) string {
		for it := n.Key(); it.Next() && wrong == nil; {
			table := prefix
			prefix = join(prefix, string(it.Node().Data))
			if len(prefix) > maxPath || strings.Count(prefix, ".") >= maxDepth {
				wrong = fmt.Errorf("line %d: a key is longer than %d bytes, or in more than %d tables", at(it.Node()).line, maxPath, maxDepth)
			}
			last := it.Node().Next() == nil
			if array && last {
				elements[prefix]++
			}
			if _, seen := places[prefix]; !seen {
				places[prefix] = at(it.Node())
				if keys[table]++; keys[table] > maxKeys {
					wrong = fmt.Errorf("a table has more than %d keys", maxKeys)
				}
			}
			if n := elements[prefix]; n > 0 && (array || !last) {
				prefix = fmt.Sprintf("%s.%d", prefix, n)
				if _, seen := places[prefix]; !seen {
					places[prefix] = at(it.Node())
				}
			}
		}
		return prefix
	}
	var inline func(prefix string, n *unstable.Node)
	inline = func(prefix string, n *unstable.Node) {
		if n.Kind != unstable.InlineTable {
			return
		}
		for it := n.Children(); it.Next() && wrong == nil; {
			inline(mark(prefix, it.Node(), false), it.Node().Value())
		}
	}
	prefix := ""
	for wrong == nil && parser.NextExpression() {
		switch n := parser.Expression(); n.Kind {
		case unstable.Table:
			prefix = mark("", n, false)
		case unstable.ArrayTable:
			prefix = mark("", n, true)
		case unstable.KeyValue:
			inline(mark(prefix, n, false), n.Value())
		}
	}
	return places, wrong
}

func join(prefix, key string) string {
	if prefix == "" || key == "" {
		return prefix + key
	}
	return prefix + "." + key
}
