package fit

import (
	"fmt"

	"fedpvi/gpu"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

// compile builds the record program of a study whose model is written in the Stan language.
func (m *Model) compile() (*model.Model, error) {
	compiled, err := m.compiled(m.Study.Model.Program.Tree, false)
	if err != nil {
		return nil, err
	}
	m.notes, m.generated = compiled.Notes, compiled.Quantities
	return compiled.Model, nil
}

// compiled compiles a program with the study's data. If predict is true and the program has no
// generated quantities, compiled adds quantities of records (see [program.Data]).
func (m *Model) compiled(tree *syntax.Program, predict bool) (*program.Compiled, error) {
	p := m.Study.Model.Program
	data := program.Data{
		Name: m.Study.Name, Records: p.Records, Complete: p.Complete, Predict: predict,
		Columns: map[string]ir.Column{}, Constants: map[string]program.Constant{},
	}
	for _, v := range p.Variables {
		c := ir.Column{Name: v.Name, Lower: v.Low, Upper: v.High, Integer: v.Whole}
		if len(v.Parts) > 1 {
			names := make([]string, len(v.Parts))
			for k, part := range v.Parts {
				names[k] = fmt.Sprintf("%d %s", k+1, m.Study.Columns[part.Column].Name)
			}
			c.Entries = ir.NamesOf(names...)
		}
		data.Columns[v.Name] = c
	}
	for name, c := range p.Constants {
		data.Constants[name] = program.Constant{Dims: c.Dims, Values: c.Values}
	}
	key := "model.program"
	if m.Study.Model.Formula != nil {
		key = "the program of model.formula"
	}
	compiled, err := program.Compile(tree, data)
	if err != nil {
		return nil, fmt.Errorf("study %s, %s:\n%w", m.Study.Name, key, err)
	}
	if err := runs(compiled.Model); err != nil {
		return nil, fmt.Errorf("study %s, %s: the engine cannot run the program: %w", m.Study.Name, key, err)
	}
	return compiled, nil
}

// runs returns an error if the evaluator of record programs cannot run m. A study with such a model
// is refused before a client tries to run it.
func runs(m *model.Model) error {
	table, err := m.Load(0, make([][]float64, len(m.Columns())))
	if err != nil {
		return err
	}
	_, err = gpu.CPU{}.Compile(m, table)
	return err
}

// numbers returns the number of values that the study's program reads from each record.
func (m *Model) numbers() int {
	n := 0
	if p := m.Study.Model.Program; p != nil {
		for _, v := range p.Variables {
			n += len(v.Parts)
		}
	}
	return n
}

// Divide distributes the numbers x of several records among the columns of the program, as
// [model.Model.Load] expects them. Each record has width numbers.
func (m *Model) Divide(x []float64, width int) [][]float64 {
	var columns [][]float64
	first := 0
	for _, v := range m.Study.Model.Program.Variables {
		column := make([]float64, 0, len(x)/width*len(v.Parts))
		for row := range len(x) / width {
			column = append(column, x[row*width+first:][:len(v.Parts)]...)
		}
		columns = append(columns, column)
		first += len(v.Parts)
	}
	return columns
}

// Notes returns the compiler's notes about the study's program, each with its place, or "" if there
// are none.
func (m *Model) Notes() string {
	if len(m.notes) == 0 {
		return ""
	}
	return (&syntax.Errors{Text: m.Study.Model.Program.Tree.Text, Messages: m.notes}).Error()
}
