package draft

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/internal/calendar"
	"fedpvi/internal/table"
)

// Read reads a data dictionary: a Frictionless table schema or data package, a CSVW description of
// a table, or a REDCap data dictionary. If madeUp is true, b is a CSV file of made-up records,
// which give the bounds and levels.
func Read(b []byte, madeUp bool) (*Dictionary, error) {
	var d *Dictionary
	var err error
	switch {
	case madeUp:
		d, err = madeUpRecords(b)
	case json.Valid(b):
		d, err = readJSON(b)
	default:
		d, err = readREDCap(b)
	}
	if err != nil {
		return nil, err
	}
	for i := range d.Columns {
		d.Columns[i].check()
	}
	return d, nil
}

func (c *Column) check() {
	seen := map[string]bool{}
	for _, l := range c.Levels {
		if seen[l] {
			c.Kind, c.Note = Unusable, fmt.Sprintf("its level %q occurs twice", l)
		}
		seen[l] = true
	}
	for _, bound := range []*float64{c.Low, c.High} {
		if bound != nil && (math.IsNaN(*bound) || math.IsInf(*bound, 0)) {
			c.Low, c.High = nil, nil
		}
	}
	c.First, c.Last = day(c.First), day(c.Last)
	switch {
	case c.Kind == Unusable:
	case c.First != "" && c.Last != "" && c.First >= c.Last:
		c.Kind, c.Note = Unusable, "its first day is not before its last"
	case (c.Kind == Choice || c.Kind == Ordered) && len(c.Levels) < 2:
		c.Kind, c.Note = Unusable, "it has fewer than two levels"
	case c.Low != nil && c.High != nil && *c.Low >= *c.High:
		c.Kind, c.Note = Unusable, "its smallest value is not below its largest"
	}
}

// day returns the day with which text begins, or "" if it begins with none.
func day(text string) string {
	text = text[:min(len(text), len("2020-12-31"))]
	if _, ok := calendar.Parse(text); !ok {
		return ""
	}
	return text
}

type field struct {
	Name, Title, Description, Type, Format string
	Constraints                            struct {
		Minimum, Maximum json.RawMessage
		Enum             []json.RawMessage
	}
	// levels of an integer or string field, since version 2 of Frictionless
	Categories        []json.RawMessage
	CategoriesOrdered bool
}

type schema struct {
	Fields        []field
	MissingValues []json.RawMessage
}

type described struct {
	Name     string
	Titles   json.RawMessage
	Datatype json.RawMessage
	Null     json.RawMessage
}

func readJSON(b []byte) (*Dictionary, error) {
	var file struct {
		schema
		Schema      *schema                   // schema, if the file is a Frictionless resource
		Resources   []struct{ Schema schema } // schemas, if the file is a Frictionless package
		TableSchema *struct{ Columns []described }
		Tables      []struct {
			TableSchema struct{ Columns []described }
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("%w (%v)", errNoDictionary, err)
	}
	switch {
	case len(file.Fields) > 0:
		return frictionless(file.schema), nil
	case file.Schema != nil && len(file.Schema.Fields) > 0:
		return frictionless(*file.Schema), nil
	case len(file.Resources) > 1 || len(file.Tables) > 1:
		return nil, fmt.Errorf("the description has several tables, and a study has one: give the description of one table")
	case len(file.Resources) == 1 && len(file.Resources[0].Schema.Fields) > 0:
		return frictionless(file.Resources[0].Schema), nil
	case file.TableSchema != nil:
		return csvw(file.TableSchema.Columns), nil
	case len(file.Tables) == 1:
		return csvw(file.Tables[0].TableSchema.Columns), nil
	}
	return nil, errNoDictionary
}

func frictionless(s schema) *Dictionary {
	d := &Dictionary{Source: "Frictionless table schema", Missing: texts(s.MissingValues)}
	for _, f := range s.Fields {
		c := Column{
			Name: f.Name, Label: cmp.Or(f.Title, f.Description),
			Low: number(f.Constraints.Minimum), High: number(f.Constraints.Maximum), Levels: texts(f.Constraints.Enum),
		}
		if f.Categories != nil {
			c.Levels, c.Labels = categories(f.Categories)
		}
		switch {
		case len(c.Levels) > 0 && f.CategoriesOrdered:
			c.Kind = Ordered
		case len(c.Levels) > 0:
			c.Kind = Choice
		case f.Type == "integer":
			c.Kind = Whole
		case f.Type == "number":
			c.Kind = Number
		case (f.Type == "date" || f.Type == "datetime") && (f.Format == "" || f.Format == "default"):
			c.Kind, c.First, c.Last = Date, first(f.Constraints.Minimum), first(f.Constraints.Maximum)
		case f.Type == "date" || f.Type == "datetime":
			c.Note = fmt.Sprintf("dates in the format %s, and a study reads dates such as 2020-12-31", f.Format)
		case f.Type == "boolean":
			c.Kind, c.Levels = Choice, []string{"false", "true"}
		default:
			c.Note = fmt.Sprintf("values of the type %q without a list of levels", f.Type)
		}
		d.Columns = append(d.Columns, c)
	}
	return d
}

// first returns the first string of the list raw, or the single string raw.
func first(raw json.RawMessage) string {
	for _, text := range texts(oneOrMore(raw)) {
		return text
	}
	return ""
}

// categories splits categories into values and labels. A category is a value, or an object with a
// value and a label.
func categories(all []json.RawMessage) (levels, labels []string) {
	for _, raw := range all {
		var c struct {
			Value json.RawMessage
			Label string
		}
		if json.Unmarshal(raw, &c) != nil || c.Value == nil {
			c.Value = raw
		}
		levels, labels = append(levels, texts([]json.RawMessage{c.Value})...), append(labels, c.Label)
	}
	if len(labels) != len(levels) || strings.Join(labels, "") == "" {
		labels = nil
	}
	return levels, labels
}

func csvw(columns []described) *Dictionary {
	d := &Dictionary{Source: "CSVW description"}
	for _, in := range columns {
		title := first(in.Titles)
		c := Column{Name: cmp.Or(in.Name, title), Label: title}
		var kind struct {
			Base, Format                                 string
			Minimum, MinInclusive, Maximum, MaxInclusive json.RawMessage
		}
		if json.Unmarshal(in.Datatype, &kind) != nil {
			// if Datatype is neither an object nor a string, the column has no type
			_ = json.Unmarshal(in.Datatype, &kind.Base)
		}
		c.Low, c.High = cmp.Or(number(kind.Minimum), number(kind.MinInclusive)), cmp.Or(number(kind.Maximum), number(kind.MaxInclusive))
		switch kind.Base {
		case "number", "decimal", "double", "float":
			c.Kind = Number
		case "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedShort", "unsignedByte":
			c.Kind = Whole
		case "date", "dateTime", "dateTimeStamp", "datetime":
			if kind.Format != "" && !strings.HasPrefix(kind.Format, "yyyy-MM-dd") {
				c.Note = fmt.Sprintf("dates in the format %s, and a study reads dates such as 2020-12-31", kind.Format)
				break
			}
			c.Kind = Date
			c.First = cmp.Or(first(kind.Minimum), first(kind.MinInclusive))
			c.Last = cmp.Or(first(kind.Maximum), first(kind.MaxInclusive))
		case "boolean":
			c.Kind, c.Levels = Choice, []string{"false", "true"}
			if yes, no, ok := strings.Cut(kind.Format, "|"); ok {
				c.Levels = []string{no, yes}
			}
		default:
			c.Note = "texts have no levels in a CSVW description"
		}
		d.Columns = append(d.Columns, c)
		for _, missing := range texts(oneOrMore(in.Null)) {
			if !slices.Contains(d.Missing, missing) {
				d.Missing = append(d.Missing, missing)
			}
		}
	}
	return d
}

// oneOrMore returns the elements of a list, or a single value as a list.
func oneOrMore(raw json.RawMessage) []json.RawMessage {
	var many []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &many) == nil {
		return many
	}
	return []json.RawMessage{raw}
}

// texts returns the values as a file of records would spell them.
func texts(values []json.RawMessage) (all []string) {
	for _, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		all = append(all, text)
	}
	return all
}

// number decodes a JSON number, or a string with a number in it. It returns nil for other values.
func number(raw json.RawMessage) *float64 {
	return parse(texts([]json.RawMessage{raw})[0])
}

func parse(text string) *float64 {
	if x, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		return &x
	}
	return nil
}

// Columns of a REDCap data dictionary, which has one row for each field of a form.
const (
	redcapName       = "Variable / Field Name"
	redcapType       = "Field Type"
	redcapLabel      = "Field Label"
	redcapChoices    = "Choices, Calculations, OR Slider Labels"
	redcapValidation = "Text Validation Type OR Show Slider Number"
	redcapLow        = "Text Validation Min"
	redcapHigh       = "Text Validation Max"
	redcapIdentifier = "Identifier?"
)

func readREDCap(b []byte) (*Dictionary, error) {
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff")))).ReadAll()
	if err != nil || len(rows) == 0 || !slices.Contains(rows[0], redcapName) || !slices.Contains(rows[0], redcapType) {
		return nil, errNoDictionary
	}
	d := &Dictionary{Source: "REDCap data dictionary"}
	for _, row := range rows[1:] {
		cell := func(name string) string {
			if i := slices.Index(rows[0], name); i >= 0 {
				return strings.TrimSpace(row[i])
			}
			return ""
		}
		bound := func(name string) *float64 { return parse(cell(name)) }
		c := Column{Name: cell(redcapName), Label: cell(redcapLabel), Low: bound(redcapLow), High: bound(redcapHigh)}
		switch of := cell(redcapType); of {
		case "radio", "dropdown":
			c.Kind = Choice
			for _, choice := range strings.Split(cell(redcapChoices), "|") {
				level, label, _ := strings.Cut(choice, ",")
				c.Levels, c.Labels = append(c.Levels, strings.TrimSpace(level)), append(c.Labels, strings.TrimSpace(label))
			}
		case "yesno", "truefalse":
			c.Kind, c.Levels, c.Labels = Choice, []string{"0", "1"}, []string{"no", "yes"}
		case "slider":
			c.Kind = Whole
			if low, high := 0., 100.; c.Low == nil && c.High == nil {
				c.Low, c.High = &low, &high
			}
		case "calc":
			c.Kind = Number
		case "text":
			switch v := cell(redcapValidation); {
			case v == "integer":
				c.Kind = Whole
			case strings.HasPrefix(v, "number"):
				c.Kind = Number
			case strings.HasPrefix(v, "date"): // REDCap exports a date as 2020-12-31, whichever date format the field requires
				c.Kind, c.First, c.Last = Date, cell(redcapLow), cell(redcapHigh)
			default:
				c.Note = "a text without the validation integer, number or date"
			}
		default:
			c.Note = fmt.Sprintf("a field of the type %q", of)
		}
		if strings.EqualFold(cell(redcapIdentifier), "y") {
			c.Kind, c.Note = Unusable, "an identifier"
		}
		d.Columns = append(d.Columns, c)
	}
	return d, nil
}

// maxLevels is the maximum number of levels that a column of made-up records may have. A column
// with more distinct strings cannot be used.
const maxLevels = 30

// madeUpRecords describes the columns of made-up records. Bounds are the range of the values,
// rounded outwards. Levels keep the order in which they first occur. If fields are separated by a
// character other than a comma, numbers may have decimal commas.
func madeUpRecords(b []byte) (*Dictionary, error) {
	separator := ','
	line, _, _ := bytes.Cut(b, []byte("\n"))
	for _, other := range ";\t" {
		if bytes.Count(line, []byte(string(other))) > bytes.Count(line, []byte(string(separator))) {
			separator = other
		}
	}
	r, err := table.NewCSV(bytes.NewReader(b), table.Format{Header: true, Separator: separator})
	if err != nil {
		return nil, err
	}
	d := &Dictionary{Source: "file of made-up records", MadeUp: true}
	if separator != ',' {
		d.Separator = string(separator)
	}
	values := make([][]string, len(r.Columns()))
	for {
		cells, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("made-up records, %s %w", r.Unit(), err)
		}
		for i, c := range cells {
			text := strings.TrimSpace(c.Text)
			if d.Separator != "" {
				text = pointed(text)
			}
			if text != "" && text != "NA" {
				values[i] = append(values[i], text)
			}
		}
	}
	for i, name := range r.Columns() {
		d.Columns = append(d.Columns, seen(name, values[i]))
	}
	d.Missing = []string{"", "NA"}
	return d, nil
}

// pointed replaces a decimal comma in a number by a point. It returns all other text unchanged.
func pointed(text string) string {
	number := strings.Replace(text, ",", ".", 1)
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return text
	}
	return number
}

// dated returns the description of a date column, or false if some value is not a date. The bounds
// are the first day of the earliest year and the last day of the latest year.
func dated(name string, values []string) (Column, bool) {
	c := Column{Name: name, Kind: Date}
	for _, text := range values {
		if len(text) != len("2020-12-31") || day(text) == "" {
			return c, false
		}
		if c.First == "" {
			c.First, c.Last = text, text
		}
		c.First, c.Last = min(c.First, text), max(c.Last, text)
	}
	if len(values) == 0 {
		return c, false
	}
	const year = len("2006")
	c.First, c.Last = c.First[:year]+"-01-01", c.Last[:year]+"-12-31"
	return c, day(c.First) != ""
}

// seen guesses the kind of a column from made-up values. It sets the bounds of dates and numbers,
// and the levels of other columns.
func seen(name string, values []string) Column {
	if c, ok := dated(name, values); ok {
		return c
	}
	c := Column{Name: name, Kind: Whole}
	low, high := math.Inf(1), math.Inf(-1)
	for _, text := range values {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			c.Kind = Choice
			break
		}
		if x != math.Trunc(x) {
			c.Kind = Number
		}
		low, high = min(low, x), max(high, x)
	}
	if c.Kind != Choice && low < high {
		low, high = outwards(low, high)
		c.Low, c.High = &low, &high
		return c
	}
	for _, text := range values {
		if !slices.Contains(c.Levels, text) {
			c.Levels = append(c.Levels, text)
		}
		if len(c.Levels) > maxLevels {
			return Column{Name: name, Note: fmt.Sprintf("more than %d different texts", maxLevels)}
		}
	}
	c.Kind = Choice
	return c
}

// outwards rounds both ends of a range outwards, to multiples of a power of ten: the largest one
// that does not exceed the width of the range.
func outwards(low, high float64) (float64, float64) {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	round := func(x float64) float64 {
		y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
		return y
	}
	return round(low), round(high)
}
