package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/study"
)

// Units is the linear map from θ to coordinates in natural units. It has a row for each. In natural
// units, a coefficient applies to the raw outcome and to raw values of the columns, after their
// transforms. Logarithms remain logarithms.
//
// The model's predictor can be computed from raw values and these coefficients, unless
// model.max_norm shortens the regressors or a value lies beyond the bounds of a standardisation.
type Units []Row

// A Row is one coordinate in natural units: Shift + Σ Weights[k]·θ[From[k]].
type Row struct {
	From    []int     `json:"from"`
	Weights []float64 `json:"weights"`
	Shift   float64   `json:"shift"`
	Log     bool      `json:"-"` // whether the coordinate is the logarithm of the parameter
	Spread  bool      `json:"-"` // whether the parameter is a standard deviation, which is the absolute value of the coordinate

	// Unit is the unit of the parameter, such as "pressure [mmHg] per age [years]", or "". If
	// exp(parameter) is a ratio of odds or rates, Ratio is its name, and otherwise "".
	Unit  string `json:"-"`
	Ratio string `json:"-"`
}

// Natural is the posterior of a parameter in natural units: its mean, its standard deviation and
// its central 95 % interval.
type Natural struct {
	Mean  float64 `json:"natural_mean"`
	SD    float64 `json:"natural_sd"`
	Low   float64 `json:"natural_low"`
	High  float64 `json:"natural_high"`
	Unit  string  `json:"unit"`
	Ratio string  `json:"ratio_unit,omitempty"`
}

// Normal95 is the 97.5 % quantile of the standard normal distribution.
const Normal95 = 1.959963984540054

// Units returns the linear map from θ to natural units. The weights of a neural network stay on the
// model's scale.
func (m *Model) Units() Units {
	rows := make(Units, m.Dim())
	for i, p := range m.Parameters.All() {
		rows[i] = Row{From: []int{i}, Weights: []float64{1}, Log: p.Log, Spread: p.HalfNormal > 0}
	}
	switch m.Study.Model.Family {
	case study.NoModel: // there are no parameters
	case study.ByProgram: // the author of the program chooses the units
	case study.NeuralNetwork:
		for i := range rows {
			rows[i].Unit = "model's scale"
		}
	case study.Mixture:
		m.clusterUnits(rows)
	default:
		m.coefficientUnits(rows)
		m.spreadUnits(rows)
	}
	return rows
}

// clusterUnits sets the rows for the means and standard deviations of a mixture. In θ they come
// after the weights.
func (m *Model) clusterUnits(rows Units) {
	st := m.Study
	of := st.Model.Components
	next := len(rows) - 2*of*len(st.Model.Variables)
	if st.Model.ClusterSD > 0 {
		next = 0
	}
	for _, name := range st.Model.Variables {
		c, _ := st.Column(name)
		zero, unit := st.Line(c)
		for range of {
			rows[next].Weights[0], rows[next].Shift, rows[next].Unit = unit, zero, quantity(c)
			next++
		}
		if st.Model.ClusterSD > 0 {
			continue
		}
		for range of {
			rows[next].Shift, rows[next].Unit = math.Log(unit), quantity(c)
			next++
		}
	}
}

// coefficientUnits sets the rows of the coefficients. A product of scaled columns is a sum of
// products of raw columns of the same and of lower order:
//
//	Π (x_k − z_k)/u_k = Π 1/u_k · Σ_S Π_{k∉S} x_k · Π_{k∈S} −z_k.
//
// If the model lacks a term of lower order, the row keeps the coefficient of the scaled product.
// Without an intercept, a measured outcome is measured from the zero of its scale.
func (m *Model) coefficientUnits(rows Units) {
	st := m.Study
	var coefficients []study.Coefficient
	places := map[string]int{}
	for c := range st.Coefficients() {
		places[key(c.Parts)] = len(coefficients)
		coefficients = append(coefficients, c)
	}
	zero, outcome := 0.0, 1.0
	unit, ratio := m.predictorUnit()
	if st.Model.Kind() == study.Measured {
		c, _ := st.Column(st.Model.Outcome)
		zero, outcome = st.Line(c)
	}
	for class := range m.layout.classes {
		first := class * len(coefficients)
		for j := range coefficients {
			rows[first+j].From, rows[first+j].Weights = nil, nil
		}
		for j, c := range coefficients {
			row := &rows[first+j]
			row.Unit, row.Ratio = unit, ratio
			if len(c.Parts) == 0 {
				row.Shift = zero
				row.Ratio, _, _ = strings.Cut(ratio, " ratio")
			}
			for _, p := range c.Parts {
				if p.Level < 0 {
					row.Unit += per(&st.Columns[p.Column])
				}
			}
			if row.Ratio != "" {
				row.Ratio += strings.TrimPrefix(row.Unit, unit)
			}
			expanded := m.expand(c.Parts)
			if missing := slices.IndexFunc(expanded, func(p product) bool { _, ok := places[key(p.parts)]; return !ok }); missing >= 0 {
				row.Unit = fmt.Sprintf("%s on the model's scale: %s is not a term", unit, m.Study.ProductName(expanded[missing].parts))
				row.Ratio = ""
				expanded = []product{{c.Parts, 1}}
			}
			for _, p := range expanded {
				to := &rows[first+places[key(p.parts)]]
				to.From, to.Weights = append(to.From, first+j), append(to.Weights, outcome*p.factor)
			}
		}
	}
}

// A product is a constant times several raw columns and indicators.
type product struct {
	parts  []study.Part
	factor float64
}

// expand multiplies out a product of scaled columns. The first product in the result contains all
// of parts, and the others fewer.
func (m *Model) expand(parts []study.Part) []product {
	sum := []product{{factor: 1}}
	for _, p := range parts {
		zero, unit := 0.0, 1.0
		if p.Level < 0 {
			zero, unit = m.Study.Line(&m.Study.Columns[p.Column])
		}
		n := len(sum)
		for i := range n {
			if zero != 0 {
				sum = append(sum, product{sum[i].parts, -sum[i].factor * zero / unit})
			}
			sum[i] = product{append(slices.Clip(sum[i].parts), p), sum[i].factor / unit}
		}
	}
	return sum
}

func key(parts []study.Part) string {
	return fmt.Sprint(slices.SortedFunc(slices.Values(parts), func(a, b study.Part) int { return cmp.Compare(a.Column, b.Column) }))
}

// spreadUnits sets the rows of the outcome's learned scale, of the log standard deviations between
// groups, and of the group effects. The group intercepts, and the standard deviation of these,
// refer to a record whose values are zero on the model's scale. Slopes multiply the distance from
// this point.
func (m *Model) spreadUnits(rows Units) {
	st := m.Study
	unit, ratio := m.predictorUnit()
	shift := math.Log(st.OutcomeUnit())
	if at := m.layout.scale; at >= 0 && st.Model.Kind() == study.Measured {
		rows[at].Shift, rows[at].Unit = shift, unit
	}
	for _, effects := range m.layout.groups {
		var where []string
		for _, e := range effects {
			row := &rows[e.Spread]
			row.Shift, row.Unit = shift, unit
			if e.Column < 0 {
				continue
			}
			c := &st.Columns[e.Column]
			zero, length := st.Line(c)
			row.Shift -= math.Log(length)
			row.Unit += per(c)
			if zero != 0 {
				where = append(where, fmt.Sprintf("%s = %.4g", quantity(c), zero))
			}
		}
		for _, e := range effects {
			spread := &rows[e.Spread]
			if e.Column < 0 && len(where) > 0 {
				spread.Unit += " at " + strings.Join(where, ", ")
			}
			if m.Centred() {
				spread.Weights[0], spread.Shift = math.Exp(spread.Shift), 0
			}
			for k := range e.Levels {
				row := &rows[e.First+k]
				if row.Unit = "sds"; !m.Centred() {
					continue
				}
				row.Weights[0], row.Unit = spread.Weights[0], spread.Unit
				if ratio != "" {
					row.Ratio = ratio + strings.TrimPrefix(spread.Unit, unit)
				}
			}
		}
	}
}

// predictorUnit returns the unit of the predictor. ratio is the name of the exponential of a
// difference between predictors, or "".
func (m *Model) predictorUnit() (unit, ratio string) {
	if unit, ratio = m.Study.Model.Family.PredictorUnit(); unit == "" {
		c, _ := m.Study.Column(m.Study.Model.Outcome)
		unit = quantity(c)
	}
	return unit, ratio
}

// per returns the part that column c contributes to the unit of a coefficient, such as " per age
// [years]".
func per(c *study.Column) string {
	if c.Dated {
		return " per year of " + c.Name
	}
	return " per " + quantity(c)
}

// quantity returns the name and the unit of a column after its transform.
func quantity(c *study.Column) string {
	name := c.Name
	if c.Unit != "" {
		name += " [" + c.Unit + "]"
	}
	switch c.Transform {
	case study.Log:
		return "log(" + name + ")"
	case study.Log1p:
		return "log(1 + " + name + ")"
	}
	return name
}

// Identity reports whether natural units are the same as those of θ.
func (u Units) Identity() bool {
	for i, row := range u {
		if row.Shift != 0 || len(row.From) != 1 || row.From[0] != i || row.Weights[0] != 1 {
			return false
		}
	}
	return true
}

// Ratios reports whether the exponential of any parameter is a ratio of odds or rates.
func (u Units) Ratios() bool {
	return slices.ContainsFunc(u, func(row Row) bool { return row.Ratio != "" })
}

// Map converts θ to natural units and writes the result to out.
func (u Units) Map(out, theta []float64) {
	for i, row := range u {
		out[i] = row.Shift
		for k, j := range row.From {
			out[i] += row.Weights[k] * theta[j]
		}
	}
}

// Covariance converts the covariance of θ to natural units.
func (u Units) Covariance(cov mat.Symmetric) *mat.SymDense {
	out := mat.NewSymDense(len(u), nil)
	for i := range u {
		for j := range i + 1 {
			out.SetSym(i, j, u.covariance(i, j, cov))
		}
	}
	return out
}

func (u Units) covariance(i, j int, cov mat.Symmetric) (sum float64) {
	a, b := &u[i], &u[j]
	for k, from := range a.From {
		for l, to := range b.From {
			sum += a.Weights[k] * b.Weights[l] * cov.At(from, to)
		}
	}
	return sum
}

// Back converts a coordinate in natural units to the parameter.
func (r *Row) Back(coordinate float64) float64 {
	p := Parameter{Log: r.Log}
	if r.Spread {
		p.HalfNormal = 1
	}
	return p.Back(coordinate)
}

// Marginals returns the posterior of each parameter in natural units, given the mean and the
// covariance of θ.
func (u Units) Marginals(mean []float64, cov mat.Symmetric) []Natural {
	out, at := make([]Natural, len(u)), make([]float64, len(u))
	u.Map(at, mean)
	for i, row := range u {
		m, sd := at[i], math.Sqrt(u.covariance(i, i, cov))
		out[i] = Natural{m, sd, row.Back(m - Normal95*sd), row.Back(m + Normal95*sd), row.Unit, row.Ratio}
		if row.Log {
			out[i].Mean = math.Exp(m + sd*sd/2)
			out[i].SD = out[i].Mean * math.Sqrt(math.Expm1(sd*sd))
		}
	}
	return out
}
