package main

// scoringFaults are faults that break the privacy of sums of scores (gradients at published
// points).
var scoringFaults = []fault{
	{"counts-uncharged", "counts of norms in addition to the clip", []edit{{
		file: "pvi/scoring/vector.go", anchor: "\t\tparts[lengthBlock][lengthOf(length)] = c.scales[lengthBlock]\n", after: `
		if planted.Is("counts-uncharged") {
			parts[lengthBlock][lengthOf(length)] = 1
		}
`,
	}}},
	{"counts-beside", "the number of records added to the noisy counts", []edit{{
		file: "pvi/method/scores/scores.go", anchor: "\treturn true, mechanism.Release(", before: `
	if planted.Is("counts-beside") {
		defer func() {
			dst[n-1] += int64(float64(c.records.Len()) * mechanism.Clip() / mechanism.Lattice().Step() / 2)
		}()
	}
`,
	}}},
	{"private-clip", "a clip that follows the records", []edit{{
		file: "pvi/scoring/vector.go", anchor: "\t\tlength := norm(score) / c.clips[scoreBlock]\n", after: `
		if length > 1 && planted.Is("private-clip") {
			query := *c.Query
			query.clips[scoreBlock] *= length
			c.Query = &query
		}
`,
	}}},
	{"curvature-unclipped", "a curvature without a clip of its own", []edit{{
		file: "pvi/scoring/vector.go", anchor: "\t\tpack(packed, c.square, c.scales[curvatureBlock]/math.Max(size, c.clips[curvatureBlock]))\n", after: `
		if planted.Is("curvature-unclipped") {
			pack(packed, c.square, c.scales[curvatureBlock]/c.clips[curvatureBlock])
		}
`,
	}}},
	{"residual-unclipped", "a squared residual of a count without a clip", []edit{{
		file: "pvi/scoring/vector.go", anchor: "\t\tresidual[0] = c.scales[residualBlock] * math.Min(c.work.residual(y)/c.clips[residualBlock], 1)\n", after: `
		if planted.Is("residual-unclipped") {
			residual[0] = c.scales[residualBlock] * c.work.residual(y) / c.clips[residualBlock]
		}
`,
	}}},
	{"off-diagonal-twice", "elements off the diagonal counted twice in a norm", []edit{{
		file: "pvi/scoring/matrix.go", anchor: "\t\t\tdst[n] = scale * math.Sqrt2 * a.At(i, j)\n", after: `
			if planted.Is("off-diagonal-twice") {
				dst[n] *= math.Sqrt2
			}
`,
	}}},
	{"carried-over", "a record that is not finite changes the next", []edit{{
		file: "pvi/scoring/vector.go", anchor: "\tc.work.predict(x, c.theta)\n", after: `
	if planted.Is("carried-over") && !(math.Abs(x[1]) <= math.MaxFloat64) {
		query := *c.Query
		query.clips[scoreBlock] = math.NaN()
		c.Query = &query
	}
`,
	}}},
	{"score-lost", "a score that panics takes those of other records with it", []edit{{
		file: "pvi/method/scores/scores.go", anchor: "\t\t\tcontributor.Vector(vector, x, y)\n", before: `
			if x[1]-x[1] != 0 && planted.Is("score-lost") {
				panic("outside of guard.Run")
			}
`,
	}}},
	{"group-before", "a record counted in the group of the record before it", []edit{{
		file: "pvi/scoring/problem.go", anchor: "\tclear(x[copy(x, row):])\n", after: `
	if before, _ := s.Groups(max(0, i-1)); planted.Is("group-before") {
		for n, e := range p.effects {
			x[p.prior.Effects[n].First+int(before[e.Term])] = 1
		}
	}
`,
	}}},
	{"round-noise-reused", "the noise of a round used in the next", []edit{{
		file: "dpmech/release.go", anchor: "\tm.noise.Fill(dst, src)\n", after: `
	if planted.Is("round-noise-reused") {
		planted.Reuse(m.cfg.Dim, dst)
	}
`,
	}}},
	{"empty-silent", "no noise from a client without records", []edit{{
		file: "pvi/method/scores/scores.go", anchor: "\treturn true, mechanism.Release(", before: `
	if planted.Is("empty-silent") && c.records.Len() == 0 {
		clear(dst)
		return true, nil
	}
`,
	}}},
	{"cheapest-first", "missed rounds refunded, the dearest first", []edit{{
		file: "pvi/method/sums.go", anchor: "\treturn b, nil\n", before: `
	if planted.Is("cheapest-first") {
		slices.Reverse(b.dearest)
	}
`,
	}}},
	{"client-curvature-unclipped", "a client's curvature without a clip", []edit{{
		file: "pvi/population/query.go", anchor: "\tfloats.Scale(math.Sqrt(shares.curvature)/(q.CurvatureClip*math.Max(ratio, 1)), b.curvature)\n", after: `
	if planted.Is("client-curvature-unclipped") {
		floats.Scale(math.Max(ratio, 1), b.curvature)
	}
`,
	}}},
	{"client-votes-unscaled", "a vote of norm 1 for every coordinate", []edit{{
		file: "pvi/population/votes.go", anchor: "\t\tdivide(dst[i*places:(i+1)*places], at, 1/math.Sqrt(float64(d)))\n", after: `
		if planted.Is("client-votes-unscaled") {
			divide(dst[i*places:(i+1)*places], at, 1)
		}
`,
	}}},
	{"client-outer-unclipped", "a client's gradient unclipped in its square", []edit{{
		file: "pvi/population/query.go", anchor: "\tpack(b.outer, outer)\n", before: `
	if kept < 1 && planted.Is("client-outer-unclipped") {
		outer.ScaleSym(1/(kept*kept), outer)
	}
`,
	}}},
	{"client-refused", "an error for a client that is not finite", []edit{{
		file: "pvi/population/query.go", anchor: "\tif !finite(dst) || !finite(gradient) || !finite(information.RawSymmetric().Data) {\n", before: `
	if planted.Is("client-refused") {
		return
	}
`,
	}}},
}
