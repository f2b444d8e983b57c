package document

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Table is a table in a TOML document. Its methods read the value of a key. Their second result
// is false if the key is missing or its value has the wrong type. Only a wrong type is reported as
// a problem.
type Table struct {
	doc    *Document
	key    string
	values map[string]any
	asked  map[string]bool
	inner  []*Table
}

func newTable(d *Document, key string, values map[string]any) *Table {
	return &Table{doc: d, key: key, values: values, asked: map[string]bool{}}
}

// Has reports whether the table has the key.
func (t *Table) Has(key string) bool {
	_, ok := t.values[key]
	return ok
}

// Keys returns the keys of t in alphabetical order.
func (t *Table) Keys() []string { return slices.Sorted(maps.Keys(t.values)) }

// Errorf reports a problem with the value of key, or with t itself if key is empty.
func (t *Table) Errorf(key, format string, args ...any) {
	t.doc.report(join(t.key, key), fmt.Sprintf(format, args...))
}

// missing begins the message for a required key that is missing.
const missing = "is missing: "

// Require reports a problem if key is missing. remedy tells the user how to fix it.
func (t *Table) Require(key, remedy string) {
	t.asked[key] = true
	if !t.Has(key) {
		t.Errorf(key, missing+"%s", remedy)
	}
}

// get converts the value of key. If that fails, it reports that the value must be want.
func get[T any](t *Table, key, want string, convert func(any) (T, bool)) (value T, ok bool) {
	t.asked[key] = true
	raw, ok := t.values[key]
	if !ok {
		return value, false
	}
	value, ok = convert(raw)
	if !ok {
		t.Errorf(key, "must be %s, got %s", want, describe(raw))
	}
	return value, ok
}

func is[T any](v any) (T, bool) {
	x, ok := v.(T)
	return x, ok
}

func asFloat(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	return 0, false
}

func asInt(v any) (int, bool) {
	x, ok := v.(int64)
	return int(x), ok
}

func asList[T any](element func(any) (T, bool)) func(any) ([]T, bool) {
	return func(v any) ([]T, bool) {
		raw, ok := v.([]any)
		if !ok {
			return nil, false
		}
		list := make([]T, len(raw))
		for i, r := range raw {
			if list[i], ok = element(r); !ok {
				return nil, false
			}
		}
		return list, true
	}
}

func describe(v any) string {
	switch x := v.(type) {
	case string:
		return fmt.Sprintf("the text %.40q", x)
	case bool, int64, float64:
		return fmt.Sprintf("%v", x)
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	}
	return "a value of another kind"
}

// String returns the text at key.
func (t *Table) String(key string) (string, bool) {
	return get(t, key, `text in "quotes"`, is[string])
}

// Bool returns the Boolean value at key.
func (t *Table) Bool(key string) (bool, bool) {
	return get(t, key, "true or false", is[bool])
}

// Float returns the number at key, which must be finite.
func (t *Table) Float(key string) (float64, bool) {
	return get(t, key, "a finite number", asFloat)
}

// Int returns the whole number at key.
func (t *Table) Int(key string) (int, bool) {
	return get(t, key, "a whole number", asInt)
}

// Strings returns the list of strings at key.
func (t *Table) Strings(key string) ([]string, bool) {
	return get(t, key, `a list of texts, ["a", "b"]`, asList(is[string]))
}

// Floats returns the list of finite numbers at key.
func (t *Table) Floats(key string) ([]float64, bool) {
	return get(t, key, "a list of finite numbers, [0.0, 1.0]", asList(asFloat))
}

// Value returns the value at key, of any type.
func (t *Table) Value(key string) (any, bool) {
	return get(t, key, "a value", func(v any) (any, bool) { return v, true })
}

// List returns the list of values at key.
func (t *Table) List(key string) ([]any, bool) {
	return get(t, key, "a list", is[[]any])
}

// Choice returns the text at key, which must be one of options.
func (t *Table) Choice(key string, options ...string) (string, bool) {
	s, ok := t.String(key)
	if ok && !slices.Contains(options, s) {
		t.Errorf(key, "%q is unknown%s: use %s", s, DidYouMean(s, options), orList(options))
		return "", false
	}
	return s, ok
}

// Table returns the table at key, or an empty one if the key is missing.
func (t *Table) Table(key string) *Table {
	values, _ := get(t, key, "a table", is[map[string]any])
	inner := newTable(t.doc, join(t.key, key), values)
	t.inner = append(t.inner, inner)
	return inner
}

// Tables returns the elements of the array of tables at key.
func (t *Table) Tables(key string) []*Table {
	values, _ := get(t, key, fmt.Sprintf("a list of tables, each begun by [[%s]]", join(t.key, key)), asList(is[map[string]any]))
	tables := make([]*Table, len(values))
	for i, v := range values {
		tables[i] = newTable(t.doc, fmt.Sprintf("%s.%d", join(t.key, key), i+1), v)
	}
	t.inner = append(t.inner, tables...)
	return tables
}

func (t *Table) reportUnknown() {
	known := slices.Sorted(maps.Keys(t.asked))
	for _, key := range t.Keys() {
		if !t.asked[key] {
			t.Errorf(key, "unknown key%s", DidYouMean(key, known))
			t.doc.found(join(t.key, similar(key, known)))
		}
	}
	for _, inner := range t.inner {
		inner.reportUnknown()
	}
}

// DidYouMean suggests the option that is most similar to got. It returns "" if no option is
// similar.
func DidYouMean(got string, options []string) string {
	if best := similar(got, options); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// similar returns the option that is most similar to got, or "" if no option is similar.
func similar(got string, options []string) (best string) {
	least := 3
	for _, o := range options {
		if d := editDistance(got, o); d < least {
			best, least = o, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance between a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

func orList(options []string) string {
	quoted := make([]string, len(options))
	for i, o := range options {
		quoted[i] = fmt.Sprintf("%q", o)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
