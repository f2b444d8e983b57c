package scoring

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/hierarchy"
	"fedpvi/pvi/study"
)

// A Problem is the public description of a study that releases scores. Apart from released sums, it
// does not contain numbers from records.
type Problem struct {
	Digest  [32]byte // digest of the protocol, which seeds public random numbers
	Rounds  int      // number of rounds of the fit; the last one releases only the curvature
	Clients int
	Records float64 // number of records that all clients use in the fit; nominal at first, later estimated from released counts
	NoiseSD float64 // standard deviation of the noise in the sum over all clients, for a release with clipping bound 1 that spends the whole budget
	nominal float64 // nominal number of records that all clients use in the fit
	model   likelihood
	linear  bool // whether the curvature is the same at every θ
	counts  bool // whether outcomes are counts whose variance equals the mean

	tables      *describe.Layout // tables that describe the records; nil if the study asks for none
	tablesShare float64          // share of the privacy budget for the tables
	compared    *comparison      // the round that scores held-out records; nil if there is none

	budget   budget
	columns  []column // columns of the margins
	prior    prior
	spreads  int       // number of effect spreads in prior; 0 for a program
	grouped  []bool    // whether each coordinate is a group effect
	order    []int     // index of each coordinate in the study's θ; parameters that records do not depend on come last
	mean, sd []float64 // means and standard deviations of the coordinates under the prior
}

// A prior is a prior of θ. The coordinates that records depend on come first. See
// [hierarchy.Prior].
type prior interface {
	Region(l *hierarchy.Likelihood) (hierarchy.Region, error)
	Posterior(l *hierarchy.Likelihood, r hierarchy.Region, n, shift int) (mean []float64, cov *mat.SymDense, err error)
	Points() int
	Moments() (mean []float64, cov *mat.SymDense)
	Draw(z []float64) []float64
}

// A column is a regressor, which is an indicator times a value. A level has only the indicator, a
// number only the value, and the constant neither of them.
type column struct {
	kind      kind
	factor    int // for a level: number of the categorical column or group
	levels    int // for a level: number of levels, including the baseline
	low, high float64

	indicator int // column with the indicator; −1 for none
	value     int // column with the value; −1 for none
}

type kind int

const (
	constant kind = iota
	level         // indicator of a level of a categorical column, or of a group
	number
	slope // a number for the records of one group, and 0 for all others
)

// NewProblem returns the problem of a study. The caller must call [Problem.SetNoise] next.
func NewProblem(st *study.Study, m *fit.Model, clients int, digest [32]byte) (*Problem, error) {
	if st.Federation.NominalRecords == 0 {
		return nil, errors.New("federation.nominal_records is missing: write the number of records that a client has, roughly; steps and clips follow from it")
	}
	p := &Problem{
		Digest: digest, Rounds: st.Inference.Rounds, Clients: clients,
		Records: float64(st.Federation.NominalRecords) * float64(clients),
	}
	if p.compared = newComparison(st, m); p.compared != nil {
		p.Rounds--
		p.Records *= 1 - p.compared.HeldOut
	}
	p.nominal = p.Records
	if d := st.Describe; d != nil {
		p.tables, p.tablesShare = describe.New(st), d.Share
	}
	take := p.takeRegression
	if st.Model.Program != nil {
		take = p.takeProgram
	}
	return p, take(st, m)
}

// Dim returns d, the number of coordinates of θ that records depend on. It does not count the
// standard deviations of group effects.
func (p *Problem) Dim() int { return len(p.mean) }

// TablesSD returns the standard deviation of the noise in a count of the tables, if all clients
// answer. It returns 0 if the study does not ask for tables.
func (p *Problem) TablesSD() float64 {
	if p.tables == nil {
		return 0
	}
	return p.tables.Norm() * p.NoiseSD / math.Sqrt(p.tablesShare)
}

// normals returns n standard normal numbers, which depend on the protocol, on purpose and on
// number.
func (p *Problem) normals(n int, purpose string, number int) []float64 {
	z := make([]float64, n)
	dpmech.FillPublicNormal(z, "scoring: "+purpose, p.Digest, number)
	return z
}

func (p *Problem) precision(i int) float64 { return 1 / (p.sd[i] * p.sd[i]) }
