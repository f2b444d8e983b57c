package study

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"fedpvi/internal/document"
	"fedpvi/pvi/program/syntax"
)

// ByProgram is the family of models that are written as a formula or as a program in the Stan
// language.
const ByProgram Family = "program"

// A Program is a model in the Stan language.
type Program struct {
	Tree    *syntax.Program
	Records string // name of the variable in the data block that holds the number of records; default "N"
	// variables of the data block that have one or more values per record, in the order of the block
	Variables []ProgramVariable
	Constants map[string]Constant
	Complete  map[string]string // priors that the program leaves out, by parameter
}

// A ProgramVariable is a variable of the data block that has one or more values per record.
type ProgramVariable struct {
	Name  string
	Whole bool // whether the values of the variable are whole numbers
	Parts []ProgramPart
	Low   float64 // Low and High are public bounds of the values of the variable
	High  float64
}

// A ProgramPart is one element of a variable. It is either the value of a column, or the indicator
// of a condition on a column.
type ProgramPart struct {
	Column int    // index of the column
	Is     *Event // condition that the element indicates by 1 or 0; nil if it is the value of the column
}

// A Constant is a public constant. Dims has its sizes, and is empty for a single number. Values
// holds the elements row by row.
type Constant struct {
	Dims   []int
	Values []float64
}

// Number returns the value of part p for a record whose column values are row. An indicator is 1 or
// 0, a level becomes its number from 1, and a number is transformed but not scaled.
func (s *Study) Number(p ProgramPart, row []float64) float64 {
	value := row[p.Column]
	switch {
	case p.Is != nil && p.Is.Of(value):
		return 1
	case p.Is != nil:
		return 0
	}
	return s.Columns[p.Column].number(value)
}

func (c *Column) number(value float64) float64 {
	if c.Type != Numeric {
		return value + 1
	}
	return c.Transform.Of(value)
}

// keysOfFamilies lists the keys of [model] that do not apply to programs and formulas.
var keysOfFamilies = []string{
	"outcome", "terms", "groups", "intercept", "coding", "max_norm", "noise_sd", "degrees_of_freedom", "hidden", "components", "columns", "cluster_sd",
}

func readProgram(s *Study, t *document.Table) {
	s.Model.Family = ByProgram
	p := &Program{Records: "N", Constants: map[string]Constant{}, Complete: map[string]string{}}
	s.Model.Program = p
	refuseAll(t, append([]string{"family", "positive"}, keysOfFamilies...), "has no meaning beside program, which is the whole model")
	refuseOfPrograms(s, t, "program")
	if records, ok := t.String("records"); ok {
		p.Records = records
	}
	data, complete := t.Table("data"), t.Table("complete")
	for _, name := range complete.Keys() {
		p.Complete[name], _ = complete.String(name)
	}
	if p.Tree = parseProgram(t); p.Tree == nil {
		ignore(data)
		p.Tree = &syntax.Program{}
		return
	}
	for _, d := range p.Tree.Data {
		if d.Kind == syntax.Declare && d.Name != p.Records {
			s.readDatum(d, data)
		}
	}
	for _, name := range data.Keys() {
		s.readStatistic(name, data)
	}
	s.findIntegers()
}

// refuseOfPrograms refuses settings that do not go with a model given by the key program or
// formula: scaled columns, and version 1.
func refuseOfPrograms(s *Study, t *document.Table, key string) {
	if how, ok := t.Choice("standardise", "bounds", "private", "none"); ok && how != "none" {
		t.Errorf("standardise", `a %s reads values in their own units: write standardise = "none", or leave it out`, key)
	}
	if s.Version == 1 {
		t.Errorf(key, "needs version 2 of the study language or a later one: write study.version = 3")
	}
}

// parseProgram parses the text of the key program. If the text is invalid or is the name of a file,
// it reports an error and returns nil.
func parseProgram(t *document.Table) *syntax.Program {
	text, _ := t.String("program")
	if isFile(text) {
		t.Errorf("program", "%q is the name of a file, but the study must contain the text of the program: commands that read a study from a file insert it", text)
		return nil
	}
	tree, err := syntax.Parse(text)
	if err != nil {
		t.Errorf("program", "the program cannot be read.\n%v", err)
		return nil
	}
	return tree
}

// readStatistic reads a constant whose name is a statistic of columns, such as "mean(age)".
func (s *Study) readStatistic(name string, data *document.Table) {
	p := s.Model.Program
	if _, ok := p.Constants[name]; ok || slices.ContainsFunc(p.Variables, func(v ProgramVariable) bool { return v.Name == name }) {
		return
	}
	v, _ := data.Value(name)
	c, ok := constantOf(v)
	if !ok || len(c.Dims) > 0 {
		data.Errorf(name, "is neither in the program's data block nor a number that stands for a statistic, such as \"mean(age)\"")
		return
	}
	p.Constants[name] = c
}

// readDatum reads where the values of a data-block variable come from. A variable with an element
// per record comes from columns, by default from the column of the same name. All other variables
// are public constants.
func (s *Study) readDatum(d *syntax.Statement, data *document.Table) {
	p := s.Model.Program
	sizes := append(slices.Clone(d.Type.Array), d.Type.Sizes...)
	each := len(sizes) > 0 && sizes[0].Kind == syntax.Name && sizes[0].Text == p.Records
	v := ProgramVariable{Name: d.Name, Whole: d.Type.Base == "int"}
	if !data.Has(d.Name) {
		if i := s.ColumnIndex(d.Name); each && i >= 0 {
			v.Parts = []ProgramPart{{Column: i}}
			p.Variables = append(p.Variables, v)
		}
		return // the compiler will report the missing value, with its place in the program
	}
	value, _ := data.Value(d.Name)
	if !each {
		if c, ok := s.publicConstant(d.Name, value, data); ok {
			p.Constants[d.Name] = c
		}
		return
	}
	parts, ok := value.([]any)
	if !ok {
		parts = []any{value}
	}
	for _, part := range parts {
		one, problem := s.partOf(part)
		if problem != "" {
			data.Errorf(d.Name, "%s", problem)
			return
		}
		v.Parts = append(v.Parts, one)
	}
	p.Variables = append(p.Variables, v)
}

// partOf converts a value in the study document, such as a column name, to a [ProgramPart].
func (s *Study) partOf(value any) (part ProgramPart, problem string) {
	name, ok := value.(string)
	is := ""
	if table, isTable := value.(map[string]any); isTable {
		name, ok = table["column"].(string)
		is, _ = table["is"].(string)
		if len(table) != 2 || is == "" {
			ok = false
		}
	}
	if !ok {
		return part, `has a value for each record: write the name of a column, { column = "smoker", is = "yes" }, or a list of them`
	}
	if part.Column = s.ColumnIndex(name); part.Column < 0 {
		return part, fmt.Sprintf("column %q is not declared", name)
	}
	if is != "" {
		part.Is, problem = parseEvent(is, &s.Columns[part.Column])
	}
	return part, problem
}

func (s *Study) publicConstant(name string, value any, data *document.Table) (Constant, bool) {
	if table, ok := value.(map[string]any); ok {
		column, _ := table["levels"].(string)
		c, found := s.Column(column)
		if len(table) != 1 || !found || len(c.Levels) == 0 {
			data.Errorf(name, `the number of levels of a column is written { levels = "ward" }`)
			return Constant{}, false
		}
		return Constant{Values: []float64{float64(len(c.Levels))}}, true
	}
	c, ok := constantOf(value)
	if !ok {
		data.Errorf(name, "is a public constant, because none of its sizes is the number of records %s: write a finite number, or a list of numbers whose inner lists have equal lengths", s.Model.Program.Records)
	}
	return c, ok
}

// constantOf converts a number, or nested lists of numbers, to a Constant. It refuses empty lists,
// and lists at the same depth whose lengths differ.
func constantOf(value any) (c Constant, ok bool) {
	list, isList := value.([]any)
	if !isList {
		x, isNumber := number(value)
		return Constant{Values: []float64{x}}, isNumber
	}
	for k, element := range list {
		one, ok := constantOf(element)
		if !ok || k > 0 && !slices.Equal(one.Dims, c.Dims) {
			return Constant{}, false
		}
		c.Dims, c.Values = one.Dims, append(c.Values, one.Values...)
	}
	c.Dims = append([]int{len(list)}, c.Dims...)
	return c, len(list) > 0
}

func number(value any) (float64, bool) {
	switch x := value.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// findIntegers sets Low and High of the program's variables. Whole says that the program declares
// the variable as int; findIntegers clears it if a numeric column cannot hold whole numbers
// ([Column.whole]).
func (s *Study) findIntegers() {
	for i := range s.Model.Program.Variables {
		v := &s.Model.Program.Variables[i]
		v.Low, v.High = math.Inf(1), math.Inf(-1)
		for _, p := range v.Parts {
			low, high := 0.0, 1.0
			if c := &s.Columns[p.Column]; p.Is == nil {
				low, high = c.number(c.Low), c.number(c.High)
				v.Whole = v.Whole && (c.Type != Numeric || c.whole())
			}
			v.Low, v.High = min(v.Low, low), max(v.High, high)
		}
	}
}

// Counts reports whether the column's values must be whole numbers. They must if the column is the
// outcome of a count model, or if a program reads it as int.
func (s *Study) Counts(column int) bool {
	m := &s.Model
	if m.Family != ByProgram {
		return m.Kind() == Count && s.Columns[column].Name == m.Outcome
	}
	return slices.ContainsFunc(m.Program.Variables, func(v ProgramVariable) bool {
		return v.Whole && slices.ContainsFunc(v.Parts, func(p ProgramPart) bool { return p.Column == column && p.Is == nil })
	})
}

// Attach replaces the name of a program file in a study document by the text of the file, so that
// the study's digest covers the program. read must return the content of a file in the study's
// folder. Documents that name no such file are returned unchanged.
func Attach(file string, source []byte, read func(name string) ([]byte, error)) ([]byte, error) {
	doc, err := document.Parse(file, source)
	if err != nil {
		return source, nil // Parse will report the same error.
	}
	name, ok := doc.Root().Table("model").String("program")
	if !ok || !isFile(name) {
		return source, nil
	}
	if filepath.Base(name) != name {
		return nil, fmt.Errorf("%s: model.program = %q: the program's file must lie beside the study", file, name)
	}
	text, err := read(filepath.Join(filepath.Dir(file), name))
	if err != nil {
		return nil, fmt.Errorf("%s: model.program: %w", file, err)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: model.program: %s is not text in UTF-8", file, name)
	}
	if err := doc.Set("model.program", quoted(string(text))); err != nil {
		return nil, err
	}
	return doc.Encode()
}

func isFile(program string) bool {
	return strings.HasSuffix(program, ".stan") && !strings.ContainsAny(program, "\n{")
}

// quoted returns text as a quoted TOML string: a JSON string in which the character 0x7f is escaped
// as well.
func quoted(text string) string {
	out, _ := json.Marshal(text) // this cannot fail for a string
	return strings.ReplaceAll(string(out), "\x7f", `\u007f`)
}
