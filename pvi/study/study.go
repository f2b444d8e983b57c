package study

import (
	"crypto/sha256"
	"encoding/hex"
	"math"

	"fedpvi/accountant"
	"fedpvi/internal/document"
)

// A Digest identifies a study. It is the SHA-256 of the study's bytes.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// A Study is a study document that has been read and checked.
type Study struct {
	Digest Digest
	Source []byte // bytes of the document; Digest is their SHA-256

	Version int // version of the study language

	Name  string // name, made of lower-case letters, digits and dashes
	Title string // one-line title; default Name

	Table      Table
	Columns    []Column
	Model      Model
	Prior      Prior
	Inference  Inference
	Privacy    Privacy
	Federation Federation
	Simulation Simulation

	Standardisation *Standardisation // nil unless private releases are to find the scale of columns
	Describe        *Describe        // nil unless the study asks for tables that describe the records
	Compare         *Compare         // nil unless the study scores held-out records
}

// Table describes the format of a file of records.
type Table struct {
	Header    bool     // whether the first line has the column names; default true
	Separator rune     // field separator, one character; default a comma
	Trim      bool     // whether blanks around fields are ignored; default false
	Missing   []string // strings that stand for a missing value; default [""]

	// Person is the name of the column that identifies the person a row belongs to, if the privacy
	// unit is the person. Its values may be any text. They never leave the client.
	Person string
}

// Prior is the normal prior of every coefficient, on the model's scale.
type Prior struct {
	Mean, SD     float64           // mean and standard deviation of the prior; the default mean is 0, the default SD 1 or 2.5, depending on family and version
	Coefficients map[string]Normal // priors of individual coefficients by name

	Scale      LogNormal // prior of the noise's standard deviation, if that is learned; also of the standard deviations between groups, except with the solver Scoring
	Spread     float64   // scale of the half-normal prior of the standard deviations between groups; only with the solver Scoring
	Dispersion LogNormal // prior of the dispersion of counts
}

// LogNormal is the distribution of a positive number whose logarithm is normal with mean
// log(Median) and standard deviation log(Factor).
type LogNormal struct{ Median, Factor float64 }

// Normal returns the distribution of the logarithm.
func (l LogNormal) Normal() Normal { return Normal{math.Log(l.Median), math.Log(l.Factor)} }

// Normal is the normal distribution N(Mean, SD²).
type Normal struct{ Mean, SD float64 }

// A Schedule determines when plans are made, and which clients each plan asks.
type Schedule string

const (
	// Synchronous sends the same plan to all clients. λ moves by the damped sum of their changes.
	Synchronous Schedule = "synchronous"
	// Sequential sends each plan to one client, in the order of the roster.
	Sequential Schedule = "sequential"
	// Asynchronous sends a plan with the latest λ to each client that has no open plan. λ moves after
	// each answer.
	Asynchronous Schedule = "asynchronous"
)

// Factors says how the clients' factors λ_m are computed.
type Factors string

const (
	// Tied sets λ_m = w_m (λ − λ_prior) with public weights, so that clients need not store factors.
	Tied Factors = "tied"
	// Exact adds the client's own change, without noise, to λ_m. λ itself moves by the noisy changes,
	// so q has one more factor, which is the sum of all noise.
	Exact Factors = "exact"
	// Published adds the noisy change to λ_m, as in Sharma (2019). If only sums are opened, the
	// published privacy claim is wrong, and the option exists to show that.
	Published Factors = "published"
)

// Inference has the options of the algorithm that finds the posterior.
type Inference struct {
	Q        string // family of q: "full" (default) or "diagonal"
	Schedule Schedule
	Rounds   int // number of rounds; a synchronous round has one plan for all clients, any other round one plan per client
	Factors  Factors
	Solver   Solver
	Target   Target // population that the posterior describes, with the solver Scoring and the unit client
	Damping  Damping
	Ascent   Ascent  // options of the solver SVI
	Descent  Descent // options of the solver DPSVI; DPSEP uses some of them

	Propagation Propagation // options of the solver DPSEP

	NoiseAware       NoiseAware // how to compute a second posterior; default closed-form for DPSVI and DPSEP, none for other solvers
	Intervals        Intervals  // the value NoIntervals or ""; always "" in version 1
	NoiseAwareShares [3]float64 // shares of the budget that the rounds, the gradient and the curvature get with OneStep; computed if zero
	Partitions       Partitions

	// SplitPrior makes each of M clients use the prior raised to the power 1/M. Such a study has a
	// single round.
	SplitPrior bool
}

// A Solver is the algorithm by which a client computes its factor.
type Solver string

const (
	// Conjugate computes the client's factor exactly. The model must be linear with known noise.
	Conjugate Solver = "conjugate"
	// NaturalGradient takes one step along the gradient of the expected log likelihood, in natural
	// parameters.
	NaturalGradient Solver = "natural-gradient"
	// SVI maximises the local free energy by stochastic gradient steps.
	SVI Solver = "svi"
	// Laplace approximates the log likelihood by its gradient and curvature at the mean of q.
	Laplace Solver = "laplace"
	// ClippedAnalytical computes the same update as Conjugate, from one clipped and noisy sum of
	// the records' sufficient statistics.
	ClippedAnalytical Solver = "clipped-analytical"
	// DPSVI takes stochastic gradient steps on the local free energy, each from a clipped and noisy
	// sum of gradients.
	DPSVI Solver = "dp-svi"
	// Scoring releases sums of clipped scores and curvatures at several points, each of which follows
	// from the earlier releases. The posterior is computed from all of these sums.
	Scoring Solver = "scoring"
	// DPSEP is stochastic expectation propagation. Each step uses a clipped and noisy sum of the
	// records' sites.
	DPSEP Solver = "dp-sep"
)

// Ascent has the options of the solver SVI.
type Ascent struct {
	Steps    int     // number of steps in each round; default 200
	StepSize float64 // Adam's step size at the beginning of a round; default 0.05
	Draws    int     // number of draws of θ per step; default 8
}

// Damping is the share α_t of the proposed change by which λ moves in round t. α_t is Alpha or, if
// Harmonic is true,
//
//	Alpha/(1 + Alpha(t−1))
//
// which is 1/t for Alpha = 1.
type Damping struct {
	Alpha    float64 // α_1, the value for the first round, in (0, 1]
	Harmonic bool
}

// At returns α_t. The first round is t = 1.
func (d Damping) At(t int) float64 {
	if d.Harmonic {
		return d.Alpha / (1 + d.Alpha*float64(t-1))
	}
	return d.Alpha
}

// A Unit is a privacy unit: the amount of data that the guarantee protects.
type Unit string

const (
	None   Unit = "none"   // no guarantee; for research only
	Record Unit = "record" // one record of a client
	Person Unit = "person" // all records of a person
	Client Unit = "client" // all records of a client
)

// OfRecords reports whether the unit is a record or a person. If so, noise is added to sums over
// records; otherwise it is added to a function of all records of a client.
func (u Unit) OfRecords() bool { return u == Record || u == Person }

// Privacy has the options of the privacy guarantee.
type Privacy struct {
	Unit      Unit
	Adjacency accountant.Adjacency // adjacency of the guarantee; default add-remove for records, zero-out for clients

	// Epsilon is the target ε, or 0 if the study gives NoiseMultiplier instead.
	Epsilon         float64
	NoiseMultiplier float64
	Delta           float64

	// RowsPerPerson is the largest number of a person's records that a client uses. If there are more,
	// it chooses that many at random. PeopleAcross is the largest number of clients with records of
	// the same person. Both are 1 by default, and 0 unless the privacy unit is the person.
	RowsPerPerson, PeopleAcross int

	// Clip is C, the largest norm of the contribution of one privacy unit, in natural parameters on
	// the model's scale. If it is 0, the protocol computes it.
	Clip float64

	// Centred is true if changes are clipped and noise is added in coordinates around the current mean
	// m of q, in which the natural parameters h and Λ become h − Λm and Λ. This is the default if
	// noise is added to changes. It is not allowed with published factors.
	Centred bool
}

// Opens says which messages of the clients can be read.
type Opens string

const (
	// OpenMessages lets anyone read every message. The noise in a message hides the client's records.
	OpenMessages Opens = "messages"
	// OpenSums lets anyone read sums over at least U_min clients, but no single message. Secure
	// aggregation or a trusted coordinator makes sure of this. Each client adds only its share of the
	// noise that a sum needs.
	OpenSums Opens = "sums"
)

// An Aggregation says how the messages are added up in a study that opens only sums.
type Aggregation string

const (
	// ByCoordinator lets the coordinator add up the messages. The coordinator could read each of them.
	ByCoordinator Aggregation = "coordinator"
	// Secure makes the clients send each other secret shares of their messages. Even together with h
	// clients, the coordinator learns only sums ([Hidden]).
	Secure Aggregation = "secure"
)

// Hidden returns h, the largest number of clients that could collude with the coordinator and still
// not read the messages of the others under secure aggregation. At least minClients of the clients
// must take part in every step of the aggregation.
func Hidden(clients, minClients int) int { return 2*minClients - clients - 1 }

// OneOther is a value of Colluders. The privacy target then holds even against one other
// participant of a sum, who knows its own share of the noise. If a sum may consist of a single
// answer, there is no such participant, and OneOther means 0.
const OneOther = -1

// Federation has the settings of the federation.
type Federation struct {
	MinClients int // U_min, the number of answers below which no sum is opened; default all clients
	// Colluders is t, the number of clients that may collude, or OneOther. The default is OneOther if
	// a study of version 2 opens only sums, and 0 in all other studies.
	Colluders      int
	Opens          Opens
	Aggregation    Aggregation // default ByCoordinator; empty if anyone may read every message
	NominalRecords int         // public estimate of the number of records per client; 0 if the study gives none
	MaxRecords     int         // largest number of records per client; default 1,000,000

	// Combine says how the change of λ is computed from the releases of a round.
	Combine Combination

	// MaxRejected is the number of consecutive failed rounds after which the study ends, or 0 for no
	// limit. A round fails if its new λ is rejected, or if it is void although some clients answered.
	// The default is 0 in version 1 and 3 in version 2.
	MaxRejected int

	// Pace is the number of seconds between a plan and a client's answer. A client that needs longer
	// answers at the next multiple of Pace. If Pace is 0, answers are sent at once. The default is 1
	// in studies of version 2 with privacy, and 0 in others.
	Pace float64
}

// Least returns the smallest number of clients with which the study can start.
func (f *Federation) Least() int {
	least := max(1, f.MinClients, f.Colluders+1)
	switch {
	case f.Aggregation != Secure:
		return least
	case f.Colluders == OneOther:
		return max(least, 3) // one colluder, and two clients whose sum hides the message of each
	}
	return max(least, f.Colluders+2)
}

// Simulation has the options for simulations. Coordinators and clients ignore them.
type Simulation struct {
	Data      []string // files of records, relative to the study's folder or to FEDPVI_DATA
	Clients   int
	Seed      uint64
	Partition Partition

	// Solver and Clip are names of extensions (see [Own]), or "".
	Solver, Clip string

	Synthetic *Synthetic // synthetic records, used instead of Data
	Baseline  Baseline   // method to run on the pooled records in place of the rounds
	Chain     bool       // whether to compare posteriors with a Markov chain rather than with a pooled fit

	// Test is the share of records held out for testing. The other records are divided among the
	// clients. TestData lists files to use for testing instead.
	Test     float64
	TestLast bool // whether to hold out the last records rather than random ones, as some papers do
	TestData []string
}

// A Baseline is a method that the study is compared with. It uses the pooled records.
type Baseline string

// These are the baselines.
const (
	NoBaseline Baseline = ""
	// DPSGLD is stochastic gradient Langevin dynamics with the study's batches, clip and noise.
	DPSGLD Baseline = "dp-sgld"
	// OneSample is a single sample from the tempered posterior. An exact sample would be private, but
	// the program only draws an approximate one, by a Markov chain.
	OneSample Baseline = "one-posterior-sample"
	// EP and SEP are expectation propagation without privacy. EP has one site per record, SEP a single
	// factor that stands for all of them.
	EP  Baseline = "ep"
	SEP Baseline = "sep"
)

// Partition assigns records to clients, at random unless Kind is "column".
type Partition struct {
	Kind     string  // "balanced" (default), "by-size", "label-skew", "column", or the name of an extension (see [Own])
	SizeSkew float64 // ρ in [0, 1): with M clients and N records, small clients have (1−ρ)N/M records and large ones (1+ρ)N/M
	// LabelSkew is κ ≤ 1, which makes the labels of small clients differ from those of large ones. If
	// the majority label makes up the share c of all records, it makes up max(0, c + (1−c)κ) of a
	// small client's records.
	LabelSkew      float64
	LabelThreshold float64 // a record has the label if its outcome is at least this
	Column         string  // name of the column with the client names
}

// Synthetic has the options for drawing records from the model.
type Synthetic struct {
	RecordsPerClient int
	Truth            map[string]float64      // true coefficients by name; those not listed are drawn from the prior
	ClientSD         float64                 // standard deviation of each coefficient between clients
	Columns          map[string]Distribution // distributions of numeric columns by name; those not listed are uniform
}

// Distribution is a normal distribution of a numeric column, truncated to the column's bounds.
type Distribution struct{ Mean, SD float64 }

// An Override replaces the value at a dotted key such as "privacy.epsilon" before the document is
// parsed. Value is a TOML value; an empty one removes the key.
type Override struct{ Key, Value string }

// Parse reads and checks a study. file is only used in error messages. The returned error joins all
// errors. Overrides change the document, and therefore Source and Digest.
func Parse(file string, source []byte, overrides ...Override) (*Study, error) {
	doc, err := document.Parse(file, source)
	if err != nil {
		return nil, err
	}
	for _, o := range overrides {
		if err := doc.Set(o.Key, o.Value); err != nil {
			return nil, err
		}
	}
	if len(overrides) > 0 {
		if source, err = doc.Encode(); err != nil {
			return nil, err
		}
	}
	s := &Study{Digest: sha256.Sum256(source), Source: source}
	read(s, doc.Root())
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return s, nil
}
