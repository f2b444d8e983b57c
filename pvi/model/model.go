package model

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"sync"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// Table is a shard in the form that a model reads ([Model.Load]). All its values are within the
// public bounds. It also holds computed values that depend on a row but not on parameters.
type Table = tape.Table

// Shared evaluates the prior, and all expressions that are the same for all records, such as
// constrained parameters.
type Shared = tape.Shared

// Path holds the nodes and parameters that a node of phase shared depends on.
type Path = tape.Path

// Model is a verified record program.
type Model struct {
	verified  *ir.Verified
	dim       int
	densities map[int]int    // see [Model.Densities]
	texts     map[int]string // texts set by [Builder.Describe], by node

	// names and constrained return the names for Names and ConstrainedNames. They compute them only
	// when needed, because they are long lists that are rarely used.
	names, constrained func() []string
}

// New verifies a program and returns its model.
func New(p ir.Program) (*Model, error) {
	v, err := ir.Verify(p)
	if err != nil {
		return nil, err
	}
	m := &Model{verified: v}
	size := 0
	for _, q := range v.Program().Parameters {
		m.dim, size = m.dim+q.Free(), size+q.Size()
	}
	m.names = sync.OnceValue(func() []string { return m.eachName(m.dim, (*ir.Parameter).Free, freeName) })
	m.constrained = sync.OnceValue(func() []string { return m.eachName(size, (*ir.Parameter).Size, elementName) })
	return m, nil
}

// Densities maps each node that computes a log density of data to its variate. Such nodes are
// density operations, and nodes that were passed to [Builder.MarkDensity].
func (m *Model) Densities() map[int]int {
	all := maps.Clone(m.densities)
	if all == nil {
		all = map[int]int{}
	}
	for i, n := range m.verified.Program().Nodes {
		if n.Op == ir.DensityOp {
			all[i] = n.Args[0]
		}
	}
	return all
}

// eachName returns a name for each element of each parameter. total is the number of all elements.
func (m *Model) eachName(total int, elements func(*ir.Parameter) int, name func(*ir.Parameter, int) string) []string {
	names := make([]string, 0, total)
	for _, q := range m.verified.Program().Parameters {
		for e := range elements(&q) {
			names = append(names, name(&q, e))
		}
	}
	return names
}

func elementName(q *ir.Parameter, e int) string {
	switch {
	case q.Entries.Len() > 0:
		return q.Name + "[" + q.Entries.At(e) + "]"
	case q.Size() == 1:
		return q.Name
	case q.Cols == 1:
		return fmt.Sprintf("%s[%d]", q.Name, e+1)
	}
	return fmt.Sprintf("%s[%d,%d]", q.Name, e/q.Cols+1, e%q.Cols+1)
}

// freeName returns the name of unconstrained coordinate e of parameter q, such as "log sigma".
func freeName(q *ir.Parameter, e int) string {
	name := elementName(q, e)
	switch q.Constraint.Kind {
	case ir.Lower, ir.Upper:
		return "log " + name
	case ir.Both:
		return "logit " + name
	case ir.Simplex:
		return "stick " + name
	case ir.Ordered:
		if e > 0 {
			return "log step " + name
		}
	}
	return name
}

// Name returns the name of the model's family.
func (m *Model) Name() string { return m.verified.Program().Name }

// Verified returns the verified program. It must not be changed.
func (m *Model) Verified() *ir.Verified { return m.verified }

// Columns returns the columns that the model reads, in the order that [Model.Load] expects. The
// result must not be changed.
func (m *Model) Columns() []ir.Column { return m.verified.Program().Columns }

// Digest returns the SHA-256 of the program's canonical form.
func (m *Model) Digest() [sha256.Size]byte { return m.verified.Program().Digest() }

// Dim returns d, the number of unconstrained coordinates.
func (m *Model) Dim() int { return m.dim }

// Names returns the names of the unconstrained coordinates. The slice is not a copy.
func (m *Model) Names() []string { return m.names() }

// ConstrainedNames returns the names of all parameters' elements on their own scale. The slice is
// not a copy.
func (m *Model) ConstrainedNames() []string { return m.constrained() }

// FreeName returns the name of an unconstrained coordinate of a parameter. Coordinate e is counted
// from 0.
func (m *Model) FreeName(parameter, e int) string {
	return freeName(&m.verified.Program().Parameters[parameter], e)
}

// Depends reports, for each parameter, whether the log density of a record depends on it.
func (m *Model) Depends() []bool {
	p := m.verified.Program()
	on := make([]bool, len(p.Parameters))
	for _, q := range parametersOf(p, p.Likelihood) {
		on[q] = true
	}
	return on
}

// Shared returns a new evaluator for everything that does not depend on records.
func (m *Model) Shared() *Shared { return tape.NewShared(m.verified) }

// Load makes a Table from rows. columns[k] has the values of column k, row after row. Load returns
// an error if a value lies outside its column's public bounds.
func (m *Model) Load(rows int, columns [][]float64) (*Table, error) {
	return tape.Load(m.verified, rows, columns)
}

// LogPrior returns the log density of the prior at theta in the unconstrained space, including the
// log Jacobians. If grad is not nil, LogPrior adds the gradient to it. Callers who need the prior
// often should keep a [Model.Shared] instead.
func (m *Model) LogPrior(theta, grad []float64) float64 {
	s := m.Shared()
	s.Set(theta)
	return s.LogPrior(grad)
}

// Constrain converts theta to the parameters' own scale, and writes the result to dst in the order
// of [Model.ConstrainedNames].
func (m *Model) Constrain(dst, theta []float64) {
	s := m.Shared()
	s.Set(theta)
	for i := range m.verified.Program().Parameters {
		dst = dst[copy(dst, s.Constrained(i)):]
	}
}

// LogDensities writes the log density of each row of the table, at theta, to dst.
func (m *Model) LogDensities(dst, theta []float64, t *Table) {
	m.evaluate(m.verified.Program().Likelihood, dst, theta, t)
}

func (m *Model) evaluate(node int, dst, theta []float64, t *Table) {
	s := m.Shared()
	s.Set(theta)
	tape.NewRecords(s, t, ir.Block, node, false).All(dst, 0, m.verified.Shape(node).Size(), func(int) {})
}

// Outcomes describes the prediction. It returns its kind, the index of the predicted column, and
// the number of predicted values per row, which is 1 or the number of classes. If the model has no
// prediction, column is −1 and values is 0.
func (m *Model) Outcomes() (kind ir.PredictionKind, column, values int) {
	q := m.verified.Program().Prediction
	if q.Kind == ir.NoPrediction {
		return q.Kind, -1, 0
	}
	return q.Kind, q.Outcome, m.verified.Shape(q.Node).Size()
}

// Predict writes the prediction for each row of the table, at theta, to dst. It does not read the
// outcomes. It panics if the model has no prediction.
func (m *Model) Predict(dst, theta []float64, t *Table) {
	q := m.verified.Program().Prediction
	if q.Kind == ir.NoPrediction {
		panic("model: " + m.Name() + " predicts nothing")
	}
	m.evaluate(q.Node, dst, theta, t)
}
