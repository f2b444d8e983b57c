package audit

import (
	"context"
	"sync"

	"fedpvi/accountant"
	"fedpvi/dpmech"
)

// suite returns the questions of an audit. The fastest come first.
func suite() ([]question, error) {
	var quick []question
	for _, family := range dpmech.Families {
		quick = append(quick, noisy(family).questions()...)
	}
	quick = append(quick,
		single("products", "norms", productNorms),
		single("samplers", "accounting", accountedSamples),
		single("scores of records", "norms", scoreNorms),
		single("scores of clients", "norms", clientNorms),
	)
	for _, s := range scoredCases {
		quick = append(quick, single(s.name(), "accounting", s.charged), single(s.name(), "neighbours", s.neighbours))
	}
	quick = append(quick, single(groupedScores.name(), "neighbours", groupedScores.neighbours))
	quick = append(quick, single(programScores.name(), "neighbours", programScores.neighbours))
	quick = append(quick, single(personScores.name(), "accounting", personScores.charged), single(personScores.name(), "neighbours", personScores.neighbours))
	quick = append(quick, aboutNoise(quietPropagation.name(), quietPropagation.quiet))
	secure, err := newColluding()
	if err != nil {
		return nil, err
	}
	long := []question{single(secure.name, "profile", secure.profile)}
	for _, c := range propagationCases {
		long = append(long, lazily(c.name(), c.attack))
	}
	for _, c := range []struct { // kinds of factors whose cost is proven, each under one adjacency
		factors, coordinates string
		adjacency            accountant.Adjacency
	}{
		{"tied", "centred", accountant.ReplaceOne},
		{"exact", "raw", accountant.ZeroOut},
	} {
		f, err := newFederation(c.factors, c.coordinates, c.adjacency)
		if err != nil {
			return nil, err
		}
		quick = append(quick, aboutNoise(f.name, f.messages))
		long = append(long, lazily(f.name, f.attack))
	}
	for colluders := range 2 {
		f, err := newInsider(colluders)
		if err != nil {
			return nil, err
		}
		long = append(long, lazily(f.name, f.attack))
	}
	for _, g := range quietCases {
		quick = append(quick, aboutNoise(g.name(), g.quiet))
	}
	for _, d := range descents {
		quick = append(quick, aboutNoise(d.name, d.quiet), single(d.name, "frequencies", d.frequencies))
		long = append(long, lazily(d.name, d.attack))
	}
	for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne} {
		long = append(long, lazily("statistics, "+string(adjacency), func() (attack, error) { return statisticsAttack(adjacency) }))
	}
	for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne} {
		long = append(long, lazily("tables, "+string(adjacency), func() (attack, error) { return tablesAttack(adjacency) }))
	}
	for _, c := range partsCases {
		long = append(long, lazily(c.name(), c.attack))
	}
	for _, g := range gradientCases {
		long = append(long, lazily(g.name(), g.attack))
	}
	for _, c := range personCases {
		long = append(long, lazily(c.name(), c.attack))
	}
	for _, s := range summedCases {
		quick = append(quick, aboutNoise(s.name(), s.messages))
		long = append(long, lazily(s.name(), s.attack))
	}
	for _, s := range scoredCases {
		long = append(long, lazily(s.name(), s.attack))
	}
	for _, s := range scoredCases[:3] { // the fourth case has the same noise as the third case
		quick = append(quick, aboutNoise(s.name(), s.messages))
	}
	quick = append(quick, outcomes())
	return append(quick, long...), nil
}

// lazily returns a question that tests a claimed privacy profile with an attack. set sets up the
// attack when the question is first asked.
func lazily(about string, set func() (attack, error)) question {
	attack := sync.OnceValues(set)
	return single(about, "profile", func(ctx context.Context, t task) (Check, error) {
		a, err := attack()
		if err != nil {
			return Check{}, err
		}
		return a.run(ctx, t)
	})
}

// descents has a test case for each kind of sampling. The two cases with newProducts test sums that
// are computed by products of matrices (see [products]), under Poisson sampling and one adjacency
// each.
var descents = []descent{
	{"poisson, add-remove", dpmech.Poisson{Rate: 0.25}, 0.25, 12, 20, 1.5, accountant.AddRemove, 0, newIntegers},
	{"poisson by Feistel, replace-one", dpmech.Poisson{Rate: 0.25, Selection: dpmech.Feistel}, 0.25, 12, 20, 2, accountant.ReplaceOne, 0, newIntegers},
	{"without replacement, replace-one", dpmech.WithoutReplacement{Batch: 3}, 0.25, 12, 20, 2, accountant.ReplaceOne, 1, newIntegers},
	{"random allocation, zero-out", dpmech.RandomAllocation{Steps: 4, Picks: 1}, 0.25, 12, 20, 1.5, accountant.ZeroOut, 0, newIntegers},
	{"products, poisson, add-remove", dpmech.Poisson{Rate: 0.25}, 0.25, 12, 20, 1.5, accountant.AddRemove, 0, newProducts},
	{"products, poisson, replace-one", dpmech.Poisson{Rate: 0.25}, 0.25, 12, 20, 2, accountant.ReplaceOne, 0, newProducts},
	{"permutation, zero-out", dpmech.Permutation{Batches: 4}, 0.25, 12, 20, 2, accountant.ZeroOut, 0, newIntegers},
}

// aboutNoise returns a question about the size, the shape and the independence of noise.
func aboutNoise(name string, collect func(ctx context.Context, seed uint64) (noises, error)) question {
	return question{name, []string{"size of noise", "shape of noise", "noise is fresh"}, func(ctx context.Context, t task) ([]Check, error) {
		z, err := collect(ctx, t.seed)
		if err != nil {
			return nil, err
		}
		return []Check{judge(z.variances(), t.alpha), judge(z.shapes(), t.alpha), judge(z.correlations(), t.alpha)}, nil
	}}
}
