package study

import (
	"fedpvi/accountant"
	"fedpvi/internal/document"
)

// Propagation has the options of the solver DPSEP. The options for steps and batches are in
// [Descent].
type Propagation struct {
	// largest part of the way towards the sum of the records' sites that the factor moves in one pass
	// over the records; default 1
	StepSize float64
	Recency  float64 // exponent r: in the factor, pass p has a weight proportional to p^r; default 1
	Power    float64 // exponent of the likelihood in tilted distributions, in (0, 1]; default 1

	// PrecisionWeight balances the two kinds of natural parameters when a record's site is clipped.
	// The precisions are multiplied by it before clipping and noise, and divided by it afterwards. The
	// default is 1 for a mixture, 0.1 for a mixture that learns the standard deviations of its
	// clusters, and 0.5 for other models.
	PrecisionWeight float64

	Contribution Contribution
	Sites        Sites // kind of sites for a mixture with known standard deviation
	Improper     Improper
	Raw          bool // whether sites are clipped around θ = 0 rather than around the mean of q
	Reseat       bool // whether stuck clusters of a mixture are moved; default true

	Start   Start
	StartAt map[string]float64 // means of q for computing the first sites, by parameter name
}

// A Contribution says which vector a record adds to a sum.
type Contribution string

const (
	// SiteContribution is the site of the record.
	SiteContribution Contribution = "site"
	// DeviationContribution is the site of the record minus an equal share of the client's factor.
	DeviationContribution Contribution = "deviation"
)

// Sites says how a record's site for a cluster of a mixture is computed.
type Sites string

const (
	// TiedSites raises the likelihood of the record under a cluster to the power p, the probability
	// that the record belongs to the cluster.
	TiedSites Sites = "tied"
	// MomentSites matches the moments of the tilted distribution.
	MomentSites Sites = "moments"
)

// Improper says how a client deals with a factor that has become improper because of noise.
type Improper string

const (
	// Project replaces the factor by the nearest one that could come from a likelihood.
	Project Improper = "project"
	// Reject keeps the last proper factor. The step is still charged, and its release remains in
	// the average.
	Reject Improper = "reject"
)

// Start says at which q the first step computes the records' sites.
type Start string

const (
	// PriorStart begins at the prior, with means replaced by those in [Propagation].StartAt.
	PriorStart Start = "prior"
	// DrawnStart begins at means that are drawn from the prior with public randomness.
	DrawnStart Start = "draw"
)

// Sampled reports whether clients take private steps, each of which uses a noisy sum over a batch
// of records.
func (in *Inference) Sampled() bool { return in.Solver == DPSVI || in.Solver == DPSEP }

func readPropagation(s *Study, t *document.Table) {
	d, p := &s.Inference.Descent, &s.Inference.Propagation
	mixture := s.Model.Family == Mixture
	*d = Descent{Draws: 1, Sampling: PoissonSampling, InitialSD: 1}
	*p = Propagation{StepSize: 1, Recency: 1, Power: 1, PrecisionWeight: 0.5, Contribution: SiteContribution, Improper: Project, Start: PriorStart, Sites: MomentSites}
	switch {
	case mixture && s.Model.ClusterSD > 0:
		p.PrecisionWeight, p.Sites, p.Reseat = 1, TiedSites, true
	case mixture:
		p.PrecisionWeight = learnedWeight
	case s.Model.Family == NeuralNetwork:
		d.InitialSD = networkStart
	}
	readCount(t, "steps", &d.Steps, maxSteps)
	readShare(t, "sampling_rate", &d.Rate, "(0, 1]")
	readChoice(t, "sampling", &d.Sampling, PoissonSampling, AllocatedSampling, PublishedSampling)
	published := d.Sampling == PublishedSampling
	if readPositive(t, "step_size", &p.StepSize) && p.StepSize > 1 && !published {
		t.Errorf("step_size", "must lie in (0, 1]: a pass over the records moves the factor at most all the way to the sum of their sites; got %g", p.StepSize)
	}
	if v, ok := t.Float("recency"); ok {
		if p.Recency = v; !(v >= 0 && v <= maxRecency) {
			t.Errorf("recency", "must lie in [0, %d], got %g", maxRecency, v)
		}
	}
	readShare(t, "power", &p.Power, "(0, 1]")
	readPositive(t, "precision_weight", &p.PrecisionWeight)
	readChoice(t, "contribution", &p.Contribution, SiteContribution, DeviationContribution)
	readChoice(t, "improper", &p.Improper, Project, Reject)
	readMixtureSites(p, t, mixture && s.Model.ClusterSD > 0)
	readSepStart(s, t)
	if mixture && t.Has("power") {
		t.Errorf("power", "has no closed form for a mixture: remove it")
	}
	if published && mixture && s.Model.ClusterSD == 0 {
		t.Errorf("sampling", "the published form is of clusters whose sd is known: write model.cluster_sd")
	}
	if published {
		p.Raw, p.Reseat, p.PrecisionWeight = true, false, 1
	}
	if s.Inference.Factors == Published {
		t.Errorf("factors", `"published" is not defined for solver = "dp-sep": write factors = %q, which costs the same, because a client remembers only its releases`, Exact)
	}
}

// learnedWeight is the default PrecisionWeight for clusters with a learned standard deviation. In
// such a site, the precision is about 1/sd times as large as the precision times the mean. With
// learnedWeight both have about the same size if the standard deviation is a tenth of the width of
// the bounds.
const learnedWeight = 0.1

// networkStart is the largest standard deviation of a neural network's weights in the first step.
const networkStart = 0.3

// maxRecency is the largest allowed Recency. If it were larger, nearly all weight would be on the
// last pass.
const maxRecency = 100

func readMixtureSites(p *Propagation, t *document.Table, known bool) {
	if !known {
		refuseAll(t, []string{"sites", "reseat"}, `is used only with family = "mixture" and a known cluster_sd`)
	}
	readChoice(t, "sites", &p.Sites, TiedSites, MomentSites)
	if v, ok := t.Bool("reseat"); ok {
		p.Reseat = v
	}
}

func readSepStart(s *Study, t *document.Table) {
	p := &s.Inference.Propagation
	readChoice(t, "start", &p.Start, PriorStart, DrawnStart)
	at := t.Table("start_at")
	for _, name := range at.Keys() {
		if v, ok := at.Float(name); ok {
			if p.StartAt == nil {
				p.StartAt = map[string]float64{}
			}
			p.StartAt[name] = v
		}
	}
	if s.Model.Family == NeuralNetwork && p.StartAt == nil && !t.Has("start") {
		p.Start = DrawnStart // starting at the prior would keep all hidden units equal
	}
	if p.StartAt != nil && p.Start == DrawnStart {
		t.Errorf("start", "start = \"draw\" and start_at give two different starts: remove one of them")
	}
	if readPositive(t, "initial_sd", &s.Inference.Descent.InitialSD) && p.StartAt == nil && p.Start != DrawnStart {
		t.Errorf("initial_sd", `is used only with start_at, or start = "draw"`)
	}
}

func readSiteCoordinates(s *Study, t *document.Table) {
	published := s.Inference.Descent.Sampling == PublishedSampling
	if t.Has("coordinates") {
		s.Inference.Propagation.Raw = !s.Privacy.Centred
		if published && s.Privacy.Centred {
			t.Errorf("coordinates", `the published form has no centred coordinates: write coordinates = "raw"`)
		}
	}
	s.Privacy.Centred = false // Centred is meant for changes of whole clients only
}

// checkPropagation refuses options of [Propagation] that do not fit federation.nominal_records, the
// adjacency or the coordinates in which sites are clipped. Those keys must be read first.
func checkPropagation(s *Study, t *document.Table) {
	if s.Inference.Solver != DPSEP {
		return
	}
	d, p, nominal := &s.Inference.Descent, &s.Inference.Propagation, s.Federation.NominalRecords
	if p.Contribution == DeviationContribution && nominal == 0 {
		t.Errorf("contribution", `an equal share of a client's factor needs a public number of its records: write federation.nominal_records, or contribution = %q`, SiteContribution)
	}
	if d.Sampling == AllocatedSampling && d.Rate == 0 {
		t.Errorf("sampling", "every record is in one step of an epoch: write sampling_rate, 1 divided by the number of steps in an epoch")
	}
	if d.Sampling != PublishedSampling {
		return
	}
	if nominal == 0 {
		t.Errorf("sampling", "the published step is divided by a public number of records: write federation.nominal_records")
	}
	if s.Privacy.Adjacency != accountant.ReplaceOne {
		t.Errorf("sampling", `the published form uses every record once in a pass, one in each step, so that the number of steps reveals the number of records: write privacy.adjacency = %q`, accountant.ReplaceOne)
	}
	if d.Rate != 0 {
		t.Errorf("sampling_rate", "the published form takes one record a step: remove it")
	}
	if s.Privacy.Clip == 0 {
		t.Errorf("sampling", "the published form clips raw natural parameters, and this clip has no default: write privacy.clip")
	}
}
