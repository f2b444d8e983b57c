package sweep

import (
	"math"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// posteriorMetrics are the names of the metrics of every run.
var posteriorMetrics = []string{"kl", "mean_error", "sd_ratio", "noise_aware_sd_ratio", "accepted", "rejected", "claimed_epsilon", "true_epsilon", "sound_epsilon", "coverage", "noise_aware_coverage"}

// testMetrics are the metrics of runs with held-out records. A metric that ends in _gap is how much
// higher the value is for the pooled fit without privacy than for the run, on the same records.
var testMetrics = []string{"accuracy", "log_likelihood", "auc", "accuracy_gap", "log_likelihood_gap", "auc_gap"}

// Every row of a trace has the traceMetrics. The testTraceMetrics need held-out records.
var (
	traceMetrics     = []string{"kl", "epsilon"}
	testTraceMetrics = []string{"accuracy", "log_likelihood"}
)

// Metrics returns the columns of the results that follow the axes and the seed.
func (s *Spec) Metrics() []string {
	if s.Tested {
		return slices.Concat(posteriorMetrics, testMetrics)
	}
	return posteriorMetrics
}

// TraceMetrics returns the columns of the trace that follow the round.
func (s *Spec) TraceMetrics() []string {
	if s.tracePredictions {
		return slices.Concat(traceMetrics, testTraceMetrics)
	}
	return traceMetrics
}

func measure(p *sim.Play) (map[string]float64, error) {
	values, err := measurePosterior(p)
	if err != nil {
		return nil, err
	}
	if err := measureTest(values, p); err != nil {
		return nil, err
	}
	f := p.Federation
	if f.Protocol.Study().Points() {
		for _, of := range []string{"kl", "sd_ratio", "noise_aware_sd_ratio"} {
			delete(values, of) // there is no posterior to compare with point estimates
		}
	}
	if f.Protocol.Study().Privacy.Unit == study.None {
		return values, nil
	}
	claimed, truth, sound, err := f.Protocol.OutsideCosts(f.Protocol.Releases())
	values["claimed_epsilon"], values["true_epsilon"], values["sound_epsilon"] = claimed.Epsilon, truth.Epsilon, sound.Epsilon
	return values, err
}

func measurePosterior(p *sim.Play) (map[string]float64, error) {
	f := p.Federation
	kl, err := p.KL()
	if err != nil {
		return nil, err
	}
	family := f.Protocol.Family()
	mean, cov, err := family.Moments(p.Posterior())
	if err != nil {
		return nil, err
	}
	refMean, refCov, err := p.Reference.Moments()
	if err != nil {
		return nil, err
	}
	// The comparison with the reference uses root mean squares over coefficients. apart adds up the
	// squared errors of the means, in sds of the reference. ratio and wider add up the squared
	// ratios of the sds.
	aware, err := p.NoiseAware()
	if err != nil {
		return nil, err
	}
	var apart, ratio, wider float64
	for j := range mean {
		apart += (mean[j] - refMean[j]) * (mean[j] - refMean[j]) / refCov.At(j, j)
		ratio += cov.At(j, j) / refCov.At(j, j)
		if aware != nil {
			wider += aware.Covariance[j][j] / refCov.At(j, j)
		}
	}
	if aware == nil {
		wider = ratio
	}
	d := float64(len(mean))
	return map[string]float64{
		"kl":         kl,
		"mean_error": math.Sqrt(apart / d),
		"sd_ratio":   math.Sqrt(ratio / d),
		"accepted":   float64(f.Count(pvi.Accepted)),
		"rejected":   float64(f.Count(pvi.Rejected)),

		"noise_aware_sd_ratio": math.Sqrt(wider / d),
	}, nil
}

// measureTest adds metrics that tell how well held-out records are predicted, if there are any.
func measureTest(values map[string]float64, p *sim.Play) error {
	found, err := p.Test()
	if err != nil || found == nil {
		return err
	}
	pooled, err := p.PooledTest()
	if err != nil {
		return err
	}
	add := func(metric string, found, pooled *float64) {
		if found != nil && pooled != nil {
			values[metric], values[metric+"_gap"] = *found, *pooled-*found
		}
	}
	add("accuracy", found.Accuracy, pooled.Accuracy)
	add("log_likelihood", &found.LogLikelihood, &pooled.LogLikelihood)
	add("auc", found.AUC, pooled.AUC)
	return nil
}

// truth returns the true ε of the given number of rounds against an outsider, or NaN without
// privacy.
func truth(p *pvi.Protocol, round int) (float64, error) {
	if p.Study().Privacy.Unit == study.None {
		return nan, nil
	}
	_, truth, _, err := p.OutsideCosts(p.ReleasesAfter(round))
	return truth.Epsilon, err
}

// A tracePoint has the metrics of a run after one round.
type tracePoint struct {
	round  int
	values []float64 // values in the order of [Spec.TraceMetrics]
}

func (s *Spec) traceAt(p *sim.Play, round int) (tracePoint, error) {
	kl, err := p.KL()
	if err != nil {
		return tracePoint{}, err
	}
	if p.Federation.Protocol.Study().Points() {
		kl = nan
	}
	epsilon, err := truth(p.Federation.Protocol, round)
	if err != nil {
		return tracePoint{}, err
	}
	point := tracePoint{round, []float64{kl, epsilon}}
	if !s.tracePredictions {
		return point, nil
	}
	accuracy, logLikelihood := nan, nan
	found, err := p.Test()
	if err != nil {
		return tracePoint{}, err
	}
	if found != nil {
		logLikelihood = found.LogLikelihood
		if found.Accuracy != nil {
			accuracy = *found.Accuracy
		}
	}
	point.values = append(point.values, accuracy, logLikelihood)
	return point, nil
}
