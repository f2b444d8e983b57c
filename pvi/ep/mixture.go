package ep

import (
	"math"
	"slices"

	"fedpvi/pvi/gaussian"
)

// A Mixture is a mixture of K normal clusters of equal weight and the same known sd. θ has the
// means: that of variable v in cluster k is θ[v·K + k]. Under a diagonal cavity the probability r_k
// that a record belongs to cluster k has a closed form. The tilted distribution of a mean is a
// mixture of the cavity, with weight 1 − r_k, and of the cavity updated with the record.
type Mixture struct {
	weighted
	clusters, variables int
	variance            float64
	x                   []float64 // values of the variables, record after record
	tied                bool

	chance []float64 // probability of each cluster, given the record
}

// NewMixture returns a Mixture in a diagonal family. Each row of x is a record with the given
// number of variables. In sites, precisions are multiplied by weight.
//
// If tied is false, a record's site matches the moments of the tilted distribution. If tied is
// true, the site for cluster k is the record's normal likelihood to the power r_k, the probability
// of the cluster. Its precision is the same in every variable, so only one for each cluster is
// kept. Both are equal if each record's cluster is certain.
func NewMixture(clusters, variables int, sd float64, x []float64, tied bool, weight float64) *Mixture {
	d := clusters * variables
	return &Mixture{
		weighted: newWeighted(gaussian.Diagonal(d), weight), clusters: clusters, variables: variables, variance: sd * sd, x: x,
		tied: tied, chance: make([]float64, clusters),
	}
}

// Records implements [Tilted].
func (t *Mixture) Records() int { return len(t.x) / t.variables }

// Size implements [Tilted].
func (t *Mixture) Size() int {
	if t.tied {
		return t.dim + t.clusters
	}
	return 2 * t.dim
}

// Site implements [Tilted].
func (t *Mixture) Site(dst []float64, record int) {
	x := t.x[record*t.variables : (record+1)*t.variables]
	t.assign(x)
	for v, value := range x {
		for k, chance := range t.chance {
			i := v*t.clusters + k
			gap, cavity := value-t.at.Mean[i], t.at.Variance[i]
			if t.tied {
				dst[i] = chance * gap / t.variance
				dst[t.dim+k] = chance / t.variance * t.weight
				continue
			}
			gain := cavity / (cavity + t.variance)
			move := gain * gap
			variance := cavity*(1-chance*gain) + chance*(1-chance)*move*move
			dst[i] = chance * move / variance
			dst[t.dim+i] = (1/variance - 1/cavity) * t.weight
		}
	}
}

func (t *Mixture) assign(x []float64) {
	for k := range t.chance {
		var log float64
		for v, value := range x {
			i := v*t.clusters + k
			spread := t.at.Variance[i] + t.variance
			gap := value - t.at.Mean[i]
			log -= (math.Log(spread) + gap*gap/spread) / 2
		}
		t.chance[k] = log
	}
	normalise(t.chance)
}

func normalise(logs []float64) {
	largest, total := slices.Max(logs), 0.0
	for k, log := range logs {
		logs[k] = math.Exp(log - largest)
		total += logs[k]
	}
	for k := range logs {
		logs[k] /= total
	}
}

// Expand implements [Tilted].
func (t *Mixture) Expand(dst, sum []float64) {
	if !t.tied {
		t.weighted.Expand(dst, sum)
		return
	}
	copy(dst, sum[:t.dim])
	for i := range t.dim {
		dst[t.dim+i] = sum[t.dim+i%t.clusters] / t.weight
	}
}

// Compress implements [Tilted].
func (t *Mixture) Compress(dst, natural []float64) {
	if !t.tied {
		t.weighted.Compress(dst, natural)
		return
	}
	copy(dst, natural[:t.dim])
	for k := range t.clusters {
		dst[t.dim+k] = natural[t.dim+k] * t.weight
	}
}

// Reseat implements [Reseater]. The true clusters have equal weights, so a cluster with many
// records covers two of them, and one with few records is empty or shares its records. Reseat acts
// if one cluster has at least 1.5 times and another at most 0.75 times the mean number of records,
// which their precisions show, and the difference exceeds the noise. It moves the largest by at
// most one sd in each variable, and the smallest to the same distance on the other side of the old
// mean. Later steps separate the two.
func (t *Mixture) Reseat(factor, outer []float64, noise float64, number int) bool {
	const rich, poor, sure = 1.5, 0.75, 2
	least, most := -1, -1
	var size [2]float64
	var total float64
	for k := range t.clusters {
		n := t.records(factor, k)
		total += n
		if least < 0 || n < size[0] {
			least, size[0] = k, n
		}
		if most < 0 || n > size[1] {
			most, size[1] = k, n
		}
	}
	mean := total / float64(t.clusters)
	if size[1] < rich*mean || size[0] > poor*mean || size[1]-size[0] < sure*noise {
		return false
	}
	side := math.Sqrt(t.variance)
	for v := range t.variables {
		from, to := v*t.clusters+most, v*t.clusters+least
		precision := factor[t.dim+from]
		centre := (factor[from] + outer[from]) / (precision + outer[t.dim+from])
		// The directions follow a low-discrepancy sequence, so that each call tries another.
		turn := side * (2*math.Mod(0.5+goldenRatio*float64(number*t.variables+v+1), 1) - 1)
		for i, mean := range map[int]float64{from: centre + turn, to: centre - turn} {
			factor[t.dim+i] = precision / 2
			factor[i] = mean*(precision/2+outer[t.dim+i]) - outer[i]
		}
	}
	return true
}

const goldenRatio = 0.618033988749894848204586834365638117720309179805762862135

// records returns the average of the cluster's precisions over the variables, which is proportional
// to its number of records.
func (t *Mixture) records(factor []float64, k int) (sum float64) {
	for v := range t.variables {
		sum += factor[t.dim+v*t.clusters+k] / float64(t.variables)
	}
	return sum
}
