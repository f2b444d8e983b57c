package scoring

import "math"

// A block is one part of a record's vector.
type block int

const (
	scoreBlock block = iota
	lengthBlock
	residualBlock
	marginBlock
	curvatureBlock
	tableBlock
	predictiveBlock
	blocks
)

// These are shares of the privacy budget. The budget is measured in μ², where μ is the parameter of
// a Gaussian release, because μ² adds up. The share of the curvature is between leastCurvature and
// leastCurvature + moreCurvature, and is larger if the curvature is large relative to the noise in
// its release. The scores get the rest. The share of each of their rounds is scoreGrowth times that
// of the round before.
const (
	marginShare            = 0.08
	lengthShare            = 0.03 // share of the score budget of a round that is spent on counts of norms
	residualShare          = 0.03 // share of the score budget of a round that is spent on squared residuals; in Poisson regressions, after the first round
	leastCurvature         = 0.05
	moreCurvature          = 0.15
	scoreGrowth            = 1.1
	typicalCurvature       = 1.3 // norm of a typical record's information in the units of released curvatures, where norm means the Frobenius norm divided by √d
	referenceShareOfSignal = 0.1
)

// tablesRound is the round that releases the tables of [describe].
const tablesRound = 1

// A budget holds the share that each block gets in each round.
type budget struct {
	shares  [][blocks]float64 // by round; all shares add up to 1
	largest float64           // largest share of a round
}

// SetNoise divides the budget among the rounds. multiplier is the noise multiplier of a single
// release that would spend the whole budget. Its noise is the sum of the noise shares of
// noiseShares clients.
func (p *Problem) SetNoise(multiplier float64, noiseShares int) {
	p.NoiseSD = multiplier * math.Sqrt(float64(p.Clients)/float64(noiseShares))
	d := float64(p.Dim())
	x := p.Records * math.Sqrt(referenceShareOfSignal) / (typicalCurvature * d * math.Sqrt(2*d) * p.NoiseSD)
	curvature := leastCurvature + moreCurvature*x*x/(1+x*x)
	scored := p.Rounds - 1
	margins := max(1, scored/3)
	share := marginShare
	if p.marginSize() == 0 {
		share = 0
	}
	b := budget{shares: make([][blocks]float64, p.Rounds)}
	var total float64
	for t := range scored {
		total += math.Pow(scoreGrowth, float64(t))
	}
	for t := range scored {
		scores := (1 - share - curvature) * math.Pow(scoreGrowth, float64(t)) / total
		b.shares[t][scoreBlock], b.shares[t][lengthBlock] = (1-lengthShare)*scores, lengthShare*scores
		if p.counts && t >= scored/2 {
			b.shares[t][residualBlock] = residualShare * scores
			b.shares[t][scoreBlock] -= residualShare * scores
		}
		if t < margins {
			b.shares[t][marginBlock] = share / float64(margins)
		}
	}
	b.shares[scored/2-1][curvatureBlock] += curvature / 2
	b.shares[scored][curvatureBlock] += curvature / 2
	rest := 1 - p.tablesShare
	if p.compared != nil {
		rest -= p.compared.Share
	}
	for t := range b.shares {
		for k := range b.shares[t] {
			b.shares[t][k] *= rest
		}
	}
	if p.tables != nil {
		b.shares[tablesRound-1][tableBlock] = p.tablesShare
	}
	if p.compared != nil {
		b.shares = append(b.shares, [blocks]float64{predictiveBlock: p.compared.Share})
	}
	for t := range b.shares {
		b.largest = max(b.largest, b.round(t))
	}
	p.budget = b
}

// round returns the share of round t. The first round is round 0.
func (b *budget) round(t int) (sum float64) {
	for _, s := range b.shares[t] {
		sum += s
	}
	return sum
}

// Releases returns the number of rounds in the study. With [compare], the rounds of the fit are
// followed by one that scores held-out records.
func (p *Problem) Releases() int { return len(p.budget.shares) }

// Clip returns w_t, the clipping bound for a record's vector in a round. The first round is round
// 1. The bound of the most expensive round is 1, and all rounds have the same noise.
func (p *Problem) Clip(round int) float64 {
	return math.Sqrt(p.budget.round(round-1) / p.budget.largest)
}

// Multiplier returns the noise multiplier of the most expensive round. whole is the multiplier of a
// single release that would cost as much as all rounds together.
func (p *Problem) Multiplier(whole float64) float64 { return whole / math.Sqrt(p.budget.largest) }

// sizes returns the number of elements of each block in a round. The first round is round 1.
func (p *Problem) sizes(round int) (sizes [blocks]int) {
	all := [blocks]int{p.Dim(), lengths, 1, p.marginSize(), packedSize(p.Dim())}
	if p.tables != nil {
		all[tableBlock] = p.tables.Size()
	}
	if p.compared != nil {
		all[predictiveBlock] = p.compared.scores.Size()
	}
	for b, share := range p.budget.shares[round-1] {
		if share > 0 {
			sizes[b] = all[b]
		}
	}
	return sizes
}

// Size returns the length of a record's vector in a round. The first round is round 1.
func (p *Problem) Size(round int) (n int) {
	for _, s := range p.sizes(round) {
		n += s
	}
	return n
}
