package main

// productFaults are faults that break the privacy of sums of matrix products.
var productFaults = []fault{
	{"product-layers-apart", "layers of a network clipped apart", []edit{{
		file: "dpmech/product_run.go", anchor: "\tlimit := s.limit()\n", before: `
	if planted.Is("product-layers-apart") {
		squared /= float64(len(pairs))
	}
`,
	}}},
	{"product-bare-layer", "a layer of a network without noise", []edit{{
		file: "dpmech/product_run.go", anchor: "\t\tr.of.fillNoise(hidden, columns, &p.noise)\n", after: `
		if p.Layer == 1 && planted.Is("product-bare-layer") {
			clear(hidden)
		}
`,
	}}},
	{"product-one-stream", "layers of a network under the same noise", []edit{{
		file: "dpmech/product_run.go", anchor: "\t\tif r.many {\n", before: `
		if planted.Is("product-one-stream") {
			planted.Reuse([2]any{r, r.taken}, hidden)
		}
`,
	}}},
}
