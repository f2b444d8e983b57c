package audit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

// A combination is a choice of options for a test study: a likelihood, a kind of release, and other
// options that the study language allows with them. The audit compares how a client behaves with
// two neighbouring files in this study (see outcome).
type combination struct {
	family    study.Family
	mode      mode
	q         string
	adjacency accountant.Adjacency
	factors   study.Factors
	schedule  study.Schedule
}

// A mode is a kind of release, such as sums of gradients. inference and others are the parts of the
// study document that select it.
type mode struct {
	name      string
	unit      study.Unit
	inference string
	others    string // further tables and keys
	// whether messages for neighbouring files may differ by more than the accounted sensitivity,
	// because several releases contribute to them or a scale phase comes first
	derived   bool
	allocated bool // whether no bound is known for the cost of the sampling under replace-one adjacency
	// whether a client's saved state depends on the rows of its file, and so is useless with
	// another file
	keepsRows bool
}

var outcomeModes = []mode{
	{name: "conjugate", unit: study.Client, inference: `solver = "conjugate"`},
	{name: "natural-gradient", unit: study.Client, inference: `solver = "natural-gradient"`},
	{name: "laplace", unit: study.Client, inference: `solver = "laplace"`},
	{name: "svi", unit: study.Client, inference: "solver = \"svi\"\nsteps = 3"},
	{name: "scoring of clients", unit: study.Client, inference: `solver = "scoring"`},
	{name: "scoring", unit: study.Record, inference: "solver = \"scoring\""},
	{name: "scoring of sums", unit: study.Record, inference: "solver = \"scoring\"", others: "[federation]\nopens = \"sums\"\ncolluders = 1"},
	{name: "scoring and held-out records", unit: study.Record, inference: "solver = \"scoring\"\nrounds = 5", others: heldOut, keepsRows: true},
	{name: "statistics", unit: study.Record, inference: `solver = "clipped-analytical"`, derived: true},
	{name: "descent", unit: study.Record, inference: "solver = \"dp-svi\"\nsteps = 2"},
	{name: "sampled descent", unit: study.Record, inference: "solver = \"dp-svi\"\nsteps = 2\nsampling_rate = 0.5"},
	{name: "joint descent", unit: study.Record, inference: "solver = \"dp-svi\"\nsteps = 2\ngradients = \"joint\""},
	{name: "one-step", unit: study.Record, inference: "solver = \"dp-svi\"\nsteps = 2\nnoise_aware = \"one-step\""},
	{name: "analytical start", unit: study.Record, inference: "solver = \"dp-svi\"\nsteps = 2\nstart = \"analytical\""},
	{name: "sums of gradients", unit: study.Record, inference: "solver = \"dp-svi\"", others: "[federation]\nopens = \"sums\"\ncolluders = 1"},
	{name: "sites", unit: study.Record, inference: "solver = \"dp-sep\"\nsteps = 2\nsampling_rate = 0.5"},
	{name: "sites of all records", unit: study.Record, inference: "solver = \"dp-sep\"\nsteps = 2"},
	{name: "sites by allocation", unit: study.Record, inference: "solver = \"dp-sep\"\nsteps = 2\nsampling_rate = 0.5\nsampling = \"random-allocation\"", allocated: true},
	{name: "virtual parts", unit: study.Record, inference: "partitions = 2", keepsRows: true},
	{name: "averaged parts", unit: study.Record, inference: "partitions = 2\npartitioned = \"averaged\"", keepsRows: true},
	{name: "a scale and scoring", unit: study.Record, inference: `solver = "scoring"`, others: privateScale, derived: true},
	{name: "a scale and descent", unit: study.Record, inference: "solver = \"dp-svi\"\nsteps = 2", others: privateScale, derived: true},
	{name: "a scale and clients", unit: study.Client, inference: `solver = "natural-gradient"`, others: privateScale, derived: true},
}

// privateScale adds a private scale phase to a study document. Its standardise line replaces the
// one with which the bounds determine the scale.
const privateScale = "[standardise]\nnoise_multiplier = 2.0\n[model]\nstandardise = \"private\""

// heldOut adds a round to a study document in which held-out records are scored.
const heldOut = "[compare]\nheld_out = 0.5\nclip = [-6, 3]"

var outcomeFamilies = append(study.Families(), study.ByProgram)

// notNumbers lists strings that stand for a missing number. The test studies declare all of them as
// missing values.
var notNumbers = []string{"NaN", "nan", "NAN", "+NaN", "-nan", "null", "#N/A", "."}

// longLevel is the longest level that the tests declare.
var longLevel = strings.Repeat("long", 50)

func (c combination) String() string {
	return fmt.Sprintf("%s, %s, %s q, %s, %s factors, %s", c.family, c.mode.name, c.q, c.adjacency, c.factors, c.schedule)
}

// source returns the study document of the combination. It has a rule for every value that a file
// can contain: it clamps numbers out of bounds, drops records with undeclared levels, and replaces
// missing values.
func (c combination) source() string {
	tables := map[string][]string{}
	add := func(text string) {
		table := ""
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "[") {
				table = strings.Trim(line, "[]")
			} else if line != "" {
				tables[table] = append(tables[table], line)
			}
		}
	}
	add("[model]\n" + c.model())
	version := 1
	if c.mode.others == heldOut {
		version = 2 // held-out records require version 2
	}
	if c.family == study.ByProgram {
		version = 2 // programs, and noise-aware intervals of solvers other than scoring, require version 2
		if !c.mode.scores() {
			add("[inference]\nintervals = \"none\"")
		}
	} else {
		add("[model]\nfamily = \"" + string(c.family) + "\"")
	}
	add("[inference]\nq = \"" + c.q + "\"\nschedule = \"" + string(c.schedule) + "\"\n" + c.mode.inference)
	if c.mode.hasFactors() {
		add("[inference]\nfactors = \"" + string(c.factors) + "\"")
	}
	if !strings.Contains(c.mode.inference, "rounds") {
		rounds := 2
		if c.mode.scores() {
			rounds = 4
		}
		add(fmt.Sprintf("[inference]\nrounds = %d", rounds))
	}
	add("[privacy]\nunit = \"" + string(c.mode.unit) + "\"\nnoise_multiplier = 2.0\ndelta = 1e-4\nadjacency = \"" + string(c.adjacency) + "\"")
	if !c.mode.scores() {
		add("[privacy]\nclip = 1.0")
	}
	add("[federation]\nnominal_records = 8\nmax_records = 100")
	add(c.mode.others)
	var b strings.Builder
	fmt.Fprintf(&b, "[study]\nversion = %d\nname = \"outcomes\"\n", version)
	b.WriteString("[table]\nmissing = [\"\", \"NA\", \"" + strings.Join(notNumbers, "\", \"") + "\"]\n")
	b.WriteString("[[column]]\nname = \"x\"\ntype = \"numeric\"\nbounds = [-1, 1]\noutside = \"clamp\"\nmissing = \"impute\"\nimpute = 0.25\n")
	fmt.Fprintf(&b, "[[column]]\nname = \"g\"\ntype = \"categorical\"\nlevels = [\"a\", \"b\", %q]\noutside = \"drop\"\nmissing = \"drop\"\n", longLevel)
	b.WriteString("[[column]]\nname = \"y\"\n" + c.outcome() + "missing = \"drop\"\n")
	for _, table := range []string{"model", "inference", "privacy", "federation", "standardise", "compare"} {
		if len(tables[table]) > 0 {
			fmt.Fprintf(&b, "[%s]\n%s\n", table, strings.Join(lastOfEach(tables[table]), "\n"))
		}
	}
	return b.String()
}

// lastOfEach keeps, for each key (the first word of a line), only the last line. The keys stay in
// the order in which they first occur.
func lastOfEach(lines []string) (kept []string) {
	at := map[string]int{}
	for _, line := range lines {
		key, _, _ := strings.Cut(line, " ")
		if i, ok := at[key]; ok {
			kept[i] = line
			continue
		}
		at[key] = len(kept)
		kept = append(kept, line)
	}
	return kept
}

// model returns the table [model] of the study file.
func (c combination) model() string {
	regression := "outcome = \"y\"\nterms = [\"x\", \"g\"]\n"
	switch c.family {
	case study.Linear:
		return regression + "noise_sd = 1.0\n"
	case study.Mixture:
		return "columns = [\"x\"]\ncomponents = 2\n"
	case study.ByProgram:
		return "data = { K = { levels = \"g\" } }\nprogram = " + strconv.Quote(outcomesProgram) + "\n"
	case study.NeuralNetwork:
		return "outcome = \"y\"\nterms = [\"x\"]\nhidden = 2\npositive = \">= 0.5\"\n"
	}
	if c.kind() == study.Binary {
		return regression + "positive = \">= 0.5\"\n"
	}
	return regression
}

// outcomesProgram is a program with an effect for each level of g.
const outcomesProgram = `data { int N; int K; vector[N] x; array[N] int<lower=1, upper=K> g; vector[N] y; }
parameters { real b; real<lower=0> spread; vector[K] a; real<lower=0> s; }
model { b ~ normal(0, 1); spread ~ normal(0, 1); a ~ normal(0, spread); s ~ exponential(1); y ~ normal(a[g] + b * x, s); }`

func (c combination) kind() study.OutcomeKind { return (&study.Model{Family: c.family}).Kind() }

// outcome returns the declaration of the outcome's column in the study file.
func (c combination) outcome() string {
	switch c.kind() {
	case study.Count:
		return "type = \"numeric\"\nbounds = [0, 1000]\noutside = \"clamp\"\n"
	case study.Class:
		return "type = \"categorical\"\nlevels = [\"0\", \"1\", \"2\"]\noutside = \"drop\"\n"
	}
	return "type = \"numeric\"\nbounds = [0, 1]\noutside = \"clamp\"\n"
}

func (c combination) study() (*study.Study, error) {
	return study.Parse("outcomes.toml", []byte(c.source()))
}

// corners returns rows that a faulty program might treat differently: numbers at the ends of the
// declared bounds, infinite, huge and tiny numbers, each text in notNumbers, a long and an
// undeclared level, and missing values.
func (c combination) corners() []string {
	highest := "1"
	switch c.kind() {
	case study.Count:
		highest = "1000"
	case study.Class:
		highest = "2"
	}
	var rows []string
	inside := fmt.Sprint(math.Nextafter(1, 0))
	for _, x := range []string{"1", "-1", inside, "-" + inside, "0", "-0", "5e-324", "1e300", "-1e-300", "", "NA"} {
		rows = append(rows, x+",a,"+highest, x+",b,0")
	}
	for _, nan := range notNumbers {
		rows = append(rows, nan+",a,0")
	}
	for _, infinite := range []string{"Inf", "-inf", "+Infinity", "1e999", "0x1p-1074"} {
		rows = append(rows, infinite+",a,0")
	}
	return append(rows, "1,"+longLevel+","+highest, "0.5,undeclared,0", "0.5,,0", "0.5,a,")
}

// rowsOfAll lists the rows that both neighbouring files contain.
var rowsOfAll = []string{"0.5,a,1", "-0.25,b,0", "0.1,a,1", "-0.9,b,0", "0.3,a,0", "0.7,b,1"}

func file(rows ...string) string { return "x,g,y\n" + strings.Join(rows, "\n") + "\n" }

// shared returns the file that all other clients have.
func (c combination) shared() string { return file(rowsOfAll...) }

// neighbours returns two neighbouring files, without and with the given rows. Under replace-one,
// the rows replace others: all but one if the privacy unit is the client. If records are divided
// into parts, the rows come last, because earlier rows would change the random draws for later
// ones.
func (c combination) neighbours(rows ...string) [2]string {
	with := file(slices.Concat(rows, rowsOfAll)...)
	switch {
	case c.mode.unit == study.Client:
		return [2]string{file(rowsOfAll...), file(append(rows, rowsOfAll[0])...)}
	case c.mode.keepsRows && c.adjacency != accountant.ReplaceOne:
		return [2]string{file(rowsOfAll...), file(slices.Concat(rowsOfAll, rows)...)}
	case c.adjacency == accountant.ReplaceOne:
		return [2]string{file(append(slices.Repeat([]string{"0.2,b,1"}, len(rows)), rowsOfAll...)...), with}
	}
	return [2]string{file(rowsOfAll...), with}
}

// hasFactors reports whether clients have factors, so that the document must have the key factors.
func (m mode) hasFactors() bool {
	return !strings.Contains(m.others, "opens") && !m.scores()
}

func (m mode) scores() bool { return strings.Contains(m.inference, "scoring") }

func (m mode) adjacencies() []accountant.Adjacency {
	switch {
	case m.unit == study.Client:
		return []accountant.Adjacency{accountant.ZeroOut, accountant.ReplaceOne}
	case m.allocated:
		return []accountant.Adjacency{accountant.AddRemove}
	}
	return []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne}
}

// mostFamilies is the maximum number of likelihood families that the sample has for one mode.
const mostFamilies = 3

// sample returns the combinations that an audit and the short tests use. It computes them once.
// Every mode occurs, mostly with several families, and every family occurs with several modes. The
// other options vary.
var sample = sync.OnceValue(func() (all []combination) {
	turn := 0
	for at, m := range outcomeModes {
		most := mostFamilies
		if m.scores() {
			most = 1 // computing the noise of scores takes long
		}
		from := at * mostFamilies % len(outcomeFamilies)
		for _, family := range slices.Concat(outcomeFamilies[from:], outcomeFamilies[:from]) {
			if c, ok := m.with(family, turn); ok && most > 0 {
				all, turn, most = append(all, c), turn+1, most-1
			}
		}
		if c, ok := m.with(study.ByProgram, turn); ok && m.scores() && m.unit == study.Record {
			all, turn = append(all, c), turn+1
		}
	}
	return all
})

// with returns a combination of the mode and the family that the study language accepts, or false
// if there is none. turn determines which values of the other options are tried first.
func (m mode) with(family study.Family, turn int) (combination, bool) {
	var options []combination
	adjacencies := m.adjacencies()
	for _, q := range []string{"full", "diagonal"} {
		for _, schedule := range []study.Schedule{study.Synchronous, study.Sequential, study.Asynchronous} {
			for _, factors := range []study.Factors{study.Tied, study.Exact} {
				options = append(options, combination{family, m, q, adjacencies[(turn+len(options))%len(adjacencies)], factors, schedule})
			}
		}
	}
	from := turn * 5 % len(options)
	for _, c := range slices.Concat(options[from:], options[:from]) {
		if _, err := c.study(); err == nil {
			return c, true
		}
	}
	return combination{}, false
}
