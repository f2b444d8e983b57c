package study

import (
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"fedpvi/accountant"
	"fedpvi/internal/document"
)

// Version is the newest version of the study language. All versions can be read. Version 2 made
// [Scoring] the default solver for models that allow it, added [Intervals], and changed some
// defaults. Version 3 changed the default priors of regressions (see [Study.defaultPrior]).
const Version = 3

const (
	maxRounds     = 1_000_000
	maxClients    = 100_000
	maxParameters = 1_000_000 // largest allowed number of natural parameters of q
)

func read(s *Study, root *document.Table) {
	readStudy(s, root.Table("study"))
	table := root.Table("table")
	readTable(s, table)
	readColumns(s, root)
	private := readModel(s, root)
	privacy := root.Table("privacy")
	privacy.Require("unit", `say what is protected: unit = "person", "record", "client" or "none"`)
	readChoice(privacy, "unit", &s.Privacy.Unit, Record, Person, Client, None)
	readPerson(s, table, privacy)
	inference, federation := root.Table("inference"), root.Table("federation")
	if s.Model.Absent() {
		readNoModel(s, root, inference, privacy)
	} else {
		readInference(s, inference)
	}
	readFederation(s, federation)
	readOpens(s, federation, inference)
	readCombine(s, federation)
	readPrivacy(s, privacy)
	refuseForScoring(s, inference, privacy, federation)
	checkDescent(s, inference)
	checkPropagation(s, inference)
	checkPerson(s, inference)
	readDescribe(s, root)
	readCompare(s, root, inference, private)
	if !s.Model.Absent() {
		readStandardisation(s, root.Table("standardise"), root.Has("standardise"), private)
	}
	readSimulation(s, root)
	if s.Model.Formula != nil || s.Model.Absent() {
		return
	}
	if s.Model.Family == ByProgram {
		refuse(root, "prior", "has no meaning beside model.program: priors are in the program, or in model.complete")
		return
	}
	readPrior(s, root.Table("prior"))
}

var studyName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

func readStudy(s *Study, t *document.Table) {
	t.Require("version", "write version = 3, the version of the study language")
	if v, ok := t.Int("version"); ok {
		if s.Version = v; v < 1 || v > Version {
			t.Errorf("version", "version %d of the study language is unknown: this program reads versions 1 to %d", v, Version)
		}
	}
	t.Require("name", `write name = "blood-pressure", in lower-case letters, digits and dashes`)
	s.Name, _ = t.String("name")
	if t.Has("name") && !studyName.MatchString(s.Name) {
		t.Errorf("name", "%q must be 1 to 64 lower-case letters, digits and dashes", s.Name)
	}
	s.Title = s.Name
	if title, ok := t.String("title"); ok {
		s.Title = title
		visible(t, "title", title)
	}
}

// visible refuses text that contains control characters or invisible characters, which a terminal
// would not show.
func visible(t *document.Table, key, text string) {
	if strings.ContainsFunc(text, document.Hidden) {
		t.Errorf(key, "%q has invisible characters: remove them", text)
	}
}

func readTable(s *Study, t *document.Table) {
	s.Table = Table{Header: true, Separator: ',', Missing: []string{""}}
	if header, ok := t.Bool("header"); ok {
		s.Table.Header = header
	}
	if separator, ok := t.String("separator"); ok {
		r, size := utf8.DecodeRuneInString(separator)
		if size != len(separator) || size == 0 || r == utf8.RuneError || r == '"' || r == '\n' || r == '\r' {
			t.Errorf("separator", `must be one character other than a quote or a line break, such as "," or "\t", got %q`, separator)
		} else {
			s.Table.Separator = r
		}
	}
	s.Table.Trim, _ = t.Bool("trim")
	if missing, ok := t.Strings("missing"); ok {
		s.Table.Missing = missing
	}
	s.Table.Person, _ = t.String("person")
}

func readPrior(s *Study, t *document.Table) {
	s.Prior = s.defaultPrior()
	all := readNormal(t, Normal{SD: s.Prior.SD})
	s.Prior.Mean, s.Prior.SD = all.Mean, all.SD
	if t.Has("mean") || t.Has("sd") {
		clear(s.Prior.Coefficients)
	}
	readScales(s, t)
	exceptions := t.Table("coefficients")
	s.checkCoefficients(exceptions)
	for _, name := range exceptions.Keys() {
		s.Prior.Coefficients[name] = readNormal(exceptions.Table(name), s.Prior.For(name))
	}
}

// defaultPrior returns the model's prior for studies that give none.
//
// Once its bounds are mapped to [−1, 1], a column usually has a standard deviation of .2 to .4. In
// versions 1 and 2 the standard deviation of the prior is 1. On the log odds scale that makes
// realistic effects of many columns improbable, and intervals miss them. Version 3 therefore uses
// the scale of Gelman et al. ("A weakly informative default prior distribution for logistic and
// other regression models", Annals of Applied Statistics 2(4), 2008), but with a normal
// distribution. With more coefficients each prior is narrower, down to a standard deviation of 1,
// so that the prior of the predictor stays about the same. Version 3 also expects less noise in the
// outcome: its standard deviation is usually well below half the width of the outcome's bounds.
func (s *Study) defaultPrior() Prior {
	p := Prior{SD: 1, Coefficients: map[string]Normal{}, Scale: LogNormal{0.5, 3}, Dispersion: LogNormal{3, 5}}
	if s.Version < 3 {
		return p
	}
	switch s.Model.Family {
	case Logistic, Probit, Softmax, Poisson, NegativeBinomial:
		const sd, few = 2.5, 5
		slopes := 0
		for c := range s.Coefficients() {
			if c.Name != Intercept {
				slopes++
			}
		}
		p.SD = max(1, sd*math.Sqrt(few/max(few, float64(slopes))))
		p.Coefficients[Intercept] = Normal{SD: sd}
	case Linear, Robust:
		p.Scale = LogNormal{0.2, 4}
	}
	return p
}

func readScales(s *Study, t *document.Table) {
	m := &s.Model
	prior := m.Family.find().scale.Prior
	learned := prior == "scale" && m.Kind() != Binary && m.NoiseSD == 0 && m.ClusterSD == 0
	if len(m.Groups) > 0 && s.Inference.Solver == Scoring {
		s.Prior.Spread = 1
		readPositive(t, "spread", &s.Prior.Spread)
	} else {
		learned = learned || len(m.Groups) > 0
		refuse(t, "spread", `is used only with groups and solver = %q`, Scoring)
	}
	s.Prior.Scale = readLogNormal(m, t, "scale", learned, s.Prior.Scale)
	s.Prior.Dispersion = readLogNormal(m, t, "dispersion", prior == "dispersion", s.Prior.Dispersion)
}

// readLogNormal reads the prior of a positive parameter. If the model does not have the parameter,
// it returns the zero LogNormal.
func readLogNormal(m *Model, t *document.Table, key string, used bool, prior LogNormal) LogNormal {
	inner := t.Table(key)
	if !used {
		if t.Has(key) && m.Family != "" {
			t.Errorf(key, "has no meaning here: the model has no such parameter")
		}
		inner.Value("median")
		inner.Value("factor")
		return LogNormal{}
	}
	readPositive(inner, "median", &prior.Median)
	if v, ok := inner.Float("factor"); ok {
		if prior.Factor = v; v <= 1 {
			inner.Errorf("factor", "must be above 1, got %g: one sd of the prior multiplies or divides the median by it", v)
		}
	}
	return prior
}

// checkCoefficients reports an error for each key of t that is not a coefficient's name.
func (s *Study) checkCoefficients(t *document.Table) {
	keys := t.Keys()
	if s.Model.Terms == nil || len(keys) == 0 {
		return // reported before
	}
	unknown := map[string]bool{}
	for _, name := range keys {
		unknown[name] = true
	}
	for c := range s.Coefficients() { // the names are not kept, to save memory
		delete(unknown, c.Name)
	}
	for _, name := range keys {
		if unknown[name] {
			t.Errorf(name, "the model has no coefficient of this name")
		}
	}
}

func readNormal(t *document.Table, prior Normal) Normal {
	if v, ok := t.Float("mean"); ok {
		prior.Mean = v
	}
	if v, ok := t.Float("sd"); ok {
		if prior.SD = v; !(v > 0) {
			t.Errorf("sd", "must be positive: an improper prior gives no proper posterior before data arrive; got %g", v)
		}
	}
	return prior
}

// For returns the prior of the named coefficient.
func (p Prior) For(name string) Normal {
	if n, ok := p.Coefficients[name]; ok {
		return n
	}
	return Normal{p.Mean, p.SD}
}

func readInference(s *Study, t *document.Table) {
	in := &s.Inference
	in.Schedule = Synchronous
	readChoice(t, "schedule", &in.Schedule, Synchronous, Sequential, Asynchronous)
	readCount(t, "rounds", &in.Rounds, maxRounds)
	readPartitions(s, t)
	in.Factors = Exact
	if s.Privacy.Unit == Client || s.partitioned() && in.Schedule == Synchronous {
		in.Factors = Tied
	}
	readChoice(t, "factors", &in.Factors, Tied, Exact, Published)
	if s.partitioned() && in.Factors == Published {
		// Published factors contain the client's own noise, but the cost of a sum assumes that nobody
		// knows any client's noise.
		t.Errorf("factors", `with "published" virtual clients would remember their own noise, which the cost of the sum does not cover: write %q or %q`, Exact, Tied)
	}
	readSolver(s, t)
	if in.Solver == Scoring && !t.Has("rounds") {
		in.Rounds = scoringLimits[s.Privacy.Unit].rounds
	} else if s.Version > 1 && s.Privacy.Unit == None && !t.Has("rounds") {
		in.Rounds = roundsWithoutNoise
	} else if s.Privacy.Unit != "" { // Otherwise there would be a second error, besides the one about the unit.
		t.Require("rounds", "write the number of rounds, rounds = 10")
	}
	readTargetOfScoring(s, t)
	readCovariance(s, t)
	readIntervals(s, t)
	readDamping(s, t)
	readLocalPrior(s, t)
	if s.Privacy.Unit == Client && in.Schedule != Synchronous {
		t.Errorf("schedule", "a %s round opens the change of one client at a time, not in a sum that hides it: privacy of a whole client needs schedule = %q", in.Schedule, Synchronous)
	}
	if in.Factors == Tied && in.Schedule != Synchronous {
		t.Errorf("factors", "tied factors change with every move of λ, so that clients that take turns never converge: write factors = %q or schedule = %q", Exact, Synchronous)
	}
}

// roundsWithoutNoise is the default number of rounds without privacy noise, from version 2 on.
// After that many natural-gradient steps, the posterior hardly changes any more.
const roundsWithoutNoise = 40

func readCovariance(s *Study, t *document.Table) {
	in := &s.Inference
	in.Q = "full"
	if in.Sampled() {
		in.Q = "diagonal"
	}
	if q, ok := t.Choice("q", "full", "diagonal"); ok {
		if q == "full" && in.Solver == DPSVI {
			t.Errorf("q", `"dp-svi" finds the mean and the variance of every coordinate: write q = "diagonal"`)
		}
		if q == "full" && in.Solver == DPSEP && s.Model.general() {
			t.Errorf("q", `"dp-sep" matches every parameter of clusters and of hidden units by itself: write q = "diagonal"`)
		}
		in.Q = q
	}
	if s.Model.Terms != nil {
		d := countCoefficients(s, s.Model.Terms)
		if n := d * (d + 3) / 2; in.Q == "full" && n > maxParameters {
			t.Errorf("q", `a full covariance of %d coefficients has %d natural parameters, at most %d are possible: write q = "diagonal"`, d, n, maxParameters)
		}
	}
}

func readDamping(s *Study, t *document.Table) {
	d := &s.Inference.Damping
	d.Alpha = 1
	if len(s.Model.Groups) > 0 || s.Model.Family == Mixture || s.Model.Family == ByProgram {
		d.Alpha = 0.5 // with few quadrature points, undamped steps would oscillate
	}
	d.Harmonic = s.hidesChanges()
	if s.Inference.Solver == DPSVI && s.Inference.Schedule == Synchronous {
		d.Alpha = 0.3
	}
	if readShare(t, "damping", &d.Alpha, "(0, 1]") {
		d.Harmonic = false
	}
	if v, ok := t.Choice("damping_schedule", "constant", "harmonic"); ok {
		d.Harmonic = v == "harmonic"
	}
}

func readLocalPrior(s *Study, t *document.Table) {
	in := &s.Inference
	v, _ := t.Choice("local_prior", "whole", "split")
	if in.SplitPrior = v == "split"; !in.SplitPrior {
		return
	}
	switch {
	case s.partitioned():
		t.Errorf("local_prior", "the parts of a client use the prior of the rounds: remove local_prior, or partitions")
	case in.Solver != SVI && in.Solver != DPSVI:
		t.Errorf("local_prior", `the proposals of solver = %q do not depend on the prior: a prior is split only with "svi" and "dp-svi"`, in.Solver)
	case in.Rounds != 1 || in.Schedule != Synchronous || in.Factors == Tied:
		t.Errorf("local_prior", "clients that split the prior answer once, each on its own: write rounds = 1, schedule = %q and factors = %q", Synchronous, Exact)
	case in.Damping.Alpha != 1:
		t.Errorf("local_prior", "the clients' posteriors are multiplied as they are: write damping = 1.0")
	}
}

func readFederation(s *Study, t *document.Table) {
	f := &s.Federation
	f.MaxRecords = 1_000_000
	readCount(t, "min_clients", &f.MinClients, maxClients)
	readCount(t, "nominal_records", &f.NominalRecords, math.MaxInt32)
	readCount(t, "max_records", &f.MaxRecords, math.MaxInt32)
	if s.Version > 1 {
		f.MaxRejected = maxRejected
	}
	readCount(t, "max_rejected", &f.MaxRejected, math.MaxInt32)
	readPace(s, t)
	if v, ok := t.Int("colluders"); ok {
		f.Colluders = v
		if v < 0 {
			t.Errorf("colluders", "must not be negative, got %d", v)
		}
	}
	if f.MinClients > 0 && f.Colluders >= f.MinClients {
		t.Errorf("colluders", "%d colluders would know all the noise in a sum of %d clients: colluders must be below min_clients", f.Colluders, f.MinClients)
	}
}

// maxRejected is the default of federation.max_rejected. Some limit is needed, because rejected
// rounds cost privacy. With this one, if noise makes one round in seven fail, one in twenty studies
// of twenty rounds ends early.
const maxRejected = 3

// minPace and maxPace are the limits of Pace in seconds: a millisecond and a day.
const minPace, maxPace = 1e-3, 24 * 60 * 60

func readPace(s *Study, t *document.Table) {
	pace := &s.Federation.Pace
	if s.Version > 1 && s.Privacy.Unit != None {
		*pace = 1
	}
	if v, ok := t.Float("pace"); ok {
		if *pace = v; !(v == 0 || v >= minPace && v <= maxPace) {
			t.Errorf("pace", "must be 0 or a number of seconds between %g and %d, got %g", minPace, maxPace, v)
		}
	}
}

func readPrivacy(s *Study, t *document.Table) {
	p := &s.Privacy
	if p.Unit == None {
		refuseAll(t, []string{"adjacency", "epsilon", "delta", "noise_multiplier", "clip", "coordinates"}, `has no meaning with unit = "none": remove it, or say what is protected`)
		return
	}
	readAdjacency(p, t)
	readTarget(p, t)
	readPositive(t, "clip", &p.Clip)
	who := "client"
	if s.partitioned() {
		who = "part"
	}
	switch {
	case t.Has("clip"):
	case s.hidesChanges() && s.Federation.NominalRecords == 0:
		t.Errorf("clip", "is missing: write the L2 bound on a %s's change of natural parameters, or federation.nominal_records, from which half of a %s's largest factor is taken", who, who)
	case s.hidesChanges() && (s.Model.Kind() == Count || s.Model.general()):
		t.Errorf("clip", "is missing: no public number bounds the effect of a record of a %s model; write the L2 bound on a %s's change of natural parameters", s.Model.Family, who)
	}
	if s.Model.Family == ByProgram && s.Inference.Solver == DPSVI && !t.Has("clip") {
		t.Errorf("clip", "is missing: no public number bounds the gradient of a record of a program; write the L2 norm to which gradients are clipped, in the units of the program, clip = 3.0")
	}
	p.Centred = s.hidesChanges() && s.Inference.Factors != Published
	if v, ok := t.Choice("coordinates", "centred", "raw"); ok {
		p.Centred = v == "centred"
	}
	if s.Inference.Solver == DPSEP {
		readSiteCoordinates(s, t)
		return
	}
	if p.Centred && !s.hidesChanges() {
		t.Errorf("coordinates", `centred coordinates are for unit = "client", or inference.partitions`)
	}
	if p.Centred && s.Inference.Factors == Published {
		t.Errorf("coordinates", `factors = "published" has no centred coordinates: write coordinates = "raw"`)
	}
}

func readAdjacency(p *Privacy, t *document.Table) {
	fitting := map[Unit]accountant.Adjacency{Record: accountant.AddRemove, Person: accountant.AddRemove, Client: accountant.ZeroOut}
	p.Adjacency = fitting[p.Unit]
	if !readChoice(t, "adjacency", &p.Adjacency, accountant.AddRemove, accountant.ReplaceOne, accountant.ZeroOut) {
		return
	}
	if p.Adjacency != accountant.ReplaceOne && p.Unit != "" && p.Adjacency != fitting[p.Unit] {
		t.Errorf("adjacency", "%q is not an adjacency of %ss: use %q or %q", p.Adjacency, p.Unit, fitting[p.Unit], accountant.ReplaceOne)
	}
}

func readTarget(p *Privacy, t *document.Table) {
	readPositive(t, "epsilon", &p.Epsilon)
	readPositive(t, "noise_multiplier", &p.NoiseMultiplier)
	switch {
	case t.Has("epsilon") && t.Has("noise_multiplier"):
		t.Errorf("noise_multiplier", "follows from epsilon and delta: give one of the two, epsilon or noise_multiplier")
	case !t.Has("epsilon") && !t.Has("noise_multiplier"):
		t.Errorf("epsilon", "is missing: write the target, epsilon = 1.0, or a noise_multiplier instead")
	}
	t.Require("delta", "write the target, delta = 1e-5: below one over the number of those protected")
	readShare(t, "delta", &p.Delta, "(0, 1)")
}

// readShare sets dst to the value of key. The value must lie in the interval within, which is "(0,
// 1)", "(0, 1]", "[0, 1)" or "[0, 1]". readShare reports whether t has the key.
func readShare(t *document.Table, key string, dst *float64, within string) bool {
	x, ok := t.Float(key)
	if !ok {
		return false
	}
	*dst = x
	open, closed := within[0] == '(', strings.HasSuffix(within, "]")
	if x < 0 || x > 1 || x == 0 && open || x == 1 && !closed {
		t.Errorf(key, "must lie in %s, got %g", within, x)
	}
	return true
}

// readPositive sets dst to the value of key, which must be a positive number. It reports whether t
// has the key.
func readPositive(t *document.Table, key string, dst *float64) bool {
	x, ok := t.Float(key)
	if !ok {
		return false
	}
	if *dst = x; !(x > 0) {
		t.Errorf(key, "must be positive, got %g", x)
	}
	return true
}

// readCount sets dst to the value of key, which must be a whole number in [1, most]. It reports
// whether t has the key.
func readCount(t *document.Table, key string, dst *int, most int) bool {
	n, ok := t.Int(key)
	if !ok {
		return false
	}
	if *dst = n; n < 1 || n > most {
		t.Errorf(key, "must lie between 1 and %d, got %d", most, n)
	}
	return true
}

// readChoice sets dst to the value of key, which must be one of the given options. It reports
// whether t has the key.
func readChoice[T ~string](t *document.Table, key string, dst *T, options ...T) bool {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = string(o)
	}
	v, ok := t.Choice(key, names...)
	if ok {
		*dst = T(v)
	}
	return ok
}

func refuse(t *document.Table, key, format string, args ...any) {
	if t.Has(key) {
		t.Errorf(key, format, args...)
	}
	t.Value(key)
}

func refuseAll(t *document.Table, keys []string, format string, args ...any) {
	for _, key := range keys {
		refuse(t, key, format, args...)
	}
}

// ignore marks all keys of t as read, so that they are not reported as unknown.
func ignore(t *document.Table) {
	for _, key := range t.Keys() {
		t.Value(key)
	}
}
