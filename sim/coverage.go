package sim

import "math"

// Coverage returns the share of the true coefficients that the central 90 % intervals of their
// marginals contain, for the posterior (plain) and the noise-aware posterior (aware). Without a
// noise-aware posterior, the two are equal. p.Truth must not be nil.
func (p *Play) Coverage() (plain, aware float64, err error) {
	f := p.Federation
	mean, cov, err := f.Protocol.Family().Moments(f.Server.Posterior())
	if err != nil {
		return 0, 0, err
	}
	variance := make([]float64, len(mean))
	for i := range mean {
		variance[i] = cov.At(i, i)
	}
	plain = p.covered(mean, variance)
	a, err := p.NoiseAware()
	if err != nil || a == nil {
		return plain, plain, err
	}
	for i := range variance {
		variance[i] = a.Covariance[i][i]
	}
	return plain, p.covered(a.Mean, variance), nil
}

// NoiseAware returns the noise-aware posterior, or nil if the study requests none or [Play.Adopt]
// has replaced the posterior.
func (p *Play) NoiseAware() (*NoiseAware, error) {
	if p.adopted != nil {
		return nil, nil
	}
	return p.Federation.noiseAware(p.Federation.Server.Posterior())
}

// covered returns the share of the true coefficients that central 90 % intervals contain. The
// intervals belong to normal distributions with the given means and variances.
func (p *Play) covered(mean, variance []float64) float64 {
	within := 0
	for i, truth := range p.Truth {
		if math.Abs(mean[i]-truth) <= normal90*math.Sqrt(variance[i]) {
			within++
		}
	}
	return float64(within) / float64(len(mean))
}
