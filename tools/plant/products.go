package main

// productFaults are faults that break the privacy of sums of matrix products.
var productFaults = []fault{
	{"product-layers-apart", "layers of a network clipped apart", []edit{
		before("dpmech/product_run.go", "product-layers-apart", "\tlimit := s.limit()\n", "squared /= float64(len(pairs))"),
	}},
	{"product-bare-layer", "a layer of a network without noise", []edit{{
		File: "dpmech/product_run.go", Anchor: "\t\tr.of.fillNoise(hidden, columns, &p.noise)\n", After: `
		if p.Layer == 1 && planted.Is("product-bare-layer") {
			clear(hidden)
		}
`,
	}}},
	{"product-one-stream", "layers of a network under the same noise", []edit{
		before("dpmech/product_run.go", "product-one-stream", "\t\tif r.many {\n", "planted.Reuse([2]any{r, r.taken}, hidden)"),
	}},
}
