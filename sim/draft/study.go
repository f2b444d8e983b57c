package draft

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedpvi/pvi/study"
)

// Choices holds the choices of the study's author.
type Choices struct {
	Name    string
	Outcome string // name of the column that the model explains
	// columns that explain the outcome; if empty, the draft uses the other usable columns, but at
	// most maxTerms
	Terms   []string
	Person  string // column that identifies the person of each row; empty if each person has one row
	Clients int    // number of data holders, at least 2
	Epsilon float64
}

// maxTerms is the maximum number of columns in a draft if the author has not chosen any.
const maxTerms = 12

// A Draft is a study file in which the author may still have to make choices.
type Draft struct {
	Text string
	// Open has one sentence per open choice. While there are any, the programs refuse the study.
	Open []string
}

// Study drafts a study. If no choice is open, package study accepts the text of the draft.
func Study(d *Dictionary, c Choices) (*Draft, error) {
	outcome, err := d.column(c.Outcome)
	if err != nil {
		return nil, fmt.Errorf("--outcome: %w", err)
	}
	w := &writer{dictionary: d, told: map[string]bool{}}
	terms, left, err := d.terms(c, outcome)
	if err != nil {
		return nil, err
	}
	w.head(c)
	w.column(outcome, true)
	for _, t := range terms {
		w.column(t, false)
	}
	if len(left) > 0 {
		w.line("# Columns of the dictionary that this draft does not use: %s.", strings.Join(left, ", "))
		w.line("")
	}
	w.model(outcome, terms)
	w.tail(c)
	draft := &Draft{w.b.String(), w.open}
	if len(w.open) == 0 {
		if _, err := study.Parse("draft", []byte(draft.Text)); err != nil {
			return nil, fmt.Errorf("the draft is not a valid study: %w", err)
		}
	}
	return draft, nil
}

// terms returns the columns that explain the outcome, and the names of the columns left over.
func (d *Dictionary) terms(c Choices, outcome *Column) (terms []*Column, left []string, err error) {
	for _, name := range c.Terms {
		t, err := d.column(name)
		if err != nil {
			return nil, nil, fmt.Errorf("--terms: %w", err)
		}
		if t == outcome || slices.Contains(terms, t) {
			return nil, nil, fmt.Errorf("--terms: column %s is the outcome, or is named twice", name)
		}
		terms = append(terms, t)
	}
	for i := range d.Columns {
		t := &d.Columns[i]
		switch {
		case t == outcome || t.Name == c.Person || slices.Contains(terms, t):
		case t.Kind == Unusable:
			left = append(left, fmt.Sprintf("%s (%s)", clean(t.Name), t.Note))
		case len(c.Terms) > 0 || len(terms) == maxTerms:
			left = append(left, clean(t.Name))
		default:
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return nil, nil, errors.New("no column is left that could explain the outcome")
	}
	return terms, left, nil
}

type writer struct {
	dictionary *Dictionary
	b          strings.Builder
	told       map[string]bool // comments that the draft already has
	open       []string
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format+"\n", args...)
}

// key writes a key and its value. It adds the comment only the first time that it occurs in the
// draft.
func (w *writer) key(key, value, comment string) {
	w.line("%s", strings.TrimRight(key+" = "+value+w.comment(comment), " "))
}

// comment formats text for the end of a line. It returns "" if text is empty or the draft already
// has it.
func (w *writer) comment(text string) string {
	if text == "" || w.told[text] {
		return ""
	}
	w.told[text] = true
	return "  # " + text
}

// clean removes line breaks and control characters from text, for a comment in the study file.
func clean(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
}

// quote returns text as a quoted TOML string.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // JSON escapes are valid in TOML
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // every string can be encoded
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

func quotes(texts []string) string {
	var all []string
	for _, t := range texts {
		all = append(all, quote(t))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func (w *writer) head(c Choices) {
	w.line("# Draft of a study, from a %s. Read every comment, change what is wrong for your", w.dictionary.Source)
	w.line("# question, and remove the comments. A comment holds for all later lines of its kind.")
	w.line("#")
	w.line("#   sim explain FILE    the study in plain words")
	w.line("#   sim plan FILE       its cost, and the width of the intervals to expect")
	w.line("#   sim run FILE        the study on made-up records")
	w.line("")
	w.line("[study]")
	w.key("version", strconv.Itoa(study.Version), "")
	w.key("name", quote(c.Name), "")
	w.key("title", quote("Effects on "+clean(c.Outcome)), "")
	w.line("")
	if w.dictionary.Missing != nil || w.dictionary.Separator != "" || c.Person != "" {
		w.line("[table]")
		if w.dictionary.Separator != "" {
			w.key("separator", quote(w.dictionary.Separator), "of the made-up records; a client's own file may differ: client run --separator, --decimal-comma")
		}
		if w.dictionary.Missing != nil {
			w.key("missing", quotes(w.dictionary.Missing), "texts that mean a missing value")
		}
		if c.Person != "" {
			w.key("person", quote(c.Person), "the column that identifies the person of a row; it never leaves a client")
		}
		w.line("")
	}
	if w.dictionary.MadeUp {
		w.line("# Bounds and levels below were read off made-up records. They are public: everybody sees them.")
		w.line("# Never take them from private records. Widen them to all values that a record may have.")
		w.line("")
	}
}

func (w *writer) column(c *Column, outcome bool) {
	if c.Label != "" {
		w.line("# %s", clean(c.Label))
	}
	w.line("[[column]]")
	w.key("name", quote(c.Name), "")
	switch {
	case c.Kind == Choice || c.Kind == Ordered && outcome:
		w.key("type", `"categorical"`, "")
		w.key("levels", quotes(c.Levels), "every value that a record may have; the first is the baseline")
	case c.Kind == Ordered:
		w.key("type", `"ordered"`, "levels have the scores 0, 1, 2, …")
		w.key("levels", quotes(c.Levels), "every value that a record may have, lowest first")
	case c.Kind == Date:
		w.key("type", `"date"`, "a date such as 2020-12-31")
		w.key("since", quote(cmp.Or(c.First, "2000-01-01")), "the value of a date is the number of years from this day")
		w.bounds(c)
	default:
		w.key("type", `"numeric"`, "")
		w.bounds(c)
	}
	for i, label := range c.Labels {
		if label != "" {
			w.line("# %s: %s", clean(c.Levels[i]), clean(label))
		}
	}
	if c.Kind == Number || c.Kind == Whole || c.Kind == Date {
		w.key("outside", `"clamp"`, `a value out of bounds counts as the bound; "drop" leaves the record out`)
	} else {
		w.key("outside", `"drop"`, "a record with another level is left out")
	}
	w.key("missing", `"drop"`, `a record without a value is left out; "impute" replaces it by a public value`)
	w.line("")
}

// bounds writes the bounds of a column. If one of them is missing, the bounds become an open
// choice.
func (w *writer) bounds(c *Column) {
	const comment = "public; the closer they are to the values, the narrower the intervals"
	switch {
	case c.Kind == Date && c.First != "" && c.Last != "":
		w.key("bounds", quotes([]string{c.First, c.Last}), comment)
	case c.Kind == Date:
		w.openBounds(c, "first", "last", "day")
	case c.Low != nil && c.High != nil:
		w.key("bounds", "["+decimal(*c.Low)+", "+decimal(*c.High)+"]", comment)
	default:
		w.openBounds(c, "smallest", "largest", "value")
	}
}

func (w *writer) openBounds(c *Column, low, high, what string) {
	w.open = append(w.open, fmt.Sprintf("column %s: write the %s and the %s %s that a record may have, from public knowledge", clean(c.Name), low, high, what))
	w.line("bounds = []  # write [%s, %s] %s that a record may have, from public knowledge", low, high, what)
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func (w *writer) model(outcome *Column, terms []*Column) {
	w.line("[model]")
	family, comment := `"linear"`, `or "robust", for outcomes with outliers`
	switch {
	case len(outcome.Levels) == 2:
		family, comment = `"logistic"`, `or "probit"`
	case len(outcome.Levels) > 2:
		family, comment = `"softmax"`, "each level but the first has its own coefficients"
	case outcome.Kind == Whole && outcome.Low != nil && *outcome.Low == 0:
		family, comment = `"negative-binomial"`, `for counts; "poisson" if their variance equals their mean; "linear" for other whole numbers`
	}
	w.key("family", family, comment)
	w.key("outcome", quote(outcome.Name), "")
	switch family {
	case `"linear"`:
		w.key("noise_sd", `"learned"`, "")
	case `"logistic"`:
		w.key("positive", quote(outcome.Levels[1]), "the level that counts as 1")
	}
	var names []string
	for _, t := range terms {
		names = append(names, t.Name)
	}
	w.key("terms", quotes(names), `"age:sex" for an interaction`)
	w.line("")
}

func (w *writer) tail(c Choices) {
	w.line("[privacy]")
	if c.Person != "" {
		w.key("unit", `"person"`, "all rows of a person at a client are protected")
		w.key("rows_per_person", "1", "rows of a person that are used; more rows need more noise")
	} else {
		w.key("unit", `"record"`, "one row is protected; if a person may have several rows, name their column with --person")
	}
	w.key("epsilon", float(c.Epsilon), "a smaller number protects more; sim plan shows its meaning")
	w.key("delta", "1e-5", "far below 1 divided by the number of records")
	w.line("")
	w.line("[federation]")
	w.key("min_clients", strconv.Itoa(c.Clients), "fewest data holders with which the study goes on")
	w.key("nominal_records", "2000", "number of records that a data holder has, roughly")
	w.line("")
	w.line("# Only for sim: made-up records, to try the study before any real record is used.")
	w.line("[simulation]")
	w.key("clients", strconv.Itoa(c.Clients), "")
	w.key("synthetic.records_per_client", "2000", "")
}

// float formats a number as a TOML float.
func float(x float64) string {
	text := decimal(x)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
