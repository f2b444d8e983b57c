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
// contains no numbers from records.
type Problem struct {
	Digest  [32]byte // digest of the protocol, the seed of public random numbers
	Rounds  int      // rounds of the fit; the last releases only the curvature
	Clients int
	Records float64 // number of records of all clients in the fit: nominal at first, later estimated from released counts
	NoiseSD float64 // sd of the noise in the sum over all clients, for a release with clip 1 that spends the whole budget
	nominal float64 // nominal number of records of all clients in the fit
	model   likelihood
	linear  bool // whether the curvature is the same at every θ
	counts  bool // whether outcomes are counts with variance equal to the mean

	tables      *describe.Layout // tables that describe the records; nil if the study asks for none
	tablesShare float64          // share of the privacy budget for the tables
	compared    *comparison      // the round that scores held-out records; nil if there is none

	budget   budget
	columns  []column // columns of the margins
	prior    prior
	spreads  int       // number of spreads of effects in prior; 0 for a program
	grouped  []bool    // whether each coordinate is an effect of a group
	order    []int     // index of each coordinate in the study's θ; parameters without records come last
	mean, sd []float64 // moments of the prior of each coordinate
}

// A prior is a prior of θ. The coordinates on which records depend come first. See
// [hierarchy.Prior].
type prior interface {
	Region(l *hierarchy.Likelihood) (hierarchy.Region, error)
	Posterior(l *hierarchy.Likelihood, r hierarchy.Region, n, shift int) (mean []float64, cov *mat.SymDense, err error)
	Points() int
	Moments() (mean []float64, cov *mat.SymDense)
	Draw(z []float64) []float64
}

// A column is a regressor, the product of an indicator and a value. A level has only the indicator,
// a number only the value, and the constant neither.
type column struct {
	kind      kind
	factor    int // for a level: number of the categorical column or group
	levels    int // for a level: number of levels, including the baseline
	low, high float64

	indicator int // column that has the indicator; −1 for none
	value     int // column that has the value; −1 for none
}

type kind int

const (
	constant kind = iota
	level         // indicator of a level of a categorical column, or of a group
	number
	slope // a number for records of one group, and 0 for other records
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

// Dim returns d, the number of coordinates of θ on which records depend, without the sds of the
// effects of groups.
func (p *Problem) Dim() int { return len(p.mean) }

// TablesSD returns the sd of the noise of a count in the tables that describe the records, if all
// clients answer, or 0 without tables.
func (p *Problem) TablesSD() float64 {
	if p.tables == nil {
		return 0
	}
	return p.tables.Norm() * p.NoiseSD / math.Sqrt(p.tablesShare)
}

// normals returns n standard normal numbers that follow from the protocol, the purpose and the
// number.
func (p *Problem) normals(n int, purpose string, number int) []float64 {
	z := make([]float64, n)
	dpmech.FillPublicNormal(z, "scoring: "+purpose, p.Digest, number)
	return z
}

func (p *Problem) precision(i int) float64 { return 1 / (p.sd[i] * p.sd[i]) }
