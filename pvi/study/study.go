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

	// Person is the name of the column that identifies the person of a row. The values of this
	// column may be any text. The model does not use the column, and its values never leave the
	// client. Person is empty unless the privacy unit is the person.
	Person string
}

// Prior is the normal prior of every coefficient, on the model's scale.
type Prior struct {
	Mean, SD     float64           // mean and sd of the prior; default 0, and 1 or 2.5, which depends on family and version
	Coefficients map[string]Normal // priors of single coefficients, by name

	Scale      LogNormal // prior of a learned sd of the noise and, unless the solver is Scoring, of the sds between groups
	Spread     float64   // scale of the half-normal prior of the sds between groups, if the solver is Scoring
	Dispersion LogNormal // prior of the dispersion of counts
}

// LogNormal is the distribution of a positive number whose logarithm is normal with mean
// log Median and sd log Factor.
type LogNormal struct{ Median, Factor float64 }

// Normal returns the normal distribution of the logarithm.
func (l LogNormal) Normal() Normal { return Normal{math.Log(l.Median), math.Log(l.Factor)} }

// Normal is the normal distribution N(Mean, SD²).
type Normal struct{ Mean, SD float64 }

// A Schedule is the rule that determines which clients a plan asks, and when plans are made.
type Schedule string

const (
	// Synchronous makes all clients answer the same plan in each round. λ moves by the damped sum
	// of their changes.
	Synchronous Schedule = "synchronous"
	// Sequential makes a plan for one client at a time, in the order of the roster.
	Sequential Schedule = "sequential"
	// Asynchronous makes a plan for each client that has no open plan, with the latest λ. Each
	// answer moves λ.
	Asynchronous Schedule = "asynchronous"
)

// Factors is the rule by which clients' factors λ_m are computed.
type Factors string

const (
	// Tied sets λ_m = w_m (λ − λ_prior) with public weights. Clients do not store factors.
	Tied Factors = "tied"
	// Exact adds the client's own changes, without noise, to λ_m. λ moves by the noisy changes, so
	// q has an additional factor, the sum of all noise, which no client stores.
	Exact Factors = "exact"
	// Published adds the noisy changes to λ_m, as in Sharma (2019). If only sums are opened, the
	// published privacy claim does not hold, and the option exists to show that.
	Published Factors = "published"
)

// Inference has the options of the algorithm that finds the posterior.
type Inference struct {
	Q        string // family of q: "full" (default) or "diagonal"
	Schedule Schedule
	Rounds   int // number of rounds; a synchronous round has one plan for all clients, other rounds have one plan for each client
	Factors  Factors
	Solver   Solver
	Target   Target // population that the posterior of the solver Scoring describes, if the privacy unit is the client
	Damping  Damping
	Ascent   Ascent  // options of the solver SVI
	Descent  Descent // options of the solver DPSVI; the solver DPSEP uses some of these options

	Propagation Propagation // options of the solver DPSEP

	NoiseAware       NoiseAware // second posterior for the report; default closed-form for DPSVI and DPSEP, otherwise none
	Intervals        Intervals  // the value NoIntervals or ""; always "" in version 1
	NoiseAwareShares [3]float64 // with OneStep, the shares of the budget for the rounds, the gradient and the curvature; zeros to derive the shares
	Partitions       Partitions

	// SplitPrior makes each of the M clients compute its posterior with the prior raised to the
	// power 1/M. Such a study has only one round.
	SplitPrior bool
}

// A Solver is the algorithm with which a client computes its factor.
type Solver string

const (
	// Conjugate computes the client's factor exactly, in a linear model with known noise.
	Conjugate Solver = "conjugate"
	// NaturalGradient takes one step in natural parameters: towards the gradient of the expected
	// log likelihood with respect to the mean parameters of q.
	NaturalGradient Solver = "natural-gradient"
	// SVI maximises the local free energy by stochastic gradient steps.
	SVI Solver = "svi"
	// Laplace approximates the likelihood by a Gaussian with the gradient and the curvature of the
	// log likelihood at the mean of q.
	Laplace Solver = "laplace"
	// ClippedAnalytical computes the same update as Conjugate, but from a clipped and noisy sum of
	// the records' sufficient statistics, which is released once.
	ClippedAnalytical Solver = "clipped-analytical"
	// DPSVI takes stochastic gradient steps on the local free energy, each from a clipped,
	// noisy sum of the records' gradients.
	DPSVI Solver = "dp-svi"
	// Scoring releases sums of the records' clipped scores and curvatures at several points, and
	// computes the posterior given all sums. Each point is computed from earlier releases.
	Scoring Solver = "scoring"
	// DPSEP is stochastic expectation propagation, each step from a clipped, noisy sum of
	// the records' sites.
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

// OfRecords reports whether the unit is a record, or a person with its records. Noise is then added
// to sums over records. With the unit client, noise is added to a function of all records of a
// client.
func (u Unit) OfRecords() bool { return u == Record || u == Person }

// Privacy has the options of the privacy guarantee.
type Privacy struct {
	Unit      Unit
	Adjacency accountant.Adjacency // adjacency of the guarantee; default add-remove for records, zero-out for clients

	// Epsilon is the target ε, or 0 if the study gives NoiseMultiplier instead.
	Epsilon         float64
	NoiseMultiplier float64
	Delta           float64

	// RowsPerPerson is the largest number of records of a person that a client uses. If a person
	// has more records, the client chooses this number of them at random. PeopleAcross is the
	// largest number of clients that have records of the same person. Both are 1 by default, and 0
	// unless the privacy unit is the person.
	RowsPerPerson, PeopleAcross int

	// Clip is the largest norm C of the contribution of one privacy unit, in natural parameters on
	// the model's scale. If Clip is 0, the protocol derives the clip.
	Clip float64

	// Centred is true if changes of natural parameters are clipped and made noisy in coordinates
	// around the current mean m of q. In these coordinates the natural parameters h and Λ become h
	// − Λm and Λ. True is the default if noise is added to changes of clients or of parts of their
	// records, and is not allowed with published factors.
	Centred bool
}

// Opens is the rule that decides which messages of clients can be read.
type Opens string

const (
	// OpenMessages lets anyone read every message. The noise in each message hides the records.
	OpenMessages Opens = "messages"
	// OpenSums lets anyone read sums over at least U_min clients, but no single message. Secure
	// aggregation or a trusted coordinator enforces this rule. Each client adds only a share of
	// the noise that a sum needs.
	OpenSums Opens = "sums"
)

// An Aggregation states who adds up the clients' messages in a study that opens only sums.
type Aggregation string

const (
	// ByCoordinator lets the coordinator add up the messages. The coordinator could read every
	// single message.
	ByCoordinator Aggregation = "coordinator"
	// Secure makes the clients divide their messages into secret shares for each other, so that no
	// party can open a single message. The coordinator and up to h clients together learn only sums
	// ([Hidden]).
	Secure Aggregation = "secure"
)

// Hidden returns the number h of clients against which secure aggregation protects: the coordinator
// and up to h clients together cannot read the messages of the other clients. clients is the number
// of clients of the study, and minClients of them must take part in every step of the aggregation.
func Hidden(clients, minClients int) int { return 2*minClients - clients - 1 }

// OneOther is a value of Colluders that assumes one observer among the participants. The privacy
// target then holds even against a participant of a sum, who knows the share of the noise that it
// added itself. OneOther means one colluding client if every sum has at least two answers (U_min ≥
// 2). If a sum can have a single answer, OneOther means no colluding client.
const OneOther = -1

// Federation has the rules of the federation.
type Federation struct {
	MinClients int // U_min, the smallest number of answers for which a sum is opened; default all clients
	// Colluders is t, the number of clients that may combine their knowledge to attack others, or
	// OneOther. The default is OneOther in studies of version 2 that open only sums, and otherwise 0.
	Colluders      int
	Opens          Opens
	Aggregation    Aggregation // default ByCoordinator; empty if every message may be opened
	NominalRecords int         // public estimate of the number of records of one client; 0 if not given
	MaxRecords     int         // largest number of records of one client; default 1,000,000

	// Combine is the rule that computes from the releases of a round by how much λ moves.
	Combine Combination

	// MaxRejected is the number of failed rounds in a row after which the coordinator ends the
	// study and clients stop answering. A round has failed if its new λ was rejected, or if it was
	// void although some clients answered. A value of 0 means that there is no limit. The default
	// is 0 in version 1 and 3 in version 2.
	MaxRejected int

	// Pace is the number of seconds between a plan and the answer of a client. If the client needs
	// longer, it sends the answer at the next multiple of Pace. If Pace is 0, answers are sent at
	// once. The default is 1 for a study of version 2 with privacy, and otherwise 0.
	Pace float64
}

// Least returns the smallest number of clients with which the study can begin.
func (f *Federation) Least() int {
	least := max(1, f.MinClients, f.Colluders+1)
	switch {
	case f.Aggregation != Secure:
		return least
	case f.Colluders == OneOther:
		return max(least, 3) // one colluder, and two clients whose messages are hidden in their sum
	}
	return max(least, f.Colluders+2)
}

// Simulation has the options of sim. Coordinator and clients do not use it.
type Simulation struct {
	Data      []string // files of records, relative to the study or to FEDPVI_DATA
	Clients   int
	Seed      uint64
	Partition Partition

	// Solver and Clip are the names of extensions of the program that simulates the study (see
	// [Own]), or "".
	Solver, Clip string

	Synthetic *Synthetic // options of synthetic records, which are used instead of Data
	Baseline  Baseline   // method that is run on the pooled records instead of the rounds
	Chain     bool       // whether posteriors are compared with a Markov chain instead of a fit of the pooled records

	// Test is the share of the records that is held out for testing. The other records are divided
	// among the clients. TestData names files of test records, which are used instead of this
	// share. If Test is 0 and TestData is empty, there are no test records.
	Test     float64
	TestLast bool // whether the last records are held out, as in some papers, instead of random records
	TestData []string
}

// A Baseline is a method that uses the pooled records. The results of a study are compared with it.
type Baseline string

// These are the baselines.
const (
	NoBaseline Baseline = ""
	// DPSGLD is stochastic gradient Langevin dynamics with the batches, the clip and the
	// noise of the study's private gradient steps.
	DPSGLD Baseline = "dp-sgld"
	// OneSample is one sample from the tempered posterior. An exact sample would be private, but
	// the program draws an approximate sample by a Markov chain.
	OneSample Baseline = "one-posterior-sample"
	// EP and SEP are expectation propagation without privacy. EP has a site for every
	// record. SEP has one tied factor for all records.
	EP  Baseline = "ep"
	SEP Baseline = "sep"
)

// Partition is the rule that assigns records to clients. Records are dealt at random with the seed,
// unless Kind is "column".
type Partition struct {
	Kind     string  // kind: "balanced" (default), "by-size", "label-skew", "column", or the name of an extension (see [Own])
	SizeSkew float64 // ρ in [0, 1): small clients have (1−ρ)N/M records, large clients (1+ρ)N/M
	// LabelSkew is κ ≤ 1, which makes the labels of small clients differ from those of large ones.
	// If the majority label has the share c of all records, it has the share max(0, c + (1−c)κ) of
	// the records of a small client.
	LabelSkew      float64
	LabelThreshold float64 // smallest outcome for which a record has the label
	Column         string  // name of the column that has the client's name
}

// Synthetic has the options for records that are drawn from the model.
type Synthetic struct {
	RecordsPerClient int
	Truth            map[string]float64      // true coefficients by name; coefficients without a name in the map are drawn from the prior
	ClientSD         float64                 // sd of every coefficient between clients
	Columns          map[string]Distribution // distributions of numeric columns by name; other columns are uniform
}

// Distribution is a normal distribution of a numeric column, truncated to the column's bounds.
type Distribution struct{ Mean, SD float64 }

// An Override replaces one value of a study document before it is parsed. Key is a dotted key such
// as "privacy.epsilon", and Value is a TOML value. An empty Value removes the key.
type Override struct{ Key, Value string }

// Parse reads and checks a study. file is a name, which is used only in errors. The returned error
// joins all errors. Overrides change the document, and the fields Source and Digest describe the
// changed document.
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
