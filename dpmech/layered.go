package dpmech

import (
	"fmt"
	"math"
	"math/big"

	"fedpvi/accountant"
)

// LayeredConfig says what a [LayeredSum] has to guarantee.
type LayeredConfig struct {
	Dim  int     // number of elements of a vector, at least 1
	Clip float64 // C: the L2 bound on what one client adds to the sum

	// NoiseMultiplier is σ: the standard deviation of the noise that colluders do
	// not know, divided by Clip, whoever drops out.
	NoiseMultiplier float64

	Clients   int // n: clients that draw noise for a round
	Dropouts  int // T: most of them whose messages may be missing from the sum
	Colluders int // t: most of them that pool what they know

	Adjacency accountant.Adjacency
}

// A LayeredSum adds one vector of each client, like a [GaussianSum], under noise
// that is exact however many clients drop out. Each client adds 1 + T layers of
// noise; when D clients have dropped out, the survivors reveal the seeds of
// their layers above D, and the coordinator removes those (XNoise: Jiang et al.,
// "Dordis: Efficient Federated Learning with Dropout-Resilient Differential
// Privacy", 2024).
//
// With h = n − t clients that do not collude, layers have the variances
//
//	v₀ = σ²C²/h,  v_j = σ²C²/((h−j+1)(h−j)),  j = 1..T,
//
// so that the layers up to D of one client have σ²C²/(h−D) and those of the h−D
// clients at least that are honest and survive σ²C². (The factor n/(n−t) on
// published layers, which are those of h = n, is too little once somebody drops
// out: it leaves (n−D−t)/(n−D) · n/(n−t) < 1 of the variance for D > 0.)
//
// On the lattice every layer's σ is rounded up to an integer of 2^10 at least, so
// the variance is never below the target and at most 0.3 % above.
//
// Guarantee: see [LayeredSum.EventFor]. It holds if the number of dropouts is one
// on which all honest clients agree, and each reveals once a round.
type LayeredSum struct {
	cfg     LayeredConfig
	lattice Lattice
	gate    gate
	clip    int64
	sigmas  []int64 // of layers 0..T
	layers  []DiscreteGaussian
}

// minLayerSigma keeps what rounding adds to a variance below (1+2^-10)², and a
// sum of layers a discrete Gaussian up to nothing (see EventFor).
const minLayerSigma = 1 << 10

// NewLayeredSum derives the lattice and the layers that cfg asks for.
func NewLayeredSum(cfg LayeredConfig) (*LayeredSum, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("layered sum: %w", err)
	}
	honest := cfg.Clients - cfg.Colluders
	noise := cfg.NoiseMultiplier * cfg.Clip
	if !(noise > 0) || math.IsInf(noise, 0) {
		return nil, fmt.Errorf("layered sum: noise of %g is out of range", noise)
	}
	_, exp := math.Frexp(noise / math.Sqrt(float64(honest-cfg.Dropouts)))
	lattice, err := NewLattice(sigmaBits - exp)
	if err != nil {
		return nil, fmt.Errorf("layered sum: noise of %g is out of range: %w", noise, err)
	}
	m := &LayeredSum{cfg: cfg, lattice: lattice}
	// σC in steps, rounded up; below 2^(sigmaBits+16). The factor covers the product.
	total := big.NewInt(int64(math.Ceil(math.Ldexp(noise, lattice.exponent) * (1 + 0x1p-50))))
	m.sigmas = layerSigmas(total.Mul(total, total), honest, cfg.Dropouts)
	for j, sigma := range m.sigmas {
		if sigma < minLayerSigma {
			return nil, fmt.Errorf("layered sum: noise layer %d of %d dropouts among %d honest clients would be thinner than %d lattice steps: fewer clients, fewer dropouts, or noise shares without layers", j, cfg.Dropouts, honest, minLayerSigma)
		}
	}
	clip := math.Floor(math.Ldexp(cfg.Clip, lattice.exponent))
	if err := m.fit(clip); err != nil {
		return nil, fmt.Errorf("layered sum: %w", err)
	}
	// Their tables last: what is refused has cost no table for each of 100,000 layers.
	for j, sigma := range m.sigmas {
		g, err := NewDiscreteGaussian(sigma)
		if err != nil {
			return nil, fmt.Errorf("layered sum: layer %d: %w", j, err)
		}
		m.layers = append(m.layers, g)
	}
	m.clip = int64(clip)
	m.gate = newGate(lattice, m.clip)
	return m, nil
}

// layerSigmas returns the σ of the layers for a total variance: the smallest
// integers with σ_0²·honest ≥ variance and σ_j²·(honest−j+1)(honest−j) ≥ variance.
func layerSigmas(variance *big.Int, honest, dropouts int) []int64 {
	sigmas := make([]int64, dropouts+1)
	for j := range sigmas {
		parts := big.NewInt(int64(honest))
		if j > 0 {
			parts.Mul(big.NewInt(int64(honest-j+1)), big.NewInt(int64(honest-j)))
		}
		sigmas[j] = rootUp(new(big.Int).Set(variance), parts)
	}
	return sigmas
}

// rootUp returns the smallest integer r with r²·parts ≥ variance > 0.
func rootUp(variance, parts *big.Int) int64 {
	// ⌈√(a/b)⌉ = ⌊√(⌈a/b⌉ − 1)⌋ + 1
	quotient := variance.Add(variance, parts)
	quotient.Sub(quotient, big.NewInt(1))
	quotient.Quo(quotient, parts)
	quotient.Sub(quotient, big.NewInt(1))
	return quotient.Sqrt(quotient).Int64() + 1
}

// fit refuses a clip, in steps, beside which the noise is too little or too much,
// and sums that could overflow: an element of a sum is at most n·(C + Σ bounds).
// The float computes that with less than 2^16 roundings of 2^-53, and maxTotal
// leaves a factor of two.
func (m *LayeredSum) fit(clip float64) error {
	if ratio := clip / float64(m.sigmas[0]); ratio > maxClipOverShare {
		return fmt.Errorf("one client's noise without dropouts is %.4g times smaller than the clip, at most %d times is possible: use a noise multiplier of at least %.3g, or fewer clients",
			ratio, maxClipOverShare, m.cfg.NoiseMultiplier*ratio/maxClipOverShare)
	}
	if clip < 1 {
		return fmt.Errorf("noise multiplier %g is so large that the clip is below one lattice step", m.cfg.NoiseMultiplier)
	}
	perClient := clip
	for _, sigma := range m.sigmas {
		perClient += float64(sampleBound(uint64(sigma), 1))
	}
	if float64(m.cfg.Clients)*perClient >= maxTotal {
		return fmt.Errorf("the noise of %d clients in %d layers could overflow: at most %.0f clients with as many layers fit", m.cfg.Clients, len(m.sigmas), math.Ceil(maxTotal/perClient)-1)
	}
	return nil
}

// maxLayeredClients bounds n: beyond it layers are too thin, and the products
// of counts above must fit an int64.
const maxLayeredClients = 1 << 20

func (c LayeredConfig) check() error {
	plain := Config{
		Dim: c.Dim, Clip: c.Clip, NoiseMultiplier: c.NoiseMultiplier, Adjacency: c.Adjacency,
		Shares: 1, Terms: 1, Releases: 1,
	}
	if err := plain.check(); err != nil {
		return err
	}
	switch {
	case c.Clients < 1 || c.Clients > maxLayeredClients:
		return fmt.Errorf("number of clients must be between 1 and %d, got %d", maxLayeredClients, c.Clients)
	case c.Dropouts < 0 || c.Colluders < 0:
		return fmt.Errorf("numbers of dropouts and colluders must not be negative, got %d and %d", c.Dropouts, c.Colluders)
	case c.Dropouts+c.Colluders >= c.Clients:
		return fmt.Errorf("of %d clients, %d dropouts and %d colluders leave nobody whose noise counts: at most %d dropouts", c.Clients, c.Dropouts, c.Colluders, c.Clients-c.Colluders-1)
	}
	return nil
}

// Dim returns the number of elements of a vector.
func (m *LayeredSum) Dim() int { return m.cfg.Dim }

// Clip returns C.
func (m *LayeredSum) Clip() float64 { return m.cfg.Clip }

// Lattice returns the grid on which releases are written.
func (m *LayeredSum) Lattice() Lattice { return m.lattice }

// MaxTotal returns a bound on the absolute value, in lattice steps, of any
// element of a sum of clients.
func (m *LayeredSum) MaxTotal() int64 {
	perClient := m.clip
	for _, g := range m.layers {
		perClient += g.Bound()
	}
	return int64(m.cfg.Clients) * perClient
}

// LayerSigmas returns σ of one client's layers 0..T in lattice steps.
func (m *LayeredSum) LayerSigmas() []int64 { return append([]int64(nil), m.sigmas...) }

// Variance returns the variance, in squared steps, of the noise that clients of
// them add with dropouts of all missing and their upper layers removed.
func (m *LayeredSum) Variance(clients, dropouts int) *big.Int {
	total := new(big.Int)
	for _, sigma := range m.sigmas[:dropouts+1] {
		s := big.NewInt(sigma)
		total.Add(total, s.Mul(s, s))
	}
	return total.Mul(total, big.NewInt(int64(clients)))
}

// Event returns the cost of one round under the Config's adjacency, whoever drops
// out and colludes.
func (m *LayeredSum) Event() accountant.Event {
	honest := m.cfg.Clients - m.cfg.Colluders
	least := m.Variance(honest, 0)
	for dropouts := 1; dropouts <= m.cfg.Dropouts; dropouts++ {
		if v := m.Variance(honest-dropouts, dropouts); v.Cmp(least) < 0 {
			least = v
		}
	}
	return m.event(least, m.cfg.Adjacency)
}

// EventFor returns the cost of one round under an adjacency, against an observer
// to whom the noise of unknown surviving clients is unknown, the protected one
// among them, when dropouts clients are missing and upper layers were removed.
func (m *LayeredSum) EventFor(unknown, dropouts int, adjacency accountant.Adjacency) (accountant.Event, error) {
	if dropouts < 0 || dropouts > m.cfg.Dropouts || unknown < 1 || unknown > m.cfg.Clients-dropouts {
		return nil, fmt.Errorf("layered sum: %d dropouts and noise of %d clients: at most %d dropouts, and between 1 client and the survivors", dropouts, unknown, m.cfg.Dropouts)
	}
	return m.event(m.Variance(unknown, dropouts), adjacency), nil
}

// event states a sum of independent discrete Gaussians of summed variance s² as
// one N_Z(0, s²). For two, with parameters a and b and c² = a²b²/(a²+b²),
//
//	P(k) ∝ exp(−k²/2(a²+b²)) · Σ_z exp(−(z − ka²/(a²+b²))²/2c²),
//
// and by Poisson summation the sum is √(2π)·c up to a factor of 1 ± 2.1·e^(−2π²c²):
// normalised, P is within max divergence 5·e^(−2π²c²) of N_Z(0, a²+b²). Adding one
// more is post-processing. Here c² ≥ minLayerSigma²/2, each step costs less than
// e^(−10^7), and there are less than 2^40 steps; the event charges e.g. 2^-110
// an element that its upper bound has no need of.
func (m *LayeredSum) event(variance *big.Int, adjacency accountant.Adjacency) accountant.Event {
	v, _ := new(big.Float).SetInt(variance).Float64()
	return accountant.DiscreteGaussian{
		Sensitivity: float64(m.clip) * adjacency.Factor(),
		Sigma:       math.Sqrt(v) * (1 - 0x1p-51), // never more than there is
		Shares:      1,
		Dim:         m.cfg.Dim,
		Adjacency:   adjacency,
	}
}
