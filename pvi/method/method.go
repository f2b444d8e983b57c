package method

import (
	"encoding/json"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A Method is one kind of release that clients make in the rounds. It does not change.
type Method interface {
	// Messages describes the numbers that clients send.
	Messages() Messages

	// Releases returns how many of a client's releases in the rounds cost privacy.
	// ReleasesAfter returns how many of them a client has made if it answered so many
	// rounds.
	Releases() int
	ReleasesAfter(rounds int) int

	// Event returns the cost of a client's first releases under an adjacency, against an
	// observer who does not know shares of the noise shares of an opened sum. The study
	// must make a promise.
	Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

	// Increment returns the cost of releases from+1 to to, for a ledger that is charged as
	// they happen. The increments of a study compose to its Event.
	Increment(shares int, adjacency accountant.Adjacency, from, to int) (accountant.Event, error)

	// Adjacencies returns the adjacencies under which the cost is known, the study's own
	// first.
	Adjacencies() []accountant.Adjacency

	// Noise returns the noise of a release. It is zero if the study makes no promise.
	Noise() Noise

	// Forecast compares the noise with the signal. The study must make a promise.
	Forecast() Forecast

	// CheckShard returns an error for records that the method cannot work with, beyond the
	// limits of the study that hold for every method.
	CheckShard(*shard.Shard) error

	// NewClient returns the half of a client with the given records, before its first
	// release.
	NewClient(*shard.Shard) (Client, error)

	// NewWalk returns the half that follows opened sums, at the prior.
	NewWalk() Walk

	// Exact reports whether all machines have the same λ to the bit. Otherwise λ follows from
	// floating-point arithmetic, and machines may differ by rounding, up to [Tolerance].
	Exact() bool
}

// A Client is a client's half of a method. It makes releases, and keeps the state that later
// releases depend on. It is private to the client.
type Client interface {
	// Release writes to dst the numbers that answer a task, with noise from src. The noise of
	// a release is drawn before the client looks at its records for it, and the release is
	// counted in Spent, also beside an error. Release reports whether noise for this task was
	// drawn, also beside an error: then the client must not answer the task again. After an
	// error dst must not be sent.
	Release(dst []int64, t *Task, src *dpmech.Stream) (drawn bool, err error)

	// Follow is called if the outcome of the last task was accepted. The outcome counts this
	// client's answer, moves λ by alpha·2^-DampingBits times it, and has the given centre.
	Follow(alpha int64, centre []int64)

	// Spent counts the releases so far.
	Spent() Spent

	// Ahead returns how many releases the next answer makes, as long as the study pays for
	// them.
	Ahead() int

	// Reuses reports whether the next answer is a function of earlier releases, or costs
	// nothing because the study makes no promise.
	Reuses() bool

	// Save writes the client's state to m. Check returns an error for a state that the
	// client cannot have after it answered plan number answered. Restore sets a new client
	// to a state that passed Check.
	Save(m *Memory)
	Check(m *Memory, answered int) error
	Restore(m *Memory) error
}

// A Task is a plan, as a client knows it.
type Task struct {
	Number        int // of the plan
	Lambda        []lambda.Wide
	Natural, Mean []float64 // of q
	Centre        []int64   // of clipping coordinates
	Walk          Walk      // of the client

	// Weight is the number of changes of one client by which λ moves if all clients of the
	// plan answer alike.
	Weight float64
}

// Spent counts releases.
type Spent struct {
	Changes    int // of natural parameters
	Statistics int // noisy sums over the client's records, of statistics, gradients or sites
}

// Memory is the state of a [Client].
type Memory struct {
	Factor   []lambda.Wide
	Proposed []int64 // the change in the last answer, as the client may remember it
	Spent    Spent
	Solver   []byte
	Parts    json.RawMessage
}

// A Walk is the half of a method that follows opened sums to λ. Every machine has one.
type Walk interface {
	// Step returns the move of λ by the sum that was opened for plan number n, with damping
	// alpha·2^-DampingBits and a centre; nil if the sum leads beyond all numbers.
	Step(n int, alpha int64, sum, centre []int64) Move

	// Begin returns moves from zero to the λ before the first outcome, and End moves from
	// the λ after the last outcome to the final one. The first move to a proper distribution
	// is made.
	Begin() []Move
	End() []Move

	// Save returns the state of the walk beside λ; nil if it has none. Restore returns moves
	// to a saved λ and state; ended reports whether the last outcome has been followed.
	Save() []byte
	Restore(to []lambda.Wide, saved []byte, ended bool) ([]Move, error)
}

// A Move changes λ.
type Move interface {
	// To returns λ after the move, in the place of λ before it; Back undoes it.
	To(before []lambda.Wide) []lambda.Wide
	Back(after []lambda.Wide) []lambda.Wide

	// Commit makes the move final: later steps start from it.
	Commit()
}

// Tolerance is how far λ of two machines may be apart where it follows from floating-point
// arithmetic, in units of an element's own scale: the precision, or its root for the
// precision times the mean. After a thousand steps rounding makes a difference of some 2^-45.
const Tolerance = 0x1p-24

// A Refining method has a solver that refines the factor of a client.
type Refining interface {
	Method

	// NewSolver returns the solver for the records of a client.
	NewSolver(*shard.Shard) (solver.Solver, error)

	// NewSolverClient returns the half of a client whose factor is refined by s, which is
	// the solver of the method or one around it.
	NewSolverClient(s solver.Solver) Client
}

// A Single method hides every release with one mechanism.
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

	// Sampled returns the mechanism of every step for a client with as many records as the
	// study permits. A client with fewer records has the same clip, noise, lattice and cost.
	Sampled() *dpmech.SampledSum

	// Start returns the mechanism of the statistics from which clients start; false if they
	// start at the prior.
	Start() (*dpmech.GaussianSum, bool)

	// AveragedNoise returns the sd of a client's noise on the sum of its clipped gradients,
	// averaged over all steps and their draws: no number of steps takes it away.
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

// Steps describes private steps over batches. All of it follows from public numbers.
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

	// OnDevice returns why no device can take the steps of the study, nil if one can. The
	// answer depends on public numbers only.
	OnDevice() error
}

// A DeviceClient is a [Client] whose steps a device may take.
type DeviceClient interface {
	Client

	// OnDevice has a device take the steps, on the records with which the client was made.
	// The cost is the same. After an error nothing has changed.
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

// noisy is a mechanism.
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

// A Draft is a method but for its noise: it returns the method with a noise multiplier.
type Draft func(multiplier float64) (Method, error)
