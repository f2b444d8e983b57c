package method

import (
	"encoding/json"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A Method describes the kind of release that clients make in the rounds. It is immutable.
type Method interface {
	// Messages returns the size, lattice and range of the numbers that clients send.
	Messages() Messages

	// Releases returns the number of releases that a client makes in all rounds. ReleasesAfter
	// returns the number after the given number of rounds. Both count only releases that cost
	// privacy.
	Releases() int
	ReleasesAfter(rounds int) int

	// Event returns the cost of a client's first releases under an adjacency. shares is the number
	// of noise shares in an opened sum that the observer cannot subtract. The study must have a
	// privacy guarantee.
	Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Increment returns the cost that a ledger charges for releases after+1 to last. All increments
	// of a study together cost as much as Event of all releases.
	Increment(shares int, adjacency accountant.Adjacency, after, last int) (accountant.Event, error)

	// Adjacencies returns the adjacencies under which the cost is known, the study's own
	// adjacency first.
	Adjacencies() []accountant.Adjacency

	// Noise returns the noise of a release. It is zero if the study has no privacy guarantee.
	Noise() Noise

	// Forecast compares the noise with the signal. The study must have a privacy guarantee.
	Forecast() Forecast

	// CheckShard returns an error if the method cannot use the given records. It does not check the
	// number of regressors.
	CheckShard(*shard.Shard) error

	// NewClient returns the client's half of the method for the given records, before its first
	// release.
	NewClient(*shard.Shard) (Client, error)

	// NewWalk returns the half of the method that computes λ from opened sums. It starts at the
	// prior.
	NewWalk() Walk

	// Exact reports whether all machines compute the same bits of λ. Otherwise λ is computed in
	// floating point and may differ between machines, up to [Tolerance].
	Exact() bool
}

// A Client is a client's half of a method. It makes releases and keeps state between them. The
// state must not leave the client.
type Client interface {
	// Release writes the answer to a task to dst, with noise from src. It draws the noise before it
	// reads the records, and counts the release in Spent. drawn reports whether it drew noise; if
	// so, the task must not be answered again. drawn and the count are right even if Release
	// returns an error, after which dst must not be sent.
	Release(dst []int64, t *Task, src *dpmech.Stream) (drawn bool, err error)

	// Follow moves the client's factor after an accepted outcome that includes this client's
	// answer. λ moves by alpha·2^-DampingBits times the answer, in coordinates around centre.
	Follow(alpha int64, centre []int64)

	// Spent returns the numbers of releases so far.
	Spent() Spent

	// Ahead returns the number of releases in the next answer, if the study's budget covers them.
	Ahead() int

	// Reuses reports whether the next answer costs nothing, because it is a function of earlier
	// releases or the study has no privacy guarantee.
	Reuses() bool

	// Save writes the client's state to m. Check returns an error if m cannot be the state of a
	// client that last answered the plan with the given number. Restore restores a state that
	// passed Check.
	Save(m *Memory)
	Check(m *Memory, answered int) error
	Restore(m *Memory) error
}

// A Task is a plan that a client answers, with the client's own λ and q.
type Task struct {
	Number        int // number of the plan
	Lambda        []lambda.Wide
	Natural, Mean []float64 // natural parameters and mean of the client's q
	Centre        []int64   // point around which changes are clipped, in units of 2^-lambda.CentreBits
	Walk          Walk      // the client's own Walk

	// Weight is the damping α of the plan times its number of clients. If they all send the same
	// change, λ moves by Weight times that change.
	Weight float64
}

// Spent counts a client's releases so far.
type Spent struct {
	Changes    int // released changes of natural parameters
	Statistics int // noisy sums over the client's records: statistics, gradients or sites
}

// Memory is the saved state of a [Client].
type Memory struct {
	Factor   []lambda.Wide
	Proposed []int64 // change proposed in the last answer; some methods include the noise
	Spent    Spent
	Solver   []byte
	Parts    json.RawMessage
}

// A Walk is the half of a method that computes λ from opened sums. The server and every client have
// their own.
type Walk interface {
	// Step returns the Move to the λ after plan number n. sum is the opened sum of the answers, in
	// coordinates around centre. The damping is alpha·2^-DampingBits. Step returns nil if the
	// result is not finite or does not fit on the lattice.
	Step(n, answers int, alpha int64, sum, centre []int64) Move

	// Begin returns moves from λ = 0 to the λ before the first outcome, and End from the λ after
	// the last outcome to the final one. The caller commits the first move after which q is proper.
	Begin() []Move
	End() []Move

	// Save returns the state of the Walk beside λ, or nil if there is none. Restore restores this
	// state and returns moves from λ = 0 to the saved λ, like Begin. ended is true after the last
	// outcome of the study.
	Save() []byte
	Restore(to []lambda.Wide, saved []byte, ended bool) ([]Move, error)
}

// A Move is a change of λ that can be undone.
type Move interface {
	// To returns the λ after the move, given the λ before. It may overwrite its argument. Back is
	// the inverse.
	To(before []lambda.Wide) []lambda.Wide
	Back(after []lambda.Wide) []lambda.Wide

	// Commit makes the move final.
	Commit()
}

// Tolerance is the largest allowed relative difference between the λ of two machines if λ is
// computed in floating point. A difference in element (i, j) of the precision Λ is divided by √(Λii
// Λjj). A difference in element i of the precision times mean is divided by the element's absolute
// value plus √Λii. After a thousand steps, rounding causes a difference of about 2^-45.
const Tolerance = 0x1p-24

// Refining is implemented by methods in which clients compute their factors with a solver.
type Refining interface {
	Method

	// NewSolver returns the solver for the records of a client.
	NewSolver(*shard.Shard) (solver.Solver, error)

	// NewSolverClient returns the client's half of the method with the solver s, which must come
	// from NewSolver or wrap such a solver.
	NewSolverClient(s solver.Solver) Client
}

// Single is implemented by methods that have one mechanism, which hides every release.
type Single interface {
	Method

	// Mechanism returns the mechanism that hides all releases.
	Mechanism() *dpmech.GaussianSum
}

// Signalled is implemented by methods that compute the posterior from sums over clients. One public
// number, the signal, largely determines the width of their intervals.
type Signalled interface {
	Method

	// Signal returns S = Mμ/√d for M clients and d coordinates. A Gaussian release with parameter μ
	// costs as much as all releases of a client, when all M clients add noise.
	Signal() float64
}

// Foreseeing is implemented by methods that can simulate a study before any record is read.
type Foreseeing interface {
	Method

	// Foresee returns, for each coordinate of θ, the sd of the posterior divided by the sd of the
	// prior. This ratio is the median over the given number of simulated studies. If extent is 1,
	// the values of numeric regressors fill their bounds. Otherwise their sds are multiplied by
	// extent. Foresee calls
	// played after each simulated round, with the number of rounds that are done and the number of
	// all rounds. If played returns an error, Foresee stops and returns this error. Foresee also
	// returns an error if a simulated study has no posterior, because its floating-point numbers
	// overflow.
	Foresee(federations int, extent float64, played func(done, of int) error) ([]float64, error)
}

// Remarking is implemented by each [Walk] that can report results other than λ.
type Remarking interface {
	Walk

	// Remarks returns remarks about the posterior, or nil before the first outcome. They are
	// computed from the opened sums.
	Remarks() *Remarks
}

// Remarks describe a posterior and its limits in words.
type Remarks struct {
	Sentences []string
	Arrived   bool              // whether the rounds converged, as far as the sums show; if not, intervals may be wrong
	Tables    *describe.Summary // tables that describe the records; nil if there are none
	HeldOut   *describe.Scored  // scores of held-out records; nil if there are none
}

// Stepped is implemented by methods in which a client takes steps over random batches of its
// records, each with a noisy sum.
type Stepped interface {
	Method

	// Steps describes the private steps of clients.
	Steps() *Steps

	// Sampled returns the mechanism of a step of a client with the nominal number of records. Other
	// clients have batches of other sizes, but the same clip, noise, lattice and cost.
	Sampled() *dpmech.SampledSum

	// Start returns the mechanism that releases the statistics from which clients start, if they
	// do.
	Start() (*dpmech.GaussianSum, bool)

	// AveragedNoise returns the sd of a client's noise in the average of all its sums of clipped
	// gradients. There is one sum for each step and each draw of θ.
	AveragedNoise() float64

	// ClosedFormNoise returns τ, the sd of the noise of all clients together in the sums of clipped
	// gradients, averaged over the steps over which a client averages q.
	ClosedFormNoise() float64
}

// StepsOf describes the private steps of a method. ok is false if there are none.
func StepsOf(m Method) (*Steps, bool) {
	stepped, ok := m.(Stepped)
	if !ok {
		return nil, false
	}
	return stepped.Steps(), true
}

// Steps describes private steps over batches, by public numbers.
type Steps struct {
	Round    int // number of steps of a client in each round
	Total    int // number of steps of a client in the whole study
	Rate     float64
	StepSize float64 // size of the first step; later ones decrease linearly to StepSize times the study's Decay
	Batch    int     // batch size of a client with the nominal number of records; 0 if not fixed
	Clip     float64
	Typical  float64 // typical norm of a record's contribution, from which Clip is derived; 0 if the study gives Clip

	InitialSD float64 // upper bound on the sds of q at the first step
	Epoch     int     // number of steps whose batches are drawn and charged together; 1 if they are independent
}

// A Device is a [Method] whose clients may take their steps on a device.
type Device interface {
	Method

	// OnDevice returns nil if a device can take the steps of the study, and otherwise the reason
	// why not. The result depends on public numbers only.
	OnDevice() error
}

// A DeviceClient is a [Client] that can take its steps on a device.
type DeviceClient interface {
	Client

	// OnDevice makes the client take its steps on a device, with the records that the client was
	// made from. The privacy cost does not change. After an error the client is unchanged.
	OnDevice(records *shard.Shard, a solver.Accelerator) error
}

// Noise describes the noise of a release.
type Noise struct {
	Clip       float64 // clip C of a release
	Multiplier float64 // noise multiplier σ
	SD         float64 // sd of a client's noise in one release
	Sigma      int64   // sd of a client's noise, in steps of the lattice
	Lattice    dpmech.Lattice
}

type noisy interface {
	Clip() float64
	NoiseMultiplier() float64
	ShareSigma() int64
	Lattice() dpmech.Lattice
}

// NoiseOf returns the noise of a mechanism.
func NoiseOf(m noisy) Noise {
	return Noise{m.Clip(), m.NoiseMultiplier(), m.Lattice().Float(m.ShareSigma()), m.ShareSigma(), m.Lattice()}
}

// A Draft makes a method from its noise multiplier.
type Draft func(multiplier float64) (Method, error)
