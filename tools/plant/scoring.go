package main

// scoringFaults are faults that break the privacy of sums of scores (gradients at published
// points).
var scoringFaults = []fault{
	{"counts-uncharged", "counts of norms in addition to the clip", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\t\tparts[lengthBlock][lengthOf(length)] = c.scales[lengthBlock]\n", After: `
		if planted.Is("counts-uncharged") {
			parts[lengthBlock][lengthOf(length)] = 1
		}
`,
	}}},
	{"counts-beside", "the number of records added to the noisy counts", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\treturn true, mechanism.Release(", Before: `
	if planted.Is("counts-beside") {
		defer func() {
			dst[n-1] += int64(float64(c.records.Len()) * mechanism.Clip() / mechanism.Lattice().Step() / 2)
		}()
	}
`,
	}}},
	{"private-clip", "a clip that follows the records", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\t\tlength := norm(score) / c.clips[scoreBlock]\n", After: `
		if length > 1 && planted.Is("private-clip") {
			query := *c.Query
			query.clips[scoreBlock] *= length
			c.Query = &query
		}
`,
	}}},
	{"curvature-unclipped", "a curvature without a clip of its own", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\t\tc.work.packed(packed, c.scales[curvatureBlock]/math.Max(size, c.clips[curvatureBlock]))\n", After: `
		if planted.Is("curvature-unclipped") {
			c.work.packed(packed, c.scales[curvatureBlock]/c.clips[curvatureBlock])
		}
`,
	}}},
	{"residual-unclipped", "a squared residual of a count without a clip", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\t\tresidual[0] = c.scales[residualBlock] * math.Min(c.work.residual()/c.clips[residualBlock], 1)\n", After: `
		if planted.Is("residual-unclipped") {
			residual[0] = c.scales[residualBlock] * c.work.residual() / c.clips[residualBlock]
		}
`,
	}}},
	{"off-diagonal-twice", "elements off the diagonal counted twice in a norm", []edit{{
		File: "pvi/scoring/matrix.go", Anchor: "\t\t\tdst[n+i] += x * row[i]\n", Before: `
			if planted.Is("off-diagonal-twice") {
				for j, y := range row[:i] {
					off[j] += (2 - math.Sqrt2) * x * y
				}
			}
`,
	}}},
	{"carried-over", "a record that is not finite changes the next", []edit{{
		File: "pvi/scoring/vector.go", Anchor: "\tc.work.record(i)\n", After: `
	if planted.Is("carried-over") && !(math.Abs(c.work.margins()[1]) <= math.MaxFloat64) {
		query := *c.Query
		query.clips[scoreBlock] = math.NaN()
		c.Query = &query
	}
`,
	}}},
	{"score-lost", "a score that panics removes the scores of other records too", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\t\t\tcontributor.Vector(vector, i)\n", Before: `
			if planted.Is("score-lost") {
				if x := contributor.Margins(i)[1]; x-x != 0 {
					panic("outside of guard.Run")
				}
			}
`,
	}, margins}},
	{"group-before", "a record counted in the group of the record before it", []edit{{
		File: "pvi/scoring/regression.go", Anchor: "\tclear(x[copy(x, row):])\n", After: `
	if before, _ := s.Groups(max(0, i-1)); planted.Is("group-before") {
		for n, e := range r.effects {
			x[r.first[n]+int(before[e.Term])] = 1
		}
	}
`,
	}}},
	{"program-scores-mixed", "scores of a program that depend on other records", []edit{{
		File: "pvi/scoring/program_records.go", Anchor: "\tcopy(dst, g)\n", After: `
	if planted.Is("program-scores-mixed") {
		for k, x := range e.scores.of[0] {
			dst[k] += x
		}
	}
`,
	}}},
	{"program-outcome-shared", "outcomes of a program that are drawn from the density of another record", []edit{{
		File: "pvi/scoring/program_outcomes.go", Anchor: "\t\tr.densities(r.variates.density, logs, grid, x, k, points)\n", After: `
		if planted.Is("program-outcome-shared") {
			for i := range records {
				copy(logs[i*count:(i+1)*count], logs[:count])
			}
		}
`,
	}}},
	{"round-noise-reused", "the noise of a round used in the next", []edit{{
		File: "dpmech/release.go", Anchor: "\tm.draw(dst, src)\n", After: `
	if planted.Is("round-noise-reused") {
		planted.Reuse(m.cfg.Dim, dst)
	}
`,
	}}},
	{"empty-silent", "no noise from a client without records", []edit{{
		File: "pvi/method/scores/scores.go", Anchor: "\treturn true, mechanism.Release(", Before: `
	if planted.Is("empty-silent") && c.records.Len() == 0 {
		clear(dst)
		return true, nil
	}
`,
	}}},
	{"cheapest-first", "missed rounds refunded, the most expensive first", []edit{{
		File: "pvi/method/sums.go", Anchor: "\treturn b, nil\n", Before: `
	if planted.Is("cheapest-first") {
		slices.Reverse(b.dearest)
	}
`,
	}}},
	{"client-curvature-unclipped", "a client's curvature without a clip", []edit{{
		File: "pvi/population/query.go", Anchor: "\tfloats.Scale(math.Sqrt(shares.curvature)/(q.CurvatureClip*math.Max(ratio, 1)), b.curvature)\n", After: `
	if planted.Is("client-curvature-unclipped") {
		floats.Scale(math.Max(ratio, 1), b.curvature)
	}
`,
	}}},
	{"client-votes-unscaled", "a vote of norm 1 for every coordinate", []edit{{
		File: "pvi/population/votes.go", Anchor: "\t\tdivide(dst[i*places:(i+1)*places], at, 1/math.Sqrt(float64(d)))\n", After: `
		if planted.Is("client-votes-unscaled") {
			divide(dst[i*places:(i+1)*places], at, 1)
		}
`,
	}}},
	{"client-modes-unscaled", "votes for modes of norm 1 beside those for scales", []edit{{
		File: "pvi/population/places.go", Anchor: "\tif !special.Finite(dst) {\n", Before: `
	if planted.Is("client-modes-unscaled") {
		floats.Scale(math.Sqrt2, dst[places*d:])
	}
`,
	}}},
	{"client-outer-unclipped", "a client's gradient unclipped in its square", []edit{{
		File: "pvi/population/query.go", Anchor: "\tpack(b.outer, outer)\n", Before: `
	if kept < 1 && planted.Is("client-outer-unclipped") {
		outer.ScaleSym(1/(kept*kept), outer)
	}
`,
	}}},
	{"client-refused", "an error for a client that is not finite", []edit{{
		File: "pvi/population/query.go", Anchor: "\tif !special.Finite(dst) || !special.Finite(gradient) || !special.Finite(information.RawSymmetric().Data) {\n", Before: `
	if planted.Is("client-refused") {
		return
	}
`,
	}}},
}

// margins adds a method to [scoring.Contributor] that gives the faults access to a record.
var margins = edit{
	File: "pvi/scoring/vector.go", Anchor: "func (c *Contributor) write(dst []float64, i int) {\n", Before: `
func (c *Contributor) Margins(i int) []float64 {
	c.work.record(i)
	return c.work.margins()
}

`,
}
