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

// A Method describes the kind of release that clients make in the rounds, with its cost and its
// code for client and coordinator. It is immutable.
type Method interface {
	// Messages returns the size, lattice and range of the numbers that clients send.
	Messages() Messages

	// Releases returns the number of releases that a client makes in all rounds together.
	// ReleasesAfter returns the number of releases that a client has made after it has answered the
	// given number of rounds. Both count only releases that cost privacy.
	Releases() int
	ReleasesAfter(rounds int) int

	// Event returns the cost of a client's first releases under an adjacency. releases is their
	// number, and shares is the number of noise shares in an opened sum that the observer cannot
	// subtract. The study must have a privacy guarantee.
	Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Increment returns the cost of a client's releases from number after + 1 to number last. A
	// ledger charges this cost when the releases are made. The costs of all increments of a study
	// compose to the cost that Event returns.
	Increment(shares int, adjacency accountant.Adjacency, after, last int) (accountant.Event, error)

	// Adjacencies returns the adjacencies under which the cost is known, the study's own
	// adjacency first.
	Adjacencies() []accountant.Adjacency

	// Noise returns the noise of a release. The noise is zero if the study has no privacy
	// guarantee.
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
	// prior, before any client has changed λ.
	NewWalk() Walk

	// Exact reports whether all machines compute the same bits of λ. Otherwise λ is computed in
	// floating-point arithmetic, and may differ between machines by rounding, up to [Tolerance].
	Exact() bool
}

// A Client is a client's half of a method. It makes releases, and keeps the state that later
// releases need. The state must not leave the client.
type Client interface {
	// Release writes the numbers that answer a task to dst, with noise from src. It draws the noise
	// before it reads the records, and counts the release in Spent. drawn is true if Release drew
	// noise for this task; the client must then not answer the task again. drawn and the count are
	// right even if Release returns an error. After an error dst must not be sent.
	Release(dst []int64, t *Task, src *dpmech.Stream) (drawn bool, err error)

	// Follow moves the client's factor after the outcome of the last task. The caller calls Follow
	// if the outcome was accepted and includes this client's answer. The outcome moves λ by
	// alpha·2^-DampingBits times the answer, in coordinates with the given centre.
	Follow(alpha int64, centre []int64)

	// Spent returns the numbers of releases so far.
	Spent() Spent

	// Ahead returns the number of releases that the next answer makes if the study's budget
	// covers them.
	Ahead() int

	// Reuses reports whether the next answer costs nothing, because the answer is a function of
	// earlier releases or because the study has no privacy guarantee.
	Reuses() bool

	// Save writes the client's state to m. Check returns an error if m is not a possible state of
	// a client whose last answer was to the plan with the given number. Restore sets a new client
	// to a state for which Check returned nil.
	Save(m *Memory)
	Check(m *Memory, answered int) error
	Restore(m *Memory) error
}

// A Task is a plan that a client answers, together with the client's own λ and q.
type Task struct {
	Number        int // number of the plan
	Lambda        []lambda.Wide
	Natural, Mean []float64 // natural parameters and mean of the client's q
	Centre        []int64   // public centre of the coordinates in which changes are clipped, in units of 2^-lambda.CentreBits
	Walk          Walk      // the client's own Walk

	// Weight is the damping α of the plan times the number of clients of the plan. If all of these
	// clients answer with the same change, λ moves by Weight times that change.
	Weight float64
}

// Spent holds the numbers of a client's releases so far.
type Spent struct {
	Changes    int // number of released changes of natural parameters
	Statistics int // number of noisy sums over the client's records: statistics, gradients or sites
}

// Memory is the saved state of a [Client].
type Memory struct {
	Factor   []lambda.Wide
	Proposed []int64 // change proposed in the last answer; whether this change includes the noise depends on the method
	Spent    Spent
	Solver   []byte
	Parts    json.RawMessage
}

// A Walk is the half of a method that computes λ from opened sums. The server and every client
// have a Walk of their own.
type Walk interface {
	// Step returns the Move to the λ after plan number n. sum is the opened sum of the given number
	// of answers, in coordinates around centre. The damping is alpha·2^-DampingBits. Step returns
	// nil if the result is not finite or does not fit on the lattice.
	Step(n, answers int, alpha int64, sum, centre []int64) Move

	// Begin returns moves from λ = 0 to the λ before the first outcome, in order of preference. End
	// returns moves from the λ after the last outcome to the final λ. The caller commits the first
	// move after which q is a proper distribution.
	Begin() []Move
	End() []Move

	// Save returns the state that the Walk keeps in addition to λ, or nil if it keeps none. Restore
	// restores this state. It returns moves from λ = 0 to the saved λ, in order of preference, like
	// Begin. ended is true if the last outcome of the study has been applied.
	Save() []byte
	Restore(to []lambda.Wide, saved []byte, ended bool) ([]Move, error)
}

// A Move is a change of λ that can be undone.
type Move interface {
	// To returns λ after the move, given λ before the move. It may overwrite its argument. Back
	// returns λ before the move, given λ after the move.
	To(before []lambda.Wide) []lambda.Wide
	Back(after []lambda.Wide) []lambda.Wide

	// Commit makes the move final. Later steps start from the new λ.
	Commit()
}

// Tolerance is the largest allowed relative difference between the λ of two machines if λ is
// computed in floating-point arithmetic. Let Λ be the precision. A difference in element (i, j) of
// Λ is divided by √(Λii Λjj). A difference in element i of the precision times the mean is divided
// by the absolute value of the element plus √Λii. After a thousand steps the rounding difference
// is about 2^-45.
const Tolerance = 0x1p-24

// Refining is implemented by methods in which clients compute their factors with a solver.
type Refining interface {
	Method

	// NewSolver returns the solver for the records of a client.
	NewSolver(*shard.Shard) (solver.Solver, error)

	// NewSolverClient returns the client's half of the method, which computes its factors with the
	// solver s. s must be a solver that NewSolver returned, or wrap such a solver.
	NewSolverClient(s solver.Solver) Client
}

// Single is implemented by methods that have one mechanism, which hides every release.
type Single interface {
	Method

	// Mechanism returns the mechanism that hides all releases.
	Mechanism() *dpmech.GaussianSum
}

// Signalled is implemented by methods that compute the posterior from sums over clients. The width
// of the intervals depends mainly on one public number, which is called the signal.
type Signalled interface {
	Method

	// Signal returns S = Mμ/√d for M clients and d coordinates. Here μ is the parameter of a
	// Gaussian release that costs as much as all releases of a client, when all M clients add
	// noise.
	Signal() float64
}

// Foreseeing is implemented by methods that can simulate a study with synthetic clients before any
// record is read.
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

	// Remarks returns remarks about the posterior that are computed from the opened sums. It
	// returns nil before the first outcome.
	Remarks() *Remarks
}

// Remarks describe a posterior and its limits in words.
type Remarks struct {
	Sentences []string
	Arrived   bool              // whether the rounds converged, as far as the opened sums show; if false, intervals may be wrong
	Tables    *describe.Summary // tables that describe the records; nil if the study asks for none, or if they were not released
	HeldOut   *describe.Scored  // scores of held-out records; nil if the study asks for none, or if they were not released
}

// Stepped is implemented by methods in which a client takes steps over random batches of its
// records. Every step releases a noisy sum.
type Stepped interface {
	Method

	// Steps describes the private steps of clients.
	Steps() *Steps

	// Sampled returns the mechanism of every step of a client that has the number of records for
	// which the method computes its cost. For clients with other numbers of records the batches
	// differ, but the clip, noise, lattice and cost are the same.
	Sampled() *dpmech.SampledSum

	// Start returns the mechanism that releases the statistics from which clients start. The second
	// result is false if clients do not start from statistics.
	Start() (*dpmech.GaussianSum, bool)

	// AveragedNoise returns the sd of a client's noise in the average over all of the client's sums
	// of clipped gradients. There is one sum, with its own noise, for each step and each draw of θ
	// in the step.
	AveragedNoise() float64

	// ClosedFormNoise returns τ, the sd of the noise of all clients together in the averaged sums
	// of clipped gradients. The average is over the steps over which a client averages q for its
	// proposal.
	ClosedFormNoise() float64
}

// StepsOf returns the description of the private steps of a method. ok is false if clients take no
// private steps.
func StepsOf(m Method) (*Steps, bool) {
	stepped, ok := m.(Stepped)
	if !ok {
		return nil, false
	}
	return stepped.Steps(), true
}

// Steps describes private steps over batches. All of its fields are computed from public
// numbers.
type Steps struct {
	Round    int // number of steps of a client in each round
	Total    int // number of steps of a client in the whole study
	Rate     float64
	StepSize float64 // size of the first step; later steps get linearly smaller, down to StepSize times the study's Decay
	Batch    int     // batch size of a client with the nominal number of records; 0 if the size is not fixed
	Clip     float64
	Typical  float64 // typical norm of a record's contribution, from which Clip is computed; 0 if the study gives Clip

	InitialSD float64 // upper bound on the sds of q at the first step
	Epoch     int     // number of steps whose batches are drawn and charged together; 1 if steps are independent
}

// A Device is a [Method] whose clients may take their steps on a device.
type Device interface {
	Method

	// OnDevice returns nil if a device can take the steps of the study, and otherwise an error
	// with the reason. The result depends on public numbers only.
	OnDevice() error
}

// A DeviceClient is a [Client] that may take its steps on a device.
type DeviceClient interface {
	Client

	// OnDevice makes the client take its steps on a device. The client must have been made from the
	// same records. The privacy cost does not change. After an error the client is unchanged.
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

// A Draft is a method whose noise multiplier is not yet known. Calling the Draft with a noise
// multiplier returns the method.
type Draft func(multiplier float64) (Method, error)
