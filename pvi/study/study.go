package study

import (
	"crypto/sha256"
	"encoding/hex"
	"math"

	"fedpvi/accountant"
	"fedpvi/internal/document"
)

// A Digest identifies a study: the SHA-256 of its bytes.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// A Study is a checked study document.
type Study struct {
	Digest Digest
	Source []byte // the bytes with this Digest

	Version int // of the study language

	Name  string // lower-case letters, digits and dashes
	Title string // one line for people; default Name

	Table      Table
	Columns    []Column
	Model      Model
	Prior      Prior
	Inference  Inference
	Privacy    Privacy
	Federation Federation
	Simulation Simulation

	Standardisation *Standardisation // nil unless a release finds the scale of columns
}

// Table describes the format of a file of records.
type Table struct {
	Header    bool     // the first line names the columns; default true
	Separator rune     // one character; default a comma
	Trim      bool     // blanks around a field are ignored; default false
	Missing   []string // fields that stand for a missing value; default [""]
}

// Prior is a normal prior on every coefficient, on the model's scale.
type Prior struct {
	Mean, SD     float64           // default 0 and 1
	Coefficients map[string]Normal // exceptions, by coefficient name

	Scale      LogNormal // of a learned noise, and of spreads between groups
	Dispersion LogNormal // of counts
}

// LogNormal is the distribution of a positive number whose logarithm is normal with mean
// log Median and sd log Factor.
type LogNormal struct{ Median, Factor float64 }

// Normal returns the distribution of the logarithm.
func (l LogNormal) Normal() Normal { return Normal{math.Log(l.Median), math.Log(l.Factor)} }

// Normal is N(Mean, SD²).
type Normal struct{ Mean, SD float64 }

// A Schedule is the order in which clients work.
type Schedule string

const (
	// Synchronous makes all clients work on the same λ. The sum of the clients' changes
	// moves λ.
	Synchronous Schedule = "synchronous"
	// Sequential makes one client work after the other, in the order of the roster.
	Sequential Schedule = "sequential"
	// Asynchronous makes every client work on the last λ that it has. λ moves whenever a
	// client answers.
	Asynchronous Schedule = "asynchronous"
)

// Factors is the bookkeeping of the clients' factors (design section 4, soundness section
// 1).
type Factors string

const (
	// Tied has λ_m = w_m (λ − λ_prior) with public weights. Clients keep no state.
	Tied Factors = "tied"
	// Exact lets λ_m accumulate the client's changes without their noise. The sum of all
	// noise is a further factor of q.
	Exact Factors = "exact"
	// Published lets λ_m accumulate the noisy changes, as in Sharma (2019). If only sums
	// are opened, the published privacy claim does not hold. The option exists to show the
	// failure.
	Published Factors = "published"
)

// Inference says how the posterior is found.
type Inference struct {
	Q        string // family of q: "full" (default) or "diagonal"
	Schedule Schedule
	Rounds   int // passes over the clients: a synchronous round has one plan for all clients, others have one plan for each
	Factors  Factors
	Solver   Solver
	Damping  Damping
	Ascent   Ascent  // of the solver SVI
	Descent  Descent // of the solver DPSVI, and in part of DPSEP

	Propagation Propagation // of the solver DPSEP

	NoiseAware       NoiseAware // default closed-form for DPSVI and DPSEP, otherwise none
	NoiseAwareShares [3]float64 // shares of the budget for rounds, gradient and curvature of OneStep; zero to derive them
	Partitions       Partitions

	// SplitPrior gives each client the prior to the power 1/M in the only round.
	SplitPrior bool
}

// A Solver is the way a client refines its factor.
type Solver string

const (
	// Conjugate is the exact update of a linear model with known noise.
	Conjugate Solver = "conjugate"
	// NaturalGradient is one step in natural parameters, towards the gradient of the
	// expected log likelihood in the mean parameters of q.
	NaturalGradient Solver = "natural-gradient"
	// SVI takes stochastic gradient steps on the local free energy.
	SVI Solver = "svi"
	// Laplace uses the curvature of the log likelihood at the mean of q.
	Laplace Solver = "laplace"
	// ClippedAnalytical is the conjugate update from clipped statistics with noise.
	ClippedAnalytical Solver = "clipped-analytical"
	// DPSVI takes stochastic gradient steps on the local free energy, each from a clipped,
	// noisy sum of the records' gradients.
	DPSVI Solver = "dp-svi"
	// Scoring releases, at points that follow from earlier releases, sums of clipped scores
	// and of their curvature, and computes the posterior that all sums imply.
	Scoring Solver = "scoring"
	// DPSEP is stochastic expectation propagation, each step from a clipped, noisy sum of
	// the records' sites.
	DPSEP Solver = "dp-sep"
)

// Ascent has the options of the solver SVI.
type Ascent struct {
	Steps    int     // in each round; default 200
	StepSize float64 // of Adam, at the beginning of a round; default 0.05
	Draws    int     // of θ in each step; default 8
}

// Damping is the share α_t of the proposed change by which λ moves in round t. α_t is
// Alpha. If Harmonic is true, α_t is Alpha/(1 + Alpha(t−1)), which is 1/t for Alpha = 1.
type Damping struct {
	Alpha    float64 // in (0, 1]
	Harmonic bool
}

// At returns α_t for t ≥ 1.
func (d Damping) At(t int) float64 {
	if d.Harmonic {
		return d.Alpha / (1 + d.Alpha*float64(t-1))
	}
	return d.Alpha
}

// A Unit is a privacy unit: the data that the guarantee protects.
type Unit string

const (
	None   Unit = "none"   // no guarantee: research only
	Record Unit = "record" // one record of a client: datapoint-level DP
	Client Unit = "client" // all records of a client: dataset-level DP
)

// Privacy is the privacy guarantee.
type Privacy struct {
	Unit      Unit
	Adjacency accountant.Adjacency // default add-remove for records, zero-out for clients

	// Epsilon is the target, or 0 if NoiseMultiplier is given instead.
	Epsilon         float64
	NoiseMultiplier float64
	Delta           float64

	// Clip is the bound C on the norm of one contribution, in natural parameters on the
	// model's scale. If Clip is 0, the protocol derives it.
	Clip float64

	// Centred clips and noises a client's change in coordinates around the current mean, h
	// − Λm instead of h. Centred is the default if the privacy unit is the client. It is
	// not available for published factors.
	Centred bool
}

// Opens says which messages of clients may be read.
type Opens string

const (
	// OpenMessages lets anyone read every message. The noise of the message itself hides
	// its content.
	OpenMessages Opens = "messages"
	// OpenSums lets everybody read only sums over at least U_min clients. Secure
	// aggregation or a trusted coordinator enforces this rule. Each client adds a share of
	// the noise.
	OpenSums Opens = "sums"
)

// Federation has the rules of the federation.
type Federation struct {
	MinClients     int // U_min: fewest answers for which a round is opened; default all
	Colluders      int // t: number of clients that may pool their knowledge; default 0
	Opens          Opens
	NominalRecords int // public guess of the number of records of one client; 0 if not given
	MaxRecords     int // most records of one client; default 1,000,000
}

// Simulation has the options of sim. Coordinator and clients do not use it.
type Simulation struct {
	Data      []string // files of records, relative to the study or to FEDPVI_DATA
	Clients   int
	Seed      uint64
	Partition Partition
	Synthetic *Synthetic // made-up records instead of Data
	Baseline  Baseline   // method that is run instead of the rounds, on all records in one place
	Chain     bool       // compare posteriors with a Markov chain's, not with a fit of the pooled records

	// Test is the share of the records that is held out for testing. The other records are
	// dealt to the clients. TestData names files of test records to use instead. If Test is
	// 0 and TestData is empty, there are no test records.
	Test     float64
	TestLast bool // hold out the last records, as some papers do, not random ones
	TestData []string
}

// A Baseline is a method to compare with.
type Baseline string

// These are the baselines.
const (
	NoBaseline Baseline = ""
	// DPSGLD is stochastic gradient Langevin dynamics with the batches, the clip and the
	// noise of the study's private gradient steps.
	DPSGLD Baseline = "dp-sgld"
	// OneSample is one sample from the tempered posterior. An exact sample is private. The
	// program draws an approximate sample by a Markov chain.
	OneSample Baseline = "one-posterior-sample"
	// EP and SEP are expectation propagation without privacy. EP has a site for every
	// record. SEP has one tied factor for all records.
	EP  Baseline = "ep"
	SEP Baseline = "sep"
)

// Partition says which client holds which records. Records are dealt at random by the seed,
// except for "column".
type Partition struct {
	Kind           string  // "balanced" (default), "by-size", "label-skew" or "column"
	SizeSkew       float64 // ρ in [0, 1): small clients hold (1−ρ)N/M records, large ones (1+ρ)N/M
	LabelSkew      float64 // κ: the small clients' majority share is c + (1−c)κ
	LabelThreshold float64 // a record has the label if its outcome is at least this
	Column         string  // the column that names the client
}

// Synthetic draws records from the model itself.
type Synthetic struct {
	RecordsPerClient int
	Truth            map[string]float64      // coefficients; the others are drawn from the prior
	ClientSD         float64                 // spread of every coefficient between clients
	Columns          map[string]Distribution // distributions of columns; the others are uniform
}

// Distribution is a normal distribution of a numeric column, kept within the column's
// bounds.
type Distribution struct{ Mean, SD float64 }

// An Override replaces the value at a dotted key of a study, such as "privacy.epsilon", by
// a TOML value. An empty Value removes the key.
type Override struct{ Key, Value string }

// Parse reads and checks a study. The name file is used in messages only. The error joins
// all problems. Overrides change the document, so the study that Parse returns has the
// changed document as its source, and the digest of the changed document.
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
