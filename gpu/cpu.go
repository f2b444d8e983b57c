package gpu

import (
	"errors"

	"fedpvi/pvi/model"
)

// CPU is the engine on the processor.
type CPU struct {
	// Workers is the number of goroutines that share a sum; 0 or 1 means the caller
	// alone. The result has the same bits with any number.
	Workers int
}

// Name implements Engine.
func (CPU) Name() string { return "cpu" }

// Compile implements Engine.
func (c CPU) Compile(m *model.Model, table *model.Table) (Evaluator, error) {
	if m == nil || table == nil {
		return nil, errors.New("compile: a model and a table of its rows are needed")
	}
	return newMaterialised(m, table), nil
}
