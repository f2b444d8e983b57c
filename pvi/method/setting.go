package method

import (
	"fmt"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

const (
	// DampingBits is the number of binary places of the damping α, which is a multiple of
	// 2^-DampingBits.
	DampingBits = 20

	// headroomBits says how large a change in a message can be: 2^headroomBits times the largest
	// factor that the records could need. Changes can become that large before the factors converge.
	headroomBits = 6

	// statisticsRoom limits the change of a factor that is computed from released statistics, as a
	// multiple of the largest possible element of the statistics including noise. A factor can be
	// twice as large as this element, and a change is the difference between two factors.
	statisticsRoom = 8

	// wideBits is the largest number of bits that an element of λ may have. A [lambda.Wide] has 128
	// bits.
	wideBits = 126

	// keptPrior is the largest number of natural parameters of a prior with independent coordinates
	// that is kept in memory. A longer prior is computed whenever it is needed.
	keptPrior = 1 << 16
)

// A Setting holds the public numbers that a method is made from. It is immutable.
type Setting struct {
	Study       *study.Study
	Model       *fit.Model
	Family      gaussian.Family // family of q, full or diagonal
	Coordinates *lambda.Coordinates
	Clients     int          // number of clients in the roster
	MinClients  int          // U_min, the number of answers below which no sum is opened
	Colluders   int          // t, the number of clients that may collude
	Digest      phase.Digest // identifies the protocol in every message

	prior []float64 // nil if the prior is too long to be kept
}

// NewSetting returns the setting for a study and a roster. The scale of every column must be known.
func NewSetting(st *study.Study, roster phase.Roster, digest phase.Digest) (*Setting, error) {
	s := &Setting{Study: st, Clients: len(roster.Clients), MinClients: roster.Fewest, Colluders: roster.Colluders, Digest: digest}
	var err error
	if s.Model, err = fit.New(st); err != nil {
		return nil, err
	}
	if st.Model.Absent() {
		s.Family = gaussian.Diagonal(0) // a study without a model has no parameters
	} else if s.Family, err = gaussian.New(st.Inference.Q, s.Model.Dim()); err != nil {
		return nil, err
	}
	s.Coordinates = lambda.NewCoordinates(s.Family, st.Privacy.Centred)
	if gaussian.Independent(s.Family) && s.Family.Size() > keptPrior {
		return s, s.Model.CheckPrior()
	}
	s.prior, err = s.Model.Prior(s.Family)
	return s, err
}

// Prior returns the natural parameters of the prior. The slice is not a copy.
func (s *Setting) Prior() []float64 {
	if s.prior != nil {
		return s.prior
	}
	prior, err := s.Model.Prior(s.Family)
	if err != nil {
		panic("method: " + err.Error()) // unreachable: NewSetting has computed the same prior before
	}
	return prior
}

// PriorAt returns element i of the natural parameters of the prior.
func (s *Setting) PriorAt(i int) float64 {
	if s.prior != nil {
		return s.prior[i]
	}
	d := s.Family.Dim()
	h, precision := s.Model.NaturalPrior(i % d)
	if i < d {
		return h
	}
	return precision
}

// Lambda returns λ, the difference between the natural parameters of q and those of the prior. The
// argument natural holds those of q. λ is rounded to multiples of 2^-exponent. Lambda returns nil
// if λ does not fit on the lattice.
func (s *Setting) Lambda(natural []float64, exponent int) []lambda.Wide {
	all := make([]lambda.Wide, len(natural))
	for i, x := range natural {
		var ok bool
		if all[i], ok = lambda.Round(x-s.PriorAt(i), exponent); !ok {
			return nil
		}
	}
	return all
}

// Shares returns the number of noise shares that hide a client or a record from the observer of the
// privacy target.
func (s *Setting) Shares() int {
	if s.Study.Federation.Opens == study.OpenSums {
		return s.MinClients - s.Colluders
	}
	return 1
}

// Holders returns the largest number of clients in one opened sum that may have records of the same
// person. See [study.Study.Holders].
func (s *Setting) Holders() int { return s.Study.Holders(s.Clients) }

// PerUnit returns the largest number of records of one protected unit in a sum. For a person these
// are the rows at all clients together; for other units it is 1.
func (s *Setting) PerUnit() int { return s.Study.Privacy.Rows() * s.Holders() }

// TypicalRows returns √k, where k is the largest number of a person's rows that a client uses.
// Private steps clip the sum of a person's rows. That sum has norm √k if each row has norm 1 and
// the directions are independent. The result is 1 unless the privacy unit is the person.
func (s *Setting) TypicalRows() float64 {
	return math.Sqrt(float64(s.Study.Privacy.Rows()))
}

// Plans returns the number of plans in the whole study. There is one per round in a synchronous
// study, and one per round and client in other studies.
func (s *Setting) Plans() int {
	n := s.Study.Inference.Rounds
	if s.Study.Inference.Schedule != study.Synchronous {
		n *= s.Clients
	}
	return n
}

// ChangeClip returns the clipping bound C for a change of natural parameters. By default it is half
// of the precision that records of length 1 add to a coefficient, for the nominal number of records
// or, with parts, the number of records in a part.
func (s *Setting) ChangeClip() float64 {
	if c := s.Study.Privacy.Clip; c > 0 {
		return c
	}
	parts := max(1, s.Study.Inference.Partitions.Count)
	return float64(s.Study.Federation.NominalRecords) / float64(parts) * s.Model.Curvature() / 2
}

// RecordBound returns an upper bound on the norm of a record's natural parameters. It is rough,
// unless the model is conjugate.
func (s *Setting) RecordBound() float64 {
	squares, fourths := s.Study.RegressorBounds()
	if linear := s.Model.Linear(); linear != nil {
		return linear.StatisticsBound(squares, fourths, s.Study.OutcomeBound())
	}
	return s.Model.RecordBound()
}

// SplitPrior wraps the given solver if the study divides the prior among the clients
// (inference.split_prior).
func (s *Setting) SplitPrior(of solver.Solver) solver.Solver {
	if s.Study.Inference.SplitPrior {
		return solver.SplitPrior(of, s.Clients)
	}
	return of
}

// NewSolver returns the study's solver for a client's records. It adds no noise.
func (s *Setting) NewSolver(records *shard.Shard) (solver.Solver, error) {
	in := s.Study.Inference
	if in.Solver == study.Conjugate {
		return s.SplitPrior(solver.NewConjugate(s.Model.Linear(), records)), nil
	}
	l, err := s.Model.Likelihood(records, s.Clients)
	if err != nil {
		return nil, err
	}
	refine, err := solver.New(in.Solver, in.Ascent, l)
	if err != nil {
		return nil, err
	}
	return s.SplitPrior(refine), nil
}

// Messages describes the vectors that clients send in the rounds.
type Messages struct {
	Size     int            // number of elements in a release, and in an opened sum
	Lattice  dpmech.Lattice // lattice that elements are rounded to
	Range    dpmech.Range   // bound on the elements of releases and sums
	Exponent int            // the number n in a message stands for n·2^-Exponent
}

// Limit returns the largest absolute value that an element of a release can have.
func (m Messages) Limit() int64 { return m.Range.Of(1) }

// HiddenMessages describes messages that contain changes of λ, with noise from the mechanism m.
func (s *Setting) HiddenMessages(m *dpmech.GaussianSum) (Messages, error) {
	return s.changes(m.Lattice(), phase.RangeOf(s.Study, m, s.Clients), float64(m.MaxTotal()))
}

// FactorMessages describes messages that contain changes of factors without noise of their own. An
// element of a factor is at most the bound on a record, times the largest number of records. There
// is room for changes that are 2^headroomBits = 64 times as large.
//
// If m is not nil, the factor is computed from statistics that m releases. In that case it is at
// most a few times as large as the largest statistics including their noise.
func (s *Setting) FactorMessages(m *dpmech.GaussianSum) (Messages, error) {
	largest := float64(s.Study.Federation.MaxRecords) * s.RecordBound()
	if m != nil {
		largest += m.Lattice().Float(m.MaxTotal())
	}
	_, bits := math.Frexp(largest * float64(s.Clients))
	lattice, err := dpmech.NewLattice(phase.MessageBits - headroomBits - bits)
	if err != nil {
		return Messages{}, err
	}
	limit := int64(1) << phase.MessageBits / int64(s.Clients)
	if m != nil && s.Study.Version > 1 {
		statistics := m.Lattice().Float(m.Range().Of(1))
		if s.Study.Inference.SplitPrior { // a factor contains a share of the prior
			for i := range s.Family.Size() {
				statistics = math.Max(statistics, math.Abs(s.PriorAt(i)))
			}
		}
		limit = min(limit, int64(math.Ceil(statisticsRoom*statistics/lattice.Step())))
	}
	return s.changes(lattice, dpmech.Range{Signal: limit}, 1<<phase.MessageBits)
}

// changes describes messages that contain changes of λ whose sum is at most total lattice steps. It
// returns an error if λ could overflow.
func (s *Setting) changes(lattice dpmech.Lattice, within dpmech.Range, total float64) (Messages, error) {
	m := Messages{Size: s.Family.Size(), Lattice: lattice, Range: within, Exponent: lattice.Exponent() + DampingBits}
	bits := math.Log2(total) + DampingBits + math.Log2(float64(s.Plans()))
	if s.Coordinates.Centred() {
		m.Exponent += lambda.CentreBits
		bits += lambda.CentreBits + lambda.CentreLimit + math.Log2(float64(s.Model.Dim()+1))
	}
	if bits > wideBits {
		return m, fmt.Errorf("λ could need %.0f bits and has %d: lower the number of rounds, clients or records", bits, wideBits)
	}
	return m, nil
}

// Round returns the number of the round that plan number n belongs to. Both are counted from 1, and
// Round(0) is 0.
func (s *Setting) Round(n int) int {
	if s.Study.Inference.Schedule == study.Synchronous || n == 0 {
		return n
	}
	return (n-1)/s.Clients + 1
}
