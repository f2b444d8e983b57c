package sim

import (
	"cmp"
	"math"
	"slices"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Predictions measures how well a posterior predicts held-out records.
type Predictions struct {
	Records int `json:"records"`

	// LogLikelihood is the mean, over records, of the log posterior predictive density in the unit
	// of the outcome. For a discrete outcome it is the mean log predictive probability.
	LogLikelihood float64 `json:"mean_log_likelihood"`
	Uncertain     int     `json:"uncertain,omitempty"` // number of records whose density is uncertain ([fit.LogDensity.Uncertain])

	Accuracy *float64 `json:"accuracy,omitempty"` // share of records for which the observed outcome has the highest predicted probability
	Majority *float64 `json:"majority,omitempty"` // accuracy of a constant prediction of the most frequent outcome
	// probability that a record with the event gets a higher prediction than a record without it; a
	// tie counts half
	AUC   *float64 `json:"auc,omitempty"`
	Brier *float64 `json:"brier,omitempty"` // mean square of the predicted probability minus the outcome
	// root mean squared difference between expected and observed outcome, in the outcome's unit
	RMSE *float64 `json:"rmse,omitempty"`

	// Calibration compares predictions with observations. The records are sorted by prediction and
	// divided into groups of about equal size. For a class outcome, the prediction is the
	// probability of the most likely class, and the observation is 1 if the record has that class,
	// else 0.
	Calibration []Bin `json:"calibration,omitempty"`
}

// A Bin is a group of records with similar predictions.
type Bin struct {
	Records   int     `json:"records"`
	Lower     float64 `json:"lower"` // smallest prediction
	Upper     float64 `json:"upper"` // largest prediction
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
	Error     float64 `json:"standard_error"` // standard error of Observed
}

// predict returns measures of how good the predictions of all records are, and the predictions
// themselves.
func predict(m *fit.Model, s *shard.Shard, family gaussian.Family, natural []float64) (*Predictions, []fit.Prediction, error) {
	all, err := m.Predict(s, family, natural)
	if err != nil {
		return nil, nil, err
	}
	out := &Predictions{Records: len(all)}
	unit := 1.0
	if m.Study.Model.Kind() == study.Measured {
		unit = m.Study.OutcomeUnit()
	}
	for _, p := range all {
		out.LogLikelihood += (p.LogDensity - math.Log(unit)) / float64(len(all))
		if (fit.LogDensity{Value: p.LogDensity, Error: p.Error}).Uncertain() {
			out.Uncertain++
		}
	}
	pairs := make([]pair, len(all))
	switch m.Study.Model.Kind() {
	case study.Binary:
		for i, p := range all {
			pairs[i] = pair{p.Mean, p.Outcome}
		}
		out.binary(pairs)
	case study.Class:
		for i, p := range all {
			best := slices.Index(p.Classes, slices.Max(p.Classes))
			pairs[i] = pair{p.Classes[best], truth(best == int(p.Outcome))}
		}
		out.classes(all, pairs)
	case study.NoOutcome:
		return out, all, nil
	default:
		c, _ := m.Study.Column(m.Study.Model.Outcome)
		var squares float64
		for i, p := range all {
			pairs[i] = pair{p.Mean, p.Outcome}
			if m.Study.Model.Kind() == study.Measured {
				pairs[i] = pair{m.Study.Unscale(c, p.Mean), m.Study.Unscale(c, p.Outcome)}
			}
			apart := pairs[i].predicted - pairs[i].observed
			squares += apart * apart
		}
		rmse := math.Sqrt(squares / float64(len(all)))
		out.RMSE = &rmse
	}
	out.Calibration = calibrate(pairs, out.RMSE == nil)
	return out, all, nil
}

type pair struct{ predicted, observed float64 }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (p *Predictions) binary(pairs []pair) {
	var right, ones, brier float64
	for _, x := range pairs {
		right += truth((x.predicted > 0.5) == (x.observed == 1))
		ones += x.observed
		brier += (x.predicted - x.observed) * (x.predicted - x.observed)
	}
	n := float64(len(pairs))
	accuracy, majority, mean := right/n, max(ones, n-ones)/n, brier/n
	p.Accuracy, p.Majority, p.Brier = &accuracy, &majority, &mean
	if ones > 0 && ones < n {
		auc := areaUnderCurve(pairs)
		p.AUC = &auc
	}
}

func (p *Predictions) classes(all []fit.Prediction, pairs []pair) {
	var right float64
	counts := make([]float64, len(all[0].Classes))
	for i, x := range pairs {
		right += x.observed
		counts[int(all[i].Outcome)]++
	}
	n := float64(len(pairs))
	accuracy, majority := right/n, slices.Max(counts)/n
	p.Accuracy, p.Majority = &accuracy, &majority
}

// areaUnderCurve returns the area under the ROC curve, which is the Mann-Whitney statistic. It uses
// mean ranks for ties.
func areaUnderCurve(pairs []pair) float64 {
	sorted := byPrediction(pairs)
	var ranks, ones float64
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j].predicted == sorted[i].predicted {
			j++
		}
		for _, x := range sorted[i:j] {
			ranks += x.observed * float64(i+j+1) / 2
			ones += x.observed
		}
		i = j
	}
	return (ranks - ones*(ones+1)/2) / (ones * (float64(len(sorted)) - ones))
}

func byPrediction(pairs []pair) []pair {
	return slices.SortedFunc(slices.Values(pairs), func(a, b pair) int { return cmp.Compare(a.predicted, b.predicted) })
}

// A calibration table has at most bins groups. It has fewer if some group would have less than
// fewest records.
const (
	bins   = 10
	fewest = 10
)

func calibrate(pairs []pair, binary bool) []Bin {
	sorted := byPrediction(pairs)
	n := min(bins, max(1, len(sorted)/fewest))
	var out []Bin
	for k := range n {
		part := sorted[k*len(sorted)/n : (k+1)*len(sorted)/n]
		if len(part) == 0 {
			continue
		}
		size := float64(len(part))
		b := Bin{Records: len(part), Lower: part[0].predicted, Upper: part[len(part)-1].predicted}
		for _, x := range part {
			b.Predicted += x.predicted / size
			b.Observed += x.observed / size
		}
		var squares float64
		for _, x := range part {
			squares += (x.observed - b.Observed) * (x.observed - b.Observed)
		}
		b.Error = math.Sqrt(squares / size / size)
		if binary {
			// Move the share slightly towards one half, as if there were one more record, half of
			// it with the event. Otherwise the standard error would be zero if all or none of the
			// records have the event.
			share := (b.Observed*size + 0.5) / (size + 1)
			b.Error = math.Sqrt(share * (1 - share) / size)
		}
		out = append(out, b)
	}
	return out
}
