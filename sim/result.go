package sim

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/method"
	"fedpvi/pvi/model"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// A Result is the result of a study. The simulator prints it and saves it as JSON.
type Result struct {
	Study   string `json:"study"`
	Digest  string `json:"digest"` // SHA-256 of the study document
	Seed    uint64 `json:"seed"`
	Clients int    `json:"clients"`
	Records int    `json:"records"` // number of records of all clients

	Rounds   int `json:"rounds"`   // number of rounds of a synchronous study; in other studies, the number of passes in which every client answers once
	Outcomes int `json:"outcomes"` // number of outcomes; a pass over the clients has one for each client
	Accepted int `json:"accepted"` // number of outcomes that moved λ
	Rejected int `json:"rejected"` // number of outcomes that were rejected because λ would have become improper
	Void     int `json:"void"`     // number of outcomes with too few answers

	// NoiseAware is the noise-aware posterior, which reports show next to q. It is nil from version
	// 2 of the study language on, where Posterior is the noise-aware posterior.
	NoiseAware *NoiseAware `json:"noise_aware,omitempty"`

	// Posterior is nil if the study reports only point estimates, which are then in Estimates.
	Posterior  []Marginal     `json:"posterior,omitempty"`
	Estimates  []fit.Estimate `json:"estimates,omitempty"`
	NonPrivate []Marginal     `json:"nonprivate"` // marginal distributions of the pooled posterior

	// Quantities and NonPrivateQuantities have the values computed from parameters, under the
	// posterior and under the pooled posterior.
	Quantities           []fit.Quantity `json:"quantities,omitempty"`
	NonPrivateQuantities []fit.Quantity `json:"nonprivate_quantities,omitempty"`

	Reference string `json:"reference"` // method by which the pooled posterior was computed

	// Prior compares the posterior with the prior. It is nil in version 1 of the study language,
	// without a posterior, and for models whose prior is not normal.
	Prior []fit.AgainstPrior `json:"against_prior,omitempty"`

	// KL is the KL divergence of the posterior, or of q in version 1 of the study language, from
	// the pooled posterior, in nats. It is nil for point estimates.
	KL *float64 `json:"kl_to_nonprivate,omitempty"`

	// Apart measures how far point estimates are from the means of the pooled posterior: it is the
	// root mean square of the distances over all coefficients, in pooled sds. It is nil without
	// point estimates.
	Apart *float64 `json:"rms_pooled_sds,omitempty"`

	// Test measures how well the posterior predicts held-out records, and NonPrivateTest how well
	// the pooled fit does. Both are nil without held-out records. Test uses q if there is no
	// posterior, and in version 1 of the study language.
	Test           *Predictions `json:"test,omitempty"`
	NonPrivateTest *Predictions `json:"nonprivate_test,omitempty"`

	// Influences has the clients' influences on the pooled posterior, largest first. It is nil in
	// version 1 of the study language, and if no influences can be computed, for example because
	// only sums are opened.
	Influences []Influence `json:"influences,omitempty"`

	// Checks compares outcomes with draws from the posterior. It uses the held-out records or, if
	// Test is nil, all records. It is nil in version 1 of the study language, without a posterior,
	// and before [Play.Check].
	Checks []fit.Check `json:"predictive_checks,omitempty"`

	Privacy Privacy `json:"privacy"`

	Scale []scale.Column `json:"scale,omitempty"` // mean and sd of each standardised column

	// Notes are warnings that must be shown together with the posterior.
	Notes []string `json:"notes,omitempty"`

	// Arrived reports whether the rounds have converged, judged by their opened sums. It is nil if
	// the method cannot tell.
	Arrived *bool `json:"arrived,omitempty"`

	Tables  *describe.Summary `json:"tables,omitempty"`   // tables that describe the records; nil if the study has none
	HeldOut *describe.Scored  `json:"held_out,omitempty"` // scores of held-out records; nil if the study has none

	// ComputedOn names the devices that computed the private gradient steps. It is empty for the
	// CPU. With the same seed, their noise differs from the CPU's.
	ComputedOn string `json:"computed_on,omitempty"`

	Folder string `json:"folder,omitempty"`

	Family string `json:"-"` // family of the posterior; "full" or "diagonal"
	// natural parameters of the posterior, or of q if the study reports only point estimates
	Natural    []float64   `json:"-"`
	Covariance [][]float64 `json:"-"` // covariance of θ; nil if the study reports only point estimates
	// Q describes q if it differs from the posterior, and is always nil in version 1.
	Q         *Q               `json:"-"`
	Units     fit.Units        `json:"-"`
	Generator *model.Generator `json:"-"` // computes the values in Quantities; nil if there are none
	Predicted []fit.Prediction `json:"-"` // predictions of the held-out records
}

// A Q describes q, the Gaussian approximation that the rounds update. Reports may show another
// posterior, because the spread of q does not include the privacy noise.
type Q struct {
	Family string `json:"family"`
	// precision times mean, then the precision (lower triangle by rows, or the diagonal)
	Natural []float64 `json:"natural_parameters"`
}

// A Marginal describes the distribution of one coefficient, on the model's scale and in natural
// units.
type Marginal struct {
	Name  string  `json:"name"`
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Lower float64 `json:"q2.5"`
	Upper float64 `json:"q97.5"`
	fit.Natural
}

// Shown returns the marginals of the posterior that reports show: the noise-aware one if it exists,
// and otherwise q.
func (r *Result) Shown() []Marginal {
	if r.NoiseAware != nil {
		return r.NoiseAware.Marginals
	}
	return r.Posterior
}

// Privacy is the privacy cost of one client's releases.
type Privacy struct {
	Unit     study.Unit `json:"unit"`
	*Promise            // nil if the study has no privacy
}

// A Promise is the privacy cost of one client's releases. Every cost except Claimed and True is a
// proven bound.
type Promise struct {
	Protects string `json:"protects"` // description of the privacy unit
	// AtTwo is a sentence about the cost to a person who has rows at two clients. It is empty
	// unless the study protects a person's rows at one client.
	AtTwo     string               `json:"at_two_clients,omitempty"`
	Adjacency accountant.Adjacency `json:"adjacency"`
	Epsilon   float64              `json:"epsilon"` // ε for the observer that the study names
	Delta     float64              `json:"delta"`
	// parameter μ of a Gaussian mechanism with the same cost as all releases; 0 if there is no such
	// mechanism
	Mu              float64     `json:"mu,omitempty"`
	NoiseMultiplier float64     `json:"noise_multiplier"`
	Clip            float64     `json:"clip"`
	Releases        int         `json:"releases"`
	Opens           study.Opens `json:"opens"` // the parts of clients' answers that others can read
	// Scores is true if a release has scores (gradients) and curvatures at published points.
	Scores bool `json:"scores,omitempty"`
	// Modes is true if the first release also has votes that locate the mode of a client's records.
	Modes     bool `json:"modes,omitempty"`
	Tables    bool `json:"tables,omitempty"`    // whether the first release has the sums for tables that describe the records
	HeldOut   bool `json:"held_out,omitempty"`  // whether the last release scores held-out records
	Gradients bool `json:"gradients,omitempty"` // whether the releases are sums of gradients
	Sites     bool `json:"sites,omitempty"`     // whether the releases are sums of the factors of records
	// LastRelease is true if the last release is a gradient and a curvature, each with its own
	// noise.
	LastRelease bool `json:"last_release,omitempty"`
	// number of parts into which each client divides its records
	Parts int `json:"parts,omitempty"`
	// number of releases of noisy statistics before the first step
	Statistics int `json:"statistics,omitempty"`
	// number of releases in the scale phase; every cost includes them
	ScaleReleases int `json:"scale_releases,omitempty"`
	// how settings were chosen on private records, if they were; included in every cost
	Selection  *Selection `json:"selection,omitempty"`
	Method     string     `json:"method"`
	Conditions string     `json:"conditions"` // conditions under which the costs hold
	Views      []Spent    `json:"views"`

	// Sound is false if the releases may cost more than the claimed cost.
	//
	// If a setting makes the study run a method exactly as a publication describes it (see
	// [method.PublishedFactors]), Published is this setting. Otherwise it is empty, and the claimed
	// cost, the true cost and the proven bound against an outsider are equal.
	Sound     bool    `json:"sound"`
	Published string  `json:"published,omitempty"`
	Claimed   Outside `json:"claimed"`
	True      Outside `json:"true"`
	Proven    Outside `json:"proven"`
}

// Selection describes how the private records were used to choose settings.
type Selection struct {
	Candidates []string `json:"candidates"` // settings of each candidate, as text
	Chosen     int      `json:"chosen"`     // index of the chosen candidate in Candidates
	Score      string   `json:"score"`
	// noisy sum of each candidate's scores, minus the mean of these sums
	Totals     []float64 `json:"scores"`
	ScoreClip  float64   `json:"score_clip"` // bound on the L2 norm of the vector of scores that a record contributes
	ScoreNoise float64   `json:"score_noise_multiplier"`
	Releases   int       `json:"releases"` // number of releases that a client makes in all runs, not counting the scores
}

// Outside is the cost of a client's releases to an outsider, under the study's own adjacency.
type Outside struct {
	Epsilon float64 `json:"epsilon"`
	Mu      float64 `json:"mu,omitempty"`
}

// Spent is the cost of a client's releases to one observer, under one adjacency.
type Spent struct {
	View      string               `json:"view"`
	Who       string               `json:"who"`
	Adjacency accountant.Adjacency `json:"adjacency"`
	Epsilon   float64              `json:"epsilon"`
	Mu        float64              `json:"mu,omitempty"`
}

// marginals returns the distribution of each parameter on its own scale. A parameter that is fitted
// on the log scale is log-normal.
func marginals(m *fit.Model, units fit.Units, mean []float64, cov mat.Symmetric) []Marginal {
	out := make([]Marginal, m.Dim())
	natural := units.Marginals(mean, cov)
	for i, p := range m.Parameters.All() {
		out[i] = marginal(p, mean[i], math.Sqrt(cov.At(i, i)))
		out[i].Natural = natural[i]
	}
	return out
}

func marginal(p fit.Parameter, m, sd float64) Marginal {
	out := Marginal{Name: p.Name, Mean: m, SD: sd, Lower: p.Back(m - fit.Normal95*sd), Upper: p.Back(m + fit.Normal95*sd)}
	if p.Log {
		out.Mean = math.Exp(m + sd*sd/2)
		out.SD = out.Mean * math.Sqrt(math.Expm1(sd*sd))
	}
	return out
}

// Result returns the result of the federation at this moment.
func (f *Federation) Result(reference *Reference) (*Result, error) {
	p := f.Protocol
	st := p.Study()
	r := &Result{
		Study:    st.Name,
		Digest:   st.Digest.String(),
		Seed:     f.seed,
		Clients:  len(p.Roster()),
		Rounds:   st.Inference.Rounds,
		Outcomes: f.Server.Outcomes(),
		Accepted: f.verdicts[pvi.Accepted],
		Rejected: f.verdicts[pvi.Rejected],
		Void:     f.verdicts[pvi.Void],
		Family:   p.Family().Name(),
		Natural:  append([]float64(nil), f.Server.Posterior()...),
		Units:    p.Model().Units(),
	}
	for _, s := range f.Shards {
		r.Records += s.Len()
	}
	if err := r.compare(f, reference); err != nil {
		return nil, err
	}
	r.Notes = r.notes(st)
	if st.Version > 1 {
		r.NoiseAware = nil // from version 2 on, Posterior is the noise-aware posterior
	}
	if remarks := f.Server.Remarks(); remarks != nil {
		r.Notes, r.Arrived = append(r.Notes, remarks.Sentences...), &remarks.Arrived
		r.Tables, r.HeldOut = remarks.Tables, remarks.HeldOut
	}
	if f.Scale != nil {
		r.Scale = f.Scale.Columns
		r.Notes = append(r.Notes, scaleNotes(r.Scale)...)
	}
	r.Privacy.Unit = st.Privacy.Unit
	if st.Privacy.Unit == study.None {
		return r, nil
	}
	var err error
	r.Privacy.Promise, err = NewPromise(p, f.Releases(0)) // all clients have the same cost
	return r, err
}

// compare adds the posterior of the federation, or its point estimates, and compares them with the
// reference. A study without a model has no reference.
func (r *Result) compare(f *Federation, reference *Reference) error {
	p := f.Protocol
	if reference == nil {
		return nil // the study has no model
	}
	pooled, pooledCov, err := reference.Moments()
	if err != nil {
		return err
	}
	r.NonPrivate = marginals(p.Model(), r.Units, pooled, pooledCov)
	r.Reference = reference.Method
	if r.NoiseAware, err = f.noiseAware(r.Natural); err != nil {
		return err
	}
	family := p.Family()
	if a := r.NoiseAware; a != nil && p.Study().Version > 1 {
		r.Q = &Q{r.Family, r.Natural}
		family = gaussian.Full(len(a.Mean))
		r.Family, r.Natural = family.Name(), make([]float64, family.Size())
		if err := family.FromMoments(r.Natural, a.Mean, mat.NewSymDense(len(a.Mean), slices.Concat(a.Covariance...))); err != nil {
			return err
		}
	}
	mean, cov, err := family.Moments(r.Natural)
	if err != nil {
		return err
	}
	if err := r.generate(p.Model(), family, mean, pooled, pooledCov); err != nil {
		return err
	}
	if p.Study().Points() {
		r.Q = &Q{r.Family, r.Natural}
		r.Estimates = p.Model().Estimates(mean)
		apart := rmsInSDs(mean, pooled, pooledCov)
		r.Apart = &apart
		return nil
	}
	r.Posterior = marginals(p.Model(), r.Units, mean, cov)
	for i := range mean {
		r.Covariance = append(r.Covariance, mat.Row(nil, i, cov))
	}
	if p.Study().Version > 1 {
		if r.Prior, err = p.Model().AgainstPrior(mean, cov); err != nil {
			return err
		}
		if r.Influences, err = influences(p, f.Shards, reference); err != nil {
			return err
		}
	}
	kl, err := reference.KL(family, r.Natural)
	r.KL = &kl
	return err
}

// generate adds the quantities that are computed from the parameters. family and mean describe the
// posterior, and pooled and pooledCov the pooled posterior.
func (r *Result) generate(m *fit.Model, family gaussian.Family, mean, pooled []float64, pooledCov mat.Symmetric) (err error) {
	r.Generator = m.Generator()
	full := gaussian.Full(len(pooled))
	natural := make([]float64, full.Size())
	if err := full.FromMoments(natural, pooled, pooledCov); err != nil {
		return err
	}
	if r.NonPrivateQuantities, err = m.Quantities(full, natural); err != nil {
		return err
	}
	if !m.Study.Points() {
		r.Quantities, err = m.Quantities(family, r.Natural)
		return err
	}
	if r.Quantities, err = m.QuantitiesAt(mean); err != nil {
		return err
	}
	r.NonPrivateQuantities = slices.DeleteFunc(r.NonPrivateQuantities, func(q fit.Quantity) bool {
		return !slices.ContainsFunc(r.Quantities, func(other fit.Quantity) bool { return other.Name == q.Name })
	})
	return nil
}

// rmsInSDs returns the root mean square of the differences a − b, in units of the standard
// deviations in cov.
func rmsInSDs(a, b []float64, cov mat.Symmetric) float64 {
	var sum float64
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i]) / cov.At(i, i)
	}
	return math.Sqrt(sum / float64(len(a)))
}

func (r *Result) notes(st *study.Study) []string {
	var notes []string
	switch {
	case r.Accepted == 0:
		notes = append(notes, "Nothing was learned: no outcome moved λ, and this is the prior.")
	case st.Model.Absent():
	case r.Estimates != nil:
		notes = append(notes, study.PointsNote)
	case r.NoiseAware != nil:
		notes = append(notes, "The sds include the privacy noise, by "+r.NoiseAware.Method+".")
	case st.Inference.Solver == study.Scoring && st.Privacy.Unit == study.Client:
		notes = append(notes, "The sds include the privacy noise.")
	case st.Inference.Solver == study.Scoring:
		notes = append(notes, "The sds include the privacy noise and the possible bias of clipping.")
	case st.Privacy.Unit != study.None:
		notes = append(notes, "The sds do not include the privacy noise.")
	}
	if doubt := st.Doubt(); doubt != "" {
		notes = append(notes, doubt)
	}
	if st.Model.Family == study.NeuralNetwork {
		notes = append(notes, "Many weights make the same network: compare predictions with the pooled fit, not weights.")
	}
	return append(notes, extensionNotes(st)...)
}

// NewPromise returns the privacy cost of a client's releases, given their number. The study must
// have privacy.
func NewPromise(p *pvi.Protocol, releases int) (*Promise, error) {
	target := p.Study().Privacy
	costs, err := p.Costs(releases)
	if err != nil {
		return nil, err
	}
	claimed, truth, proven, err := p.OutsideCosts(releases)
	if err != nil {
		return nil, err
	}
	steps, stepped := p.Method().(method.Stepped)
	atTwo, err := words.AtTwoClients(p)
	if err != nil {
		return nil, err
	}
	out := &Promise{
		Protects:        target.Protects(),
		AtTwo:           atTwo,
		Adjacency:       target.Adjacency,
		Epsilon:         costs[0].Epsilon,
		Delta:           target.Delta,
		Mu:              costs[0].Mu,
		NoiseMultiplier: p.Method().Noise().Multiplier,
		Clip:            p.Method().Noise().Clip,
		Releases:        releases,
		Opens:           p.Study().Federation.Opens,
		Scores:          p.Study().Inference.Solver == study.Scoring,
		Modes:           p.Study().Privacy.Unit == study.Client && p.Study().Inference.Solver == study.Scoring && p.Study().Model.Formula != nil,
		Tables:          p.Study().Describe != nil,
		HeldOut:         p.Study().Compare != nil,
		Gradients:       stepped,
		Sites:           p.Study().Inference.Solver == study.DPSEP,
		LastRelease:     len(p.After()) > 0 && releases > p.Method().Releases(),
		Parts:           p.Study().Inference.Partitions.Count,
		Method:          costs[0].Method,
		Conditions:      words.Conditions(p),
		Sound:           p.Sound(),
		Published:       p.Published(),
		Claimed:         Outside{claimed.Epsilon, claimed.Mu},
		True:            Outside{truth.Epsilon, truth.Mu},
		Proven:          Outside{proven.Epsilon, proven.Mu},
	}
	if stepped {
		if _, ok := steps.Start(); ok {
			out.Statistics = min(releases, 1)
		}
	}
	for _, s := range p.Before() {
		out.ScaleReleases = s.Passes()
	}
	for _, c := range costs {
		out.Views = append(out.Views, Spent{c.View.Name, c.View.Who, c.Adjacency, c.Epsilon, c.Mu})
	}
	return out, nil
}

func widen(family gaussian.Family, natural []float64) []float64 {
	d := family.Dim()
	wide := make([]float64, gaussian.Full(d).Size())
	copy(wide, natural[:d])
	for k, at := range family.Precision() {
		wide[gaussian.Packed(d, at[0], at[1])] = natural[d+k]
	}
	return wide
}
