package scoring

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"
)

// A program is the [likelihood] of a study whose model is a record program. The curvature of a
// record is an expectation over drawn outcomes ([programEvaluator.expected]).
type program struct {
	fit      *fit.Model
	model    *model.Model
	numbers  []datum  // numbers that each record has, in the order of the program's columns
	columns  []column // columns that [margins] describe (see [program.addColumns])
	outcomes []int    // indices in numbers of those outcomes that are drawn from the model
	variates *variates
	dim      int // number of coordinates of the program's θ
	// coordinates[i] is the index of element i of a score in the program's θ.
	coordinates []int
}

// A datum is a number that a program reads from each record.
type datum struct {
	low, high float64
	whole     bool
	first     int       // index in the margins of its first column
	levels    int       // number of levels, which are counted from 1; 0 if the values are not levels
	atoms     []float64 // values that have a positive probability in addition to a density

	// The number x has the value (x − zero)/unit in the margins. zero is 0 if that is within the
	// bounds, and otherwise their middle. If logs is true, the logarithms of x and of its bounds take
	// the place of x and its bounds, and zero is always their middle.
	zero, unit float64
	logs       bool // whether the number is positive and the program takes its logarithm
}

// takeProgram sets model, prior and columns of p. It refuses a program whose density has no usable
// curvature.
func (p *Problem) takeProgram(st *study.Study, m *fit.Model) error {
	r := &program{fit: m, model: m.Program(), dim: m.Dim()}
	joint, order, observed, grouped, err := m.Joint()
	if err != nil {
		return err
	}
	p.prior, p.order, p.grouped = joint, order, grouped
	r.coordinates = order[:observed]
	mean, cov := joint.Moments()
	p.mean = mean[:observed]
	for i := range p.mean {
		p.sd = append(p.sd, math.Sqrt(cov.At(i, i)))
	}
	r.takeNumbers(st)
	if r.variates.kinked && len(r.outcomes) == 0 {
		return errors.New(`model.program: the slope of the log density of a record jumps (fabs, fmax or fmin of the data and a parameter), so that the density has no curvature, and its outcome cannot be drawn. Write the outcome with a density of the language, as in y ~ double_exponential(mu, s), or use a smooth density such as student_t`)
	}
	p.model, p.columns = r, r.columns
	return nil
}

// logarithms reports for each column of a program whether the program takes the logarithm of the
// column.
func logarithms(m *model.Model) []bool {
	p := m.Verified().Program()
	out := make([]bool, len(p.Columns))
	for _, n := range p.Nodes {
		if n.Op == ir.Log && p.Nodes[n.Args[0]].Op == ir.Col {
			out[p.Nodes[n.Args[0]].Ref] = true
		}
	}
	return out
}

// takeNumbers sets r.numbers and r.columns, and finds the outcomes. They are the variates of
// densities.
func (r *program) takeNumbers(st *study.Study) {
	r.variates = newVariates(r.model)
	factors := map[string]int{} // indicators that have a column already
	logs := logarithms(r.model)
	for k, v := range st.Model.Program.Variables {
		for _, part := range v.Parts {
			n := datum{low: v.Low, high: v.High, whole: v.Whole}
			c := &st.Columns[part.Column]
			if part.Is == nil && c.Type == study.Numeric {
				ends := make([]float64, len(st.Columns))
				ends[part.Column] = c.Low
				n.low = st.Number(part, ends)
				ends[part.Column] = c.High
				n.high = st.Number(part, ends)
			}
			for _, x := range r.variates.atoms[k] {
				if x >= n.low && x <= n.high {
					n.atoms = append(n.atoms, x)
				}
			}
			n.logs = logs[k] && n.low > 0
			if r.variates.column[k] {
				r.outcomes = append(r.outcomes, len(r.numbers))
			}
			r.addColumns(st, part, &n, factors)
			r.numbers = append(r.numbers, n)
		}
	}
}

// addColumns adds the columns for one number of a record to r.columns:
//
//   - A numeric value has one column.
//   - A categorical value has one column for each level, 1 for the record's level and otherwise 0.
//   - An indicator has one column.
//
// Indicators of different levels of one categorical column exclude each other, so they are marked
// as levels of one factor.
func (r *program) addColumns(st *study.Study, part study.ProgramPart, n *datum, factors map[string]int) {
	c, at := &st.Columns[part.Column], len(r.columns)
	n.first = at
	switch {
	case part.Is == nil && c.Type == study.Numeric:
		low, high := n.low, n.high
		if n.logs {
			low, high = math.Log(low), math.Log(high)
		}
		if n.logs || low > 0 || high < 0 {
			n.zero = (low + high) / 2
		}
		n.unit = max(high-n.zero, n.zero-low, math.SmallestNonzeroFloat64)
		r.columns = append(r.columns, column{
			kind: number, low: (low - n.zero) / n.unit, high: (high - n.zero) / n.unit, indicator: -1, value: at,
		})
	case part.Is == nil:
		n.levels = len(c.Levels)
		for i := range c.Levels {
			r.columns = append(r.columns, column{kind: level, factor: len(st.Columns) + at, levels: len(c.Levels), high: 1, indicator: at + i, value: -1})
		}
	default:
		one := column{kind: level, factor: len(st.Columns) + at, levels: 2, high: 1, indicator: at, value: -1}
		if part.Is.Level >= 0 {
			key := fmt.Sprint(part.Column, " ", part.Is.Level)
			if _, seen := factors[key]; !seen {
				one.factor, one.levels = part.Column, len(c.Levels)
			}
			factors[key] = at
		}
		r.columns = append(r.columns, one)
	}
}

// values computes the value of a record in each of r.columns from the record's numbers.
func (r *program) values(dst, record []float64) {
	for k, n := range r.numbers {
		switch {
		case n.levels > 0:
			clear(dst[n.first : n.first+n.levels])
			if l := record[k] - 1; l >= 0 && l < float64(n.levels) {
				dst[n.first+int(l)] = 1
			}
		case r.columns[n.first].kind == level:
			dst[n.first] = record[k]
		default:
			x := record[k]
			if n.logs {
				x = math.Log(x)
			}
			dst[n.first] = (x - n.zero) / n.unit
		}
	}
}

// numbersOf is the inverse of values. It moves each number to the nearest possible value.
func (r *program) numbersOf(dst, x []float64) {
	for k, n := range r.numbers {
		switch {
		case n.levels > 0:
			dst[k] = 1
			for l := range n.levels {
				if x[n.first+l] == 1 {
					dst[k] = float64(l + 1)
				}
			}
		case r.columns[n.first].kind == level:
			dst[k] = x[n.first]
		default:
			dst[k] = n.zero + n.unit*x[n.first]
			if n.logs {
				dst[k] = math.Exp(dst[k])
			}
		}
		dst[k] = n.inside(dst[k])
	}
}

// inside returns the possible value closest to x.
func (n *datum) inside(x float64) float64 {
	if n.whole {
		x = math.Round(x)
	}
	return min(max(x, n.low), n.high)
}

// load makes a table from x, the numbers of several records, one record after the other.
func (r *program) load(x []float64) (*model.Table, error) {
	return r.model.Load(len(x)/len(r.numbers), r.fit.Divide(x, len(r.numbers)))
}

// theta returns the program's θ, with r.coordinates set from point and all others 0.
func (r *program) theta(point []float64) []float64 {
	theta := make([]float64, r.dim)
	for i, at := range r.coordinates {
		theta[at] = point[i]
	}
	return theta
}
