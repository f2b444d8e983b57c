package study

import (
	"crypto/sha256"
	"encoding/hex"
	"math"

	"fedpvi/accountant"
	"fedpvi/internal/document"
)

// A Digest is the identity of a study: the SHA-256 of its bytes.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// A Study is a study document that has been read and checked.
type Study struct {
	Digest Digest
	Source []byte // bytes of the document; Digest is their SHA-256

	Version int // version of the study language

	Name  string // name of lower-case letters, digits and dashes
	Title string // title in one line; default Name

	Table      Table
	Columns    []Column
	Model      Model
	Prior      Prior
	Inference  Inference
	Privacy    Privacy
	Federation Federation
	Simulation Simulation

	Standardisation *Standardisation // nil unless a private release finds the scale of columns
	Describe        *Describe        // nil unless the study asks for tables that describe the records
	Compare         *Compare         // nil unless the study scores held-out records
}

// Table describes the format of a file of records.
type Table struct {
	Header    bool     // whether the first line has the names of the columns; default true
	Separator rune     // separator of fields, one character; default a comma
	Trim      bool     // whether blanks around a field are ignored; default false
	Missing   []string // strings that mean a missing value; default [""]

	// Person is the name of the column that identifies the person to whom a row belongs, if the
	// privacy unit is the person. Its values may be any text. They never leave the client.
	Person string
}

// Prior is the normal prior of every coefficient, on the model's scale.
type Prior struct {
	Mean, SD     float64           // mean and sd of the prior; default 0, and 1 or 2.5 by family and version
	Coefficients map[string]Normal // priors of single coefficients, by name

	Scale      LogNormal // prior of a learned sd of the noise and, except with the solver Scoring, of the sds between groups
	Spread     float64   // scale of the half-normal prior of the sds between groups, with the solver Scoring
	Dispersion LogNormal // prior of the dispersion of counts
}

// LogNormal is the distribution of a positive number whose logarithm is normal with mean log Median
// and sd log Factor.
type LogNormal struct{ Median, Factor float64 }

// Normal returns the normal distribution of the logarithm.
func (l LogNormal) Normal() Normal { return Normal{math.Log(l.Median), math.Log(l.Factor)} }

// Normal is the normal distribution N(Mean, SD²).
type Normal struct{ Mean, SD float64 }

// A Schedule determines which clients a plan asks, and when plans are made.
type Schedule string

const (
	// Synchronous makes all clients answer the same plan. λ moves by the damped sum of their
	// changes.
	Synchronous Schedule = "synchronous"
	// Sequential makes a plan for one client at a time, in the order of the roster.
	Sequential Schedule = "sequential"
	// Asynchronous makes a plan, with the latest λ, for each client that has no open plan. Each
	// answer moves λ.
	Asynchronous Schedule = "asynchronous"
)

// Factors is the rule by which clients' factors λ_m are computed.
type Factors string

const (
	// Tied sets λ_m = w_m (λ − λ_prior) with public weights. Clients do not store factors.
	Tied Factors = "tied"
	// Exact adds the client's own changes to λ_m without noise. λ moves by the noisy changes, so q
	// has one more factor, the sum of all noise.
	Exact Factors = "exact"
	// Published adds the noisy changes to λ_m, as in Sharma (2019). If only sums are opened, the
	// published privacy claim does not hold, and the option exists to show that.
	Published Factors = "published"
)

// Inference has the options of the algorithm that finds the posterior.
type Inference struct {
	Q        string // family of q: "full" (default) or "diagonal"
	Schedule Schedule
	Rounds   int // number of rounds; a synchronous round has one plan for all clients, other rounds one for each client
	Factors  Factors
	Solver   Solver
	Target   Target // population that the posterior of Scoring describes, if the unit is the client
	Damping  Damping
	Ascent   Ascent  // options of the solver SVI
	Descent  Descent // options of the solver DPSVI, some of which DPSEP uses

	Propagation Propagation // options of the solver DPSEP

	NoiseAware       NoiseAware // second posterior for the report; default closed-form for DPSVI and DPSEP, otherwise none
	Intervals        Intervals  // the value NoIntervals or ""; always "" in version 1
	NoiseAwareShares [3]float64 // shares of the budget for the rounds, the gradient and the curvature, for OneStep; zeros to derive them
	Partitions       Partitions

	// SplitPrior makes each of M clients use the prior to the power 1/M. Such a study has only one
	// round.
	SplitPrior bool
}

// A Solver is the algorithm with which a client computes its factor.
type Solver string

const (
	// Conjugate computes the client's factor exactly, in a linear model with known noise.
	Conjugate Solver = "conjugate"
	// NaturalGradient takes one step in natural parameters, along the gradient of the expected log
	// likelihood.
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
	// Scoring releases sums of clipped scores and curvatures at several points, each computed from
	// earlier releases. It then computes the posterior from all sums.
	Scoring Solver = "scoring"
	// DPSEP is stochastic expectation propagation. Each step uses a clipped and noisy sum of the
	// records' sites.
	DPSEP Solver = "dp-sep"
)

// Ascent has the options of the solver SVI.
type Ascent struct {
	Steps    int     // number of steps in each round; default 200
	StepSize float64 // Adam's step size at the beginning of a round; default 0.05
	Draws    int     // number of draws of θ in each step; default 8
}

// Damping is the share α_t of the proposed change by which λ moves in round t. α_t is Alpha or, if
// Harmonic is true,
//
//	Alpha/(1 + Alpha(t−1))
//
// which is 1/t for Alpha = 1.
type Damping struct {
	Alpha    float64 // α_1, the damping of the first round, in (0, 1]
	Harmonic bool
}

// At returns α_t. Rounds t count from 1.
func (d Damping) At(t int) float64 {
	if d.Harmonic {
		return d.Alpha / (1 + d.Alpha*float64(t-1))
	}
	return d.Alpha
}

// A Unit is a privacy unit: the data whose change the guarantee hides.
type Unit string

const (
	None   Unit = "none"   // no guarantee; for research only
	Record Unit = "record" // one record of a client
	Person Unit = "person" // all records of a person
	Client Unit = "client" // all records of a client
)

// OfRecords reports whether the unit is a record or a person. Noise is then added to sums over
// records, and otherwise to a function of all records of a client.
func (u Unit) OfRecords() bool { return u == Record || u == Person }

// Privacy has the options of the privacy guarantee.
type Privacy struct {
	Unit      Unit
	Adjacency accountant.Adjacency // adjacency of the guarantee; default add-remove for records, zero-out for clients

	// Epsilon is the target ε, or 0 if the study gives NoiseMultiplier instead.
	Epsilon         float64
	NoiseMultiplier float64
	Delta           float64

	// RowsPerPerson is the largest number of records of a person that a client uses. From more, it
	// chooses that many at random. PeopleAcross is the largest number of clients with records of
	// the same person. Both default to 1, and are 0 unless the privacy unit is the person.
	RowsPerPerson, PeopleAcross int

	// Clip is the largest norm C of the contribution of one privacy unit, in natural parameters on
	// the model's scale. If it is 0, the protocol derives the clip.
	Clip float64

	// Centred is true if changes are clipped and made noisy around the current mean m of q, where
	// the natural parameters h and Λ become h − Λm and Λ. It is the default if noise is added to
	// changes, and not allowed with published factors.
	Centred bool
}

// Opens is the rule that decides which messages of clients can be read.
type Opens string

const (
	// OpenMessages lets anyone read every message. The noise in each message hides the records.
	OpenMessages Opens = "messages"
	// OpenSums lets anyone read sums over at least U_min clients, but no single message. Secure
	// aggregation or a trusted coordinator ensures this. Each client adds only a share of the noise
	// that a sum needs.
	OpenSums Opens = "sums"
)

// An Aggregation states who adds up the messages in a study that opens only sums.
type Aggregation string

const (
	// ByCoordinator lets the coordinator add up the messages. It could read every one.
	ByCoordinator Aggregation = "coordinator"
	// Secure makes the clients divide their messages into secret shares for each other. The
	// coordinator and up to h clients together learn only sums ([Hidden]).
	Secure Aggregation = "secure"
)

// Hidden returns the largest number h of clients that, together with the coordinator, cannot read
// the messages of the others under secure aggregation. minClients of the clients must take part in
// every step of the aggregation.
func Hidden(clients, minClients int) int { return 2*minClients - clients - 1 }

// OneOther is a value of Colluders. The privacy target then holds even against another participant
// of a sum, who knows its own share of the noise. If a sum can have a single answer, there is no
// other participant, and OneOther means 0.
const OneOther = -1

// Federation has the rules of the federation.
type Federation struct {
	MinClients int // U_min, the smallest number of answers for which a sum is opened; default all clients
	// Colluders is t, the number of clients that may collude, or OneOther. The default is OneOther
	// in studies of version 2 that open only sums, and otherwise 0.
	Colluders      int
	Opens          Opens
	Aggregation    Aggregation // default ByCoordinator; empty if every message may be opened
	NominalRecords int         // public estimate of the number of records of one client; 0 if not given
	MaxRecords     int         // largest number of records of one client; default 1,000,000

	// Combine computes the change of λ from the releases of a round.
	Combine Combination

	// MaxRejected is the number of failed rounds in a row after which the study ends, or 0 for no
	// limit. A round fails if its new λ was rejected, or if it was void although some clients
	// answered. The default is 0 in version 1 and 3 in version 2.
	MaxRejected int

	// Pace is the number of seconds between a plan and a client's answer. A slower client answers
	// at the next multiple of Pace. If it is 0, answers are sent at once. The default is 1 for a
	// study of version 2 with privacy, and otherwise 0.
	Pace float64
}

// Least returns the smallest number of clients with which the study can begin.
func (f *Federation) Least() int {
	least := max(1, f.MinClients, f.Colluders+1)
	switch {
	case f.Aggregation != Secure:
		return least
	case f.Colluders == OneOther:
		return max(least, 3) // one colluder, and two clients whose sum hides their messages
	}
	return max(least, f.Colluders+2)
}

// Simulation has the options of sim. Coordinator and clients do not use it.
type Simulation struct {
	Data      []string // files of records, relative to the study or to FEDPVI_DATA
	Clients   int
	Seed      uint64
	Partition Partition

	// Solver and Clip are names of extensions (see [Own]), or "".
	Solver, Clip string

	Synthetic *Synthetic // synthetic records, used instead of Data
	Baseline  Baseline   // method to run on the pooled records instead of the rounds
	Chain     bool       // whether posteriors are compared with a Markov chain instead of a pooled fit

	// Test is the share of the records that is held out for testing. The rest is divided among the
	// clients. TestData names files to use instead.
	Test     float64
	TestLast bool // whether the last records are held out instead of random ones, as in some papers
	TestData []string
}

// A Baseline is a method to compare with. It uses the pooled records.
type Baseline string

// These are the baselines.
const (
	NoBaseline Baseline = ""
	// DPSGLD is stochastic gradient Langevin dynamics with the study's batches, clip and noise.
	DPSGLD Baseline = "dp-sgld"
	// OneSample is one sample from the tempered posterior. An exact sample would be private, but
	// the program draws an approximate one by a Markov chain.
	OneSample Baseline = "one-posterior-sample"
	// EP and SEP are expectation propagation without privacy. EP has a site for every record, SEP
	// one tied factor for all.
	EP  Baseline = "ep"
	SEP Baseline = "sep"
)

// Partition assigns records to clients, at random unless Kind is "column".
type Partition struct {
	Kind     string  // "balanced" (default), "by-size", "label-skew", "column", or the name of an extension (see [Own])
	SizeSkew float64 // ρ in [0, 1): small clients have (1−ρ)N/M records, large clients (1+ρ)N/M
	// LabelSkew is κ ≤ 1, which makes the labels of small clients differ from those of large ones.
	// If the majority label has the share c of all records, it has the share max(0, c + (1−c)κ) at
	// a small client.
	LabelSkew      float64
	LabelThreshold float64 // smallest outcome for which a record has the label
	Column         string  // name of the column that has the client's name
}

// Synthetic has the options for records that are drawn from the model.
type Synthetic struct {
	RecordsPerClient int
	Truth            map[string]float64      // true coefficients by name; others are drawn from the prior
	ClientSD         float64                 // sd of every coefficient between clients
	Columns          map[string]Distribution // distributions of numeric columns by name; other columns are uniform
}

// Distribution is a normal distribution of a numeric column, truncated to the column's bounds.
type Distribution struct{ Mean, SD float64 }

// An Override replaces the value at a dotted key such as "privacy.epsilon" before the document is
// parsed. Value is a TOML value; if it is empty, the key is removed.
type Override struct{ Key, Value string }

// Parse reads and checks a study. file is used only in errors. The returned error joins all errors.
// Overrides change the document, and so Source and Digest.
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
