package method

import (
	"encoding/json"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A Method is one kind of release that clients make in the rounds. It is immutable.
type Method interface {
	// Messages describes the numbers that clients send.
	Messages() Messages

	// Releases returns the number of a client's releases in the rounds that cost privacy.
	// ReleasesAfter returns the number of these releases that a client has made after it
	// answered the given number of rounds.
	Releases() int
	ReleasesAfter(rounds int) int

	// Event returns the cost of a client's first releases under an adjacency. The observer does
	// not know the number shares of the noise shares in an opened sum. The study must have a
	// privacy promise.
	Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Increment returns the cost of releases from+1 to to, for a ledger that is charged release
	// by release. The increments of a study compose to its Event.
	Increment(shares int, adjacency accountant.Adjacency, from, to int) (accountant.Event, error)

	// Adjacencies returns the adjacencies under which the cost is known. The study's own
	// adjacency comes first.
	Adjacencies() []accountant.Adjacency

	// Noise returns the noise of a release. It is zero if the study has no privacy promise.
	Noise() Noise

	// Forecast compares the noise with the signal. The study must have a privacy promise.
	Forecast() Forecast

	// CheckShard returns an error for records that this method cannot use. It does not check
	// the study's limits on records, which hold for every method.
	CheckShard(*shard.Shard) error

	// NewClient returns the client's half of the method for the given records, before its first
	// release.
	NewClient(*shard.Shard) (Client, error)

	// NewWalk returns the half of the method that computes λ from opened sums. It starts at the
	// prior.
	NewWalk() Walk

	// Exact reports whether all machines compute the same λ to the bit. Otherwise λ is computed
	// in floating-point arithmetic, and machines may differ by rounding, up to [Tolerance].
	Exact() bool
}

// A Client is a client's half of a method. It makes releases, and keeps the state on which
// later releases depend. The state must not leave the client.
type Client interface {
	// Release writes to dst the numbers that answer a task, with noise from src. It draws the
	// noise of a release before it reads the records, and counts the release in Spent, even if
	// it returns an error. Release reports whether it drew noise for this task, even if it
	// returns an error. If it did, the client must not answer the task again. After an error
	// dst must not be sent.
	Release(dst []int64, t *Task, src *dpmech.Stream) (drawn bool, err error)

	// Follow is called if the outcome of the last task was accepted and counts this client's
	// answer. The outcome moves λ by alpha·2^-DampingBits times the answer, in coordinates with
	// the given centre.
	Follow(alpha int64, centre []int64)

	// Spent returns the numbers of releases so far.
	Spent() Spent

	// Ahead returns the number of releases that the next answer makes. It does not consider how
	// many releases the study still pays for.
	Ahead() int

	// Reuses reports whether the next answer is a function of earlier releases, or costs
	// nothing because the study has no privacy promise.
	Reuses() bool

	// Save writes the client's state to m. Check returns an error for a state that is
	// impossible after the client answered plan number answered. Restore sets a new client to a
	// state that passed Check.
	Save(m *Memory)
	Check(m *Memory, answered int) error
	Restore(m *Memory) error
}

// A Task is a plan together with the client's own view of λ and q.
type Task struct {
	Number        int // of the plan
	Lambda        []lambda.Wide
	Natural, Mean []float64 // of q
	Centre        []int64   // of clipping coordinates
	Walk          Walk      // of the client

	// Weight is the distance that λ moves, in units of one client's change, if all clients of
	// the plan answer with the same change. It is α times the number of clients.
	Weight float64
}

// Spent counts releases.
type Spent struct {
	Changes    int // of natural parameters
	Statistics int // noisy sums over the client's records, of statistics, gradients or sites
}

// Memory is the saved state of a [Client].
type Memory struct {
	Factor   []lambda.Wide
	Proposed []int64 // the change in the last answer, as the client may remember it
	Spent    Spent
	Solver   []byte
	Parts    json.RawMessage
}

// A Walk is the half of a method that computes λ from opened sums. The server and every client
// have a Walk.
type Walk interface {
	// Step returns the move of λ by the sum of so many answers that was opened for plan number
	// n, with damping alpha·2^-DampingBits and a centre. It returns nil if the result is not
	// finite or does not fit on the lattice.
	Step(n, answers int, alpha int64, sum, centre []int64) Move

	// Begin returns candidate moves from zero to the λ before the first outcome. End returns
	// candidate moves from the λ after the last outcome to the final λ. The caller makes the
	// first move that leads to a proper distribution.
	Begin() []Move
	End() []Move

	// Save returns the state that the walk has in addition to λ, or nil if λ is all. Restore
	// returns candidate moves to a saved λ and state. ended is true if the last outcome has
	// been applied.
	Save() []byte
	Restore(to []lambda.Wide, saved []byte, ended bool) ([]Move, error)
}

// A Move changes λ.
type Move interface {
	// To returns λ after the move, given λ before the move. It may overwrite its argument. Back
	// undoes To.
	To(before []lambda.Wide) []lambda.Wide
	Back(after []lambda.Wide) []lambda.Wide

	// Commit makes the move final. Later steps start from the new λ.
	Commit()
}

// Tolerance is the largest difference between the λ of two machines if λ is computed in
// floating-point arithmetic. It is in units of an element's own scale: the precision for an
// element of the precision, and the absolute value plus the root of the precision for an
// element of the precision times the mean. After a thousand steps the rounding difference is
// about 2^-45.
const Tolerance = 0x1p-24

// A Refining method has a solver that refines the factor of a client.
type Refining interface {
	Method

	// NewSolver returns the solver for the records of a client.
	NewSolver(*shard.Shard) (solver.Solver, error)

	// NewSolverClient returns the half of a client whose factor s refines. s is the method's
	// own solver, or a solver that wraps it.
	NewSolverClient(s solver.Solver) Client
}

// A Single method hides every release with the same mechanism.
type Single interface {
	Method

	// Mechanism returns the mechanism.
	Mechanism() *dpmech.GaussianSum
}

// A Stepped method releases noisy sums over random batches of a client's records, one in
// every step.
type Stepped interface {
	Method

	// Steps describes the steps.
	Steps() *Steps

	// Sampled returns the mechanism of every step for the number of records for which the
	// method states its cost. For a client with another number of records only the batches
	// differ, and the clip, noise, lattice and cost are the same.
	Sampled() *dpmech.SampledSum

	// Start returns the mechanism that releases the statistics from which clients start. It
	// returns false if clients do not start from statistics.
	Start() (*dpmech.GaussianSum, bool)

	// AveragedNoise returns the sd of a client's noise on the sum of its clipped gradients,
	// averaged over all steps and their draws of θ.
	AveragedNoise() float64

	// ClosedFormNoise returns τ, the sd of the noise of all clients on the sum of clipped
	// gradients, averaged over the steps whose average clients propose.
	ClosedFormNoise() float64
}

// StepsOf returns the steps of a method; false if it has none.
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
	Round    int // steps of a client in one round
	Total    int // steps of a client in the whole study
	Rate     float64
	StepSize float64 // of the first step; it falls linearly to the study's Decay times that
	Batch    int     // size of the batches of a client with the nominal number of records, if they have a fixed size; 0 else
	Clip     float64
	Typical  float64 // norm of a record's typical contribution, from which Clip follows; 0 if the study gives the clip

	InitialSD float64 // bound on the sds of q at the very first step
	Epoch     int     // steps whose batches are drawn, and charged, together; 1 if steps are independent
}

// A Device is a [Method] whose clients may take their steps on a device.
type Device interface {
	Method

	// OnDevice returns nil if a device can take the steps of the study, and otherwise an error
	// with the reason. The result depends on public numbers only.
	OnDevice() error
}

// A DeviceClient is a [Client] whose steps a device may take.
type DeviceClient interface {
	Client

	// OnDevice makes the client take its steps on a device. The records must be those with
	// which the client was made. The privacy cost does not change. After an error the client is
	// unchanged.
	OnDevice(records *shard.Shard, a solver.Accelerator) error
}

// Noise describes the noise of a release.
type Noise struct {
	Clip       float64 // C
	Multiplier float64 // σ
	SD         float64 // of a client's noise in one release
	Sigma      int64   // the same, in steps of the lattice
	Lattice    dpmech.Lattice
}

// noisy is the interface of mechanisms that NoiseOf reads.
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

// A Draft is a method without its noise. It takes a noise multiplier and returns the complete
// method.
type Draft func(multiplier float64) (Method, error)
