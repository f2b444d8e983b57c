package main

// scoringFaults are faults that break the privacy of sums of scores (gradients at published
// points).
var scoringFaults = []fault{
	{"counts-uncharged", "counts of norms in addition to the clip", []edit{
		after("pvi/scoring/vector.go", "counts-uncharged", "\t\tparts[lengthBlock][lengthOf(length)] = c.scales[lengthBlock]\n", "parts[lengthBlock][lengthOf(length)] = 1"),
	}},
	{"counts-beside", "the number of records added to the noisy counts", []edit{
		before("pvi/method/scores/scores.go", "counts-beside", "\treturn true, mechanism.Release(", `
		defer func() {
			dst[n-1] += int64(float64(c.records.Len()) * mechanism.Clip() / mechanism.Lattice().Step() / 2)
		}()`),
	}},
	{"private-clip", "a clip that follows the records", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\t\tlength := norm(score) / c.clips[scoreBlock]\n", After: `
		if length > 1 && planted.Is("private-clip") {
			query := *c.Query
			query.clips[scoreBlock] *= length
			c.Query = &query
		}
`,
	}}},
	{"curvature-unclipped", "a curvature without a clip of its own", []edit{
		after("pvi/scoring/vector.go", "curvature-unclipped", "\t\tc.work.packed(packed, c.scales[curvatureBlock]/math.Max(size, c.clips[curvatureBlock]))\n", `
		c.work.packed(packed, c.scales[curvatureBlock]/c.clips[curvatureBlock])`),
	}},
	{"residual-unclipped", "a squared residual of a count without a clip", []edit{
		after("pvi/scoring/vector.go", "residual-unclipped", "\t\tresidual[0] = c.scales[residualBlock] * math.Min(c.work.residual()/c.clips[residualBlock], 1)\n", `
		residual[0] = c.scales[residualBlock] * c.work.residual() / c.clips[residualBlock]`),
	}},
	{"off-diagonal-twice", "elements off the diagonal counted twice in a norm", []edit{
		before("pvi/scoring/matrix.go", "off-diagonal-twice", "\t\t\tdst[n+i] += x * row[i]\n", `
				for j, y := range row[:i] {
					off[j] += (2 - math.Sqrt2) * x * y
				}`),
	}},
	{"carried-over", "a record that is not finite changes the next", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\tc.work.record(i)\n", After: `
	if planted.Is("carried-over") && !(math.Abs(c.work.margins()[1]) <= math.MaxFloat64) {
		query := *c.Query
		query.clips[scoreBlock] = math.NaN()
		c.Query = &query
	}
`,
	}}},
	{"score-lost", "a score that panics removes the scores of other records too", []edit{
		before("pvi/method/scores/scores.go", "score-lost", "\t\t\tcontributor.Vector(vector, i)\n", `
				if x := contributor.Margins(i)[1]; x-x != 0 {
					panic("outside of guard.Run")
				}`),
		margins,
	}},
	{"group-before", "a record counted in the group of the record before it", []edit{{
		File: "pvi/scoring/regression.go", Anchor: "\tclear(x[copy(x, row):])\n", After: `
	if before, _ := s.Groups(max(0, i-1)); planted.Is("group-before") {
		for n, e := range r.effects {
			x[r.first[n]+int(before[e.Term])] = 1
		}
	}
`,
	}}},
	{"program-scores-mixed", "scores of a program that depend on other records", []edit{
		after("pvi/scoring/program_records.go", "program-scores-mixed", "\tcopy(dst, g)\n", `
		for k, x := range e.scores.of[0] {
			dst[k] += x
		}`),
	}},
	{"program-outcome-shared", "outcomes of a program that are drawn from the density of another record", []edit{
		after("pvi/scoring/program_outcomes.go", "program-outcome-shared", "\t\tr.densities(r.variates.density, logs, grid, x, k, points)\n", `
			for i := range records {
				copy(logs[i*count:(i+1)*count], logs[:count])
			}`),
	}},
	{"round-noise-reused", "the noise of a round used in the next", []edit{
		after("dpmech/release.go", "round-noise-reused", "\tm.draw(dst, src)\n", "planted.Reuse(m.cfg.Dim, dst)"),
	}},
	{"empty-silent", "no noise from a client without records", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\treturn true, mechanism.Release(", Before: `
	if planted.Is("empty-silent") && c.records.Len() == 0 {
		clear(dst)
		return true, nil
	}
`,
	}}},
	{"cheapest-first", "missed rounds refunded, the most expensive first", []edit{
		before("pvi/method/sums.go", "cheapest-first", "\treturn b, nil\n", "slices.Reverse(b.dearest)"),
	}},
	{"client-curvature-unclipped", "a client's curvature without a clip", []edit{
		after("pvi/population/query.go", "client-curvature-unclipped", "\tfloats.Scale(math.Sqrt(shares.curvature)/(q.CurvatureClip*math.Max(ratio, 1)), b.curvature)\n", `
		floats.Scale(math.Max(ratio, 1), b.curvature)`),
	}},
	{"client-votes-unscaled", "a vote of norm 1 for every coordinate", []edit{
		after("pvi/population/votes.go", "client-votes-unscaled", "\t\tdivide(dst[i*places:(i+1)*places], at, size)\n", `
		divide(dst[i*places:(i+1)*places], at, 1)`),
	}},
	{"client-modes-unscaled", "votes for modes of norm 1 beside those for scales", []edit{
		before("pvi/population/places.go", "client-modes-unscaled", "\tif !special.Finite(dst) {\n", "floats.Scale(math.Sqrt2, dst[places*d:])"),
	}},
	{"client-outer-unclipped", "a client's gradient unclipped in its square", []edit{{
		File: "pvi/population/query.go", Anchor: "\tpack(b.outer, outer)\n", Before: `
	if kept < 1 && planted.Is("client-outer-unclipped") {
		outer.ScaleSym(1/(kept*kept), outer)
	}
`,
	}}},
	{"client-refused", "an error for a client that is not finite", []edit{
		before("pvi/population/query.go", "client-refused", "\tif !special.Finite(dst) || !special.Finite(gradient) || !special.Finite(information.RawSymmetric().Data) {\n", `
		return`),
	}},
}

// margins adds a method to [scoring.Contributor] through which the faults can access a record.
var margins = edit{
	File: "pvi/scoring/vector.go", Anchor: "func (c *Contributor) write(dst []float64, i int) {\n", Before: `
func (c *Contributor) Margins(i int) []float64 {
	c.work.record(i)
	return c.work.margins()
}

`,
}
