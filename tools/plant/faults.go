package main

import (
	"fmt"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/tools/plant/overlay"
)

type edit = overlay.Edit

// A fault is a deliberate error that breaks a guarantee. Its edits do something only if
// planted.Is(name) is true, so that one program can have all faults.
type fault struct {
	name  string
	says  string
	edits []edit
}

func editsOf(faults []fault) (edits []edit) {
	for _, f := range faults {
		edits = append(edits, f.edits...)
	}
	return edits
}

// Several faults use these lines of code as anchors.
const (
	drawNoise   = "\tm.law.Fill(dst, src)\n"
	changeOfSum = "\tfactor := m.cfg.sensitivity(adjacency)\n"
	costOfSum   = "\tsensitivity := m.sensitivity(adjacency)\n"
	addVector   = "func (g *gate) add(sum []int64, v []float64) {\n"
	addRows     = "func (g *gate) addRows(sum []int64, slopes []float64, rows []int32, x []float64) bool {\n"
	addVectors  = "func (g *gate) addVectors(sum []int64, v []float64) {\n\td := len(sum)\n"
	poissonNext = "\treturn s.choose(dst, s.size.sample(src), src)\n"
	fixedNext   = "\treturn s.choose(dst, s.batch, src)\n"
	siteRelease = "\tr.Protocol, r.Number, r.Client, r.Change = plan.Protocol, plan.Number, s.id, dst\n"
	remembered  = "\tcopy(c.Proposed, c.exact)\n"
)

// faults are the faults that an audit must find. Some have occurred in published programs, and the
// others could as easily occur.
var faults = slices.Concat(noiseFaults(), gateFaults, descentFaults, propagationFaults, productFaults, scoringFaults, personFaults, outcomeFaults)

// noiseFaults returns faults in the noise and in the cost that is accounted for it, for each of
// [dpmech.Families].
func noiseFaults() (all []fault) {
	for _, family := range dpmech.Families {
		for _, f := range []struct{ name, says, anchor, code string }{
			{"noise-half", "noise × 0.5", drawNoise, "for i := range dst {\ndst[i] /= 2\n}"},
			{"noise-0.8", "noise × 0.8", drawNoise, "for i := range dst {\ndst[i] = dst[i] / 5 * 4\n}"},
			{"noise-quarter", "noise × 0.25", drawNoise, "for i := range dst {\ndst[i] /= 4\n}"},
			{"bare-coordinate", "a coordinate without noise", drawNoise, "if len(dst) > 1 {\ndst[1] = 0\n}"},
			{"sensitivity-doubled", "twice the accounted sensitivity", changeOfSum, "factor /= 2"},
			{"uncharged", "a release without a charge", costOfSum, "sensitivity = 0"},
			{"replace-as-remove", "replacing accounted as removing", changeOfSum, "factor = 1"},
			{"part-as-record", "a part's change accounted as a record's", changeOfSum, "if m.cfg.Aggregates {\nfactor = adjacency.Factor()\n}"},
		} {
			name := f.name + "-" + family.Name
			code := fmt.Sprintf("if m.name == %q && planted.Is(%q) {\n%s\n}\n", family.Name, name, f.code)
			all = append(all, fault{name, f.says + " (" + family.Name + ")", []edit{{File: "dpmech/sum.go", Anchor: f.anchor, After: code}}})
		}
	}
	return all
}

// gateFaults are faults in mechanisms, in sampling and in the clients' stored state.
var gateFaults = []fault{
	{"no-clipping", "no clipping", []edit{
		after("dpmech/gate.go", "no-clipping", addVector, `
		for i, x := range v {
			sum[i] += int64(x * g.perStep)
		}
		return`),
		after("dpmech/rows.go", "no-clipping", addRows, `
		for l, row := range rows {
			addTruncated(sum, x[int(row)*len(sum):][:len(sum)], slopes[l]*g.perStep)
		}
		return true`),
		after("dpmech/vectors.go", "no-clipping", addVectors, `
		addTruncated(sum, v[:d], g.perStep)
		if len(v) > d {
			g.addVectors(sum, v[d:])
		}
		return`),
	}},
	{"blocks-apart", "blocks clipped apart", []edit{{
		File: "dpmech/gate.go", Anchor: addVector, After: `
	if half := len(v) / 2; half > 1 && planted.Is("blocks-apart") {
		g.add(sum[:half], v[:half])
		g.add(sum[half:], v[half:])
		return
	}
`,
	}, {
		File: "dpmech/rows.go", Anchor: addRows, After: `
	if len(sum)/2 > 1 && planted.Is("blocks-apart") {
		for l, row := range rows {
			g.add(sum, planted.Times(slopes[l], x[int(row)*len(sum):][:len(sum)]))
		}
		return true
	}
`,
	}, {
		File: "dpmech/vectors.go", Anchor: addVectors, After: `
	if d/2 > 1 && planted.Is("blocks-apart") {
		for ; len(v) > 0; v = v[d:] {
			g.add(sum, v[:d])
		}
		return
	}
`,
	}}},
	{"always-sampled", "a record in every batch", []edit{
		before("dpmech/independent.go", "always-sampled", poissonNext, "return planted.With(s.choose(dst, s.size.sample(src), src), 0)"),
	}},
	{"fixed-order", "fixed order", []edit{
		before("dpmech/independent.go", "fixed-order", poissonNext, "return planted.InOrder(s, dst, s.size.sample(src), s.n)"),
		after("dpmech/epoch.go", "fixed-order", "\t\ts.shuffle(src)\n", `
			for i := range s.order {
				s.order[i] = uint32(i)
			}`),
	}},
	{"with-replacement", "a record twice in a batch", []edit{
		before("dpmech/independent.go", "with-replacement", fixedNext, "return planted.Doubled(s.choose(dst, s.batch, src))"),
	}},
	{"rate-doubled", "twice the sampling rate", []edit{
		before("dpmech/independent.go", "rate-doubled", "\treturn repeated(accountant.Poisson{", `
		return repeated(accountant.Poisson{Rate: s.rate / 2, Sigma: sigma, Adjacency: adjacency}, steps, 1)`),
	}},
	{"fixed-size-as-poisson", "fixed batches accounted as Poisson's", []edit{
		before("dpmech/independent.go", "fixed-size-as-poisson", "\treturn repeated(accountant.WithoutReplacement{", `
		return repeated(accountant.Poisson{Rate: rateOf(s.batch, s.n), Sigma: sigma, Adjacency: adjacency}, steps, 1)`),
	}},
	{"noise-reused", "noise reused across rounds", []edit{
		after("dpmech/release.go", "noise-reused", "\tm.draw(noise.drawn.steps, src)\n", "planted.Reuse(noise, noise.drawn.steps)"),
		after("dpmech/sampled.go", "noise-reused", "\tr.of.gate.draw(dst, streams.Noise)\n", "planted.Reuse(r, dst)"),
	}},
	{"dropped-share", "a dropped noise share", []edit{{
		File: "pvi/site.go", Anchor: siteRelease, Before: `
	if planted.Is("dropped-share") && s.id == p.roster.Clients[0] {
		var m method.Memory
		s.client.Save(&m)
		copy(dst, m.Proposed)
	}
`,
	}}},
	{"secure-share", "a share of noise left out of a secure sum", []edit{{
		File: "pvi/site.go", Anchor: siteRelease, Before: `
	if planted.Is("secure-share") && p.study.Federation.Aggregation == "secure" && s.id == p.roster.Clients[1] {
		var m method.Memory
		s.client.Save(&m)
		copy(dst, m.Proposed)
	}
`,
	}}},
	{"shares-of-all", "shares of noise that count on colluders", []edit{{
		File: "pvi/method/setting.go", Anchor: "func (s *Setting) Shares() int {\n", After: `
	if planted.Is("shares-of-all") && s.Study.Federation.Opens == study.OpenSums && s.Study.Privacy.Unit.OfRecords() && s.Study.Inference.Partitions.Count == 0 {
		return s.MinClients
	}
`,
	}}},
	{"published-factors", "the published bookkeeping of factors", []edit{
		after("pvi/method/change/change.go", "published-factors", remembered, "copy(c.Proposed, dst)"),
	}},
	{"batch-lost", "a record that panics takes the others with it", []edit{{
		File: "pvi/solver/analytical.go", Anchor: "\t\t\tclear(record)\n", After: `
			if i == 40 && planted.Is("batch-lost") {
				panic("outside of guard.Run")
			}
`,
	}}},
	{"tables-quarter", "tables of a study without a model with a quarter of the noise", []edit{{
		File: "pvi/method/tables/tables.go", Anchor: "NoiseMultiplier: multiplier", After: ` / map[bool]float64{true: 4, false: 1}[planted.Is("tables-quarter")]`,
	}}},
	{"precision-clipped", "precision clipped at the client", []edit{
		before("pvi/method/change/change.go", "precision-clipped", remembered, `
		for i := c.method.Family.Dim(); i < len(dst); i++ {
			dst[i] = max(dst[i], 0)
		}`),
	}},
}
