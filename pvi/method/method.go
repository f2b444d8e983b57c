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

// A Method describes the releases that clients make in the rounds. It is immutable.
type Method interface {
	// Messages returns the size, lattice and range of the numbers that clients send.
	Messages() Messages

	// Releases returns the number of releases that a client makes in all rounds. ReleasesAfter
	// returns the number after the given number of rounds. Both count only releases that cost
	// privacy.
	Releases() int
	ReleasesAfter(rounds int) int

	// Event returns the cost of a client's first releases, as many as releases says, under an
	// adjacency. shares is the number of noise shares in an opened sum that the observer cannot
	// subtract. The study must have a privacy guarantee.
	Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Increment returns the cost that a ledger charges for the releases number after+1 to number last.
	// All increments of a study together cost as much as Event of all releases.
	Increment(shares int, adjacency accountant.Adjacency, after, last int) (accountant.Event, error)

	// Adjacencies returns the adjacencies for which the cost is known, beginning with the study's own.
	Adjacencies() []accountant.Adjacency

	// Noise describes the noise in a release. It is zero if the study has no privacy guarantee.
	Noise() Noise

	// Forecast compares the noise with the signal. The study must have a privacy guarantee.
	Forecast() Forecast

	// CheckShard returns an error if the method cannot use the given records. It does not check the
	// number of regressors.
	CheckShard(*shard.Shard) error

	// NewClient returns the part of the method that runs at a client with the given records. It has
	// not made any releases yet.
	NewClient(*shard.Shard) (Client, error)

	// NewWalk returns the part of the method that computes λ from opened sums. It starts at the prior.
	NewWalk() Walk

	// Exact reports whether all machines compute exactly the same λ. If not, λ is computed in floating
	// point, and may differ between machines by up to [Tolerance].
	Exact() bool
}

// A Client is the part of a method that runs at a client. It makes releases, and keeps state
// between them. The state must not leave the client.
type Client interface {
	// Release writes the answer to a task to dst, with noise from src. It draws the noise before it
	// reads the records, and counts the release in Spent. drawn reports whether it has drawn the
	// noise; if so, the task must not be answered again. Even if Release returns an error, drawn and
	// the count are right, but dst must not be sent.
	Release(dst []int64, t *Task, src *dpmech.Stream) (drawn bool, err error)

	// Follow moves the client's factor after an accepted outcome that contains this client's answer. λ
	// moves by alpha·2^-DampingBits times the answer, in coordinates relative to centre.
	Follow(alpha int64, centre []int64)

	// Spent returns how many releases the client has made so far.
	Spent() Spent

	// Ahead returns the number of releases that the next answer will make, if the study's budget is
	// sufficient.
	Ahead() int

	// Reuses reports whether the next answer is free, either because it is computed from earlier
	// releases or because the study has no privacy guarantee.
	Reuses() bool

	// Save writes the client's state to m. Check returns an error if m cannot be the state of a client
	// whose last answer was to the plan with the given number. Restore restores a state that Check has
	// accepted.
	Save(m *Memory)
	Check(m *Memory, answered int) error
	Restore(m *Memory) error
}

// A Task is a plan for a client to answer, together with the client's own λ and q.
type Task struct {
	Number        int // number of the plan
	Lambda        []lambda.Wide
	Natural, Mean []float64 // natural parameters and mean of q, as computed by the client
	Centre        []int64   // point around which changes are clipped, in units of 2^-lambda.CentreBits
	Walk          Walk      // the client's own Walk

	// Weight is the damping α of the plan times the number of clients it asks. If all of them send the
	// same change, λ moves by Weight times that change.
	Weight float64
}

// Spent counts a client's releases so far.
type Spent struct {
	Changes    int // released changes of natural parameters
	Statistics int // noisy sums over the client's records, which may be statistics, gradients or sites
}

// Memory is the saved state of a [Client].
type Memory struct {
	Factor   []lambda.Wide
	Proposed []int64 // the change proposed in the last answer; some methods include the noise
	Spent    Spent
	Solver   []byte
	Parts    json.RawMessage
}

// A Walk is the part of a method that computes λ from opened sums. The server has one, and so does
// each client.
type Walk interface {
	// Step returns the Move to λ after plan number n. sum is the opened sum of the answers, in
	// coordinates relative to centre. The damping is alpha·2^-DampingBits. Step returns nil if the new
	// λ is not finite or does not fit on the lattice.
	Step(n, answers int, alpha int64, sum, centre []int64) Move

	// Begin returns moves from λ = 0 to the initial λ, and End returns moves from the λ after the last
	// outcome to the final λ. The caller commits the first move that makes q proper.
	Begin() []Move
	End() []Move

	// Save returns the part of the Walk's state that λ does not determine, or nil if there is none.
	// Restore restores this state and, like Begin, returns moves from λ = 0 to the saved λ. If ended
	// is true, the state was saved after the last outcome of the study.
	Save() []byte
	Restore(to []lambda.Wide, saved []byte, ended bool) ([]Move, error)
}

// A Move is a change of λ that can be undone.
type Move interface {
	// To returns λ after the move, given λ before the move. It may overwrite its argument. Back is the
	// inverse of To.
	To(before []lambda.Wide) []lambda.Wide
	Back(after []lambda.Wide) []lambda.Wide

	// Commit makes the move final.
	Commit()
}

// Tolerance is the largest relative difference that is allowed between the λ of two machines if λ
// is computed in floating point. For element (i, j) of the precision Λ, the difference is relative
// to √(Λii Λjj). For element i of the precision times the mean, it is relative to the element's
// absolute value plus √Λii. After a thousand steps, rounding causes a difference of about 2^-45.
const Tolerance = 0x1p-24

// Refining is implemented by methods whose clients use a solver to compute their factors.
type Refining interface {
	Method

	// NewSolver returns the solver for a client with the given records.
	NewSolver(*shard.Shard) (solver.Solver, error)

	// NewSolverClient returns the part of the method that runs at a client, with the solver s. The
	// solver must come from NewSolver, or wrap one that does.
	NewSolverClient(s solver.Solver) Client
}

// Single is implemented by methods with a single mechanism for all releases.
type Single interface {
	Method

	// Mechanism returns the mechanism that adds noise to all releases.
	Mechanism() *dpmech.GaussianSum
}

// Signalled is implemented by methods that compute the posterior from sums over clients. The width
// of their intervals depends mostly on one public number, the signal.
type Signalled interface {
	Method

	// Signal returns S = Mμ/√d for M clients and d coordinates. Here μ is the parameter of a Gaussian
	// release that costs as much as all releases of a client together, when all M clients add noise.
	Signal() float64
}

// Foreseeing is implemented by methods that can simulate a study before they read any record.
type Foreseeing interface {
	Method

	// Foresee returns, for each coordinate of θ, the posterior standard deviation relative to the
	// prior standard deviation. It simulates as many studies as federations says, and returns the
	// median of this ratio over them. If extent is 1, the values of numeric regressors fill their
	// bounds; if not, their standard deviations are multiplied by extent. After each simulated round,
	// Foresee calls played with the number of finished rounds and the number of all rounds. If played
	// returns an error, Foresee stops and returns that error. It also returns an error if a simulated
	// study overflows and thus has no posterior.
	Foresee(federations int, extent float64, played func(done, of int) error) ([]float64, error)
}

// Remarking is implemented by a [Walk] that has more to report than λ.
type Remarking interface {
	Walk

	// Remarks returns the method's remarks about the posterior, or nil before the first outcome. They
	// are computed from the opened sums.
	Remarks() *Remarks
}

// Remarks describes a posterior and its limits.
type Remarks struct {
	Sentences []string
	Arrived   bool              // whether the rounds have converged, as far as the sums show; if not, the intervals may be wrong
	Tables    *describe.Summary // tables that describe the records; nil if there are none
	HeldOut   *describe.Scored  // scores of held-out records; nil if there are none
}

// Stepped is implemented by methods in which a client takes steps. Each step releases a noisy sum
// over a random batch of the client's records.
type Stepped interface {
	Method

	// Steps describes the clients' private steps.
	Steps() *Steps

	// Sampled returns the mechanism for a step of a client that has the nominal number of records. For
	// other clients the batches have different sizes, but the clipping bound, noise, lattice and cost
	// are the same.
	Sampled() *dpmech.SampledSum

	// Start returns the mechanism for the statistics that clients start from. It returns false if they
	// do not use any.
	Start() (*dpmech.GaussianSum, bool)

	// AveragedNoise returns the standard deviation of a client's noise in the average of all its sums
	// of clipped gradients. There is a sum for each step and each draw of θ.
	AveragedNoise() float64

	// ClosedFormNoise returns τ. This is the standard deviation of the noise of all clients together,
	// in the average of the sums of clipped gradients over those steps over which a client averages q.
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

// Steps describes private steps over batches. All numbers are public.
type Steps struct {
	Round    int // number of steps that a client takes in each round
	Total    int // number of steps that a client takes in the whole study
	Rate     float64
	StepSize float64 // size of the first step; it decreases linearly to StepSize times the study's Decay
	Batch    int     // batch size for a client with the nominal number of records; 0 if batches have no fixed size
	Clip     float64
	Typical  float64 // typical norm of a record's contribution, used to compute Clip; 0 if the study gives Clip

	InitialSD float64 // upper bound on the standard deviations of q in the first step
	Epoch     int     // number of steps whose batches are drawn and paid for together; 1 if they are independent
}

// A Device is a [Method] whose clients may be able to take their steps on a device.
type Device interface {
	Method

	// OnDevice returns nil if a device can take the steps of the study, and an error with the reason
	// if it cannot. The result depends on public numbers only.
	OnDevice() error
}

// A DeviceClient is a [Client] that can use a device for its steps.
type DeviceClient interface {
	Client

	// OnDevice makes the client take its steps on a device. records must be those that the client was
	// made from. The privacy cost stays the same. If OnDevice returns an error, the client has not
	// changed.
	OnDevice(records *shard.Shard, a solver.Accelerator) error
}

// Noise describes the noise in a release.
type Noise struct {
	Clip       float64 // clipping bound C of a release
	Multiplier float64 // noise multiplier σ
	SD         float64 // standard deviation of a client's noise in one release
	Sigma      int64   // standard deviation of a client's noise, in lattice steps
	Lattice    dpmech.Lattice
}

type noisy interface {
	Clip() float64
	NoiseMultiplier() float64
	ShareSigma() int64
	Lattice() dpmech.Lattice
}

// NoiseOf describes the noise of a mechanism.
func NoiseOf(m noisy) Noise {
	return Noise{m.Clip(), m.NoiseMultiplier(), m.Lattice().Float(m.ShareSigma()), m.ShareSigma(), m.Lattice()}
}

// A Draft makes a method, given the noise multiplier.
type Draft func(multiplier float64) (Method, error)
