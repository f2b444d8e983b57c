package main

import (
	"fmt"
	"math"
	"strings"
)

// document returns a study file with at least the given number of coefficients. There is a
// coefficient for each pair of levels of two columns, and for each of several outcomes if
// needed. The argument federation has further lines of the section of this name.
func document(name string, coefficients, rounds int, federation string) []byte {
	const most = 60_000 // maximum number of coefficients of one outcome
	outcomes := 1 + (coefficients-1)/most
	levels := max(2, int(math.Ceil(math.Sqrt(float64(coefficients)/float64(outcomes)))))
	var b strings.Builder
	fmt.Fprintf(&b, "[study]\nversion = 1\nname = %q\n", name)
	column := func(name string, levels int) {
		fmt.Fprintf(&b, "[[column]]\nname = %q\ntype = \"categorical\"\nlevels = [", name)
		for i := range levels {
			fmt.Fprintf(&b, "\"%d\", ", i)
		}
		b.WriteString("]\n")
	}
	column("a", levels)
	column("b", levels)
	family := "family = \"linear\"\nnoise_sd = 0.5"
	if outcomes > 1 {
		column("y", outcomes+1)
		family = "family = \"softmax\""
	} else {
		b.WriteString("[[column]]\nname = \"y\"\ntype = \"numeric\"\nbounds = [-10, 10]\n")
	}
	fmt.Fprintf(&b, "[model]\n%s\noutcome = \"y\"\nterms = [\"a*b\"]\nstandardise = \"none\"\n", family)
	fmt.Fprintf(&b, "[inference]\nrounds = %d\nq = \"diagonal\"\ndamping = 0.1\n[privacy]\nunit = \"client\"\nnoise_multiplier = 1.0\ndelta = 1e-5\nclip = 60\n[federation]\nmax_records = 1000\n%s\n", rounds, federation)
	return []byte(b.String())
}
