package main

import (
	"fmt"
	"math"
	"strings"
)

// document returns a study file with at least the given number of coefficients, one for each pair
// of levels of two columns. If there are more than 60,000 pairs, the outcome has several classes
// with separate coefficients. If o.published is true, the study publishes the clients' releases,
// which are statistics of their records.
func document(name string, coefficients, rounds int, o options) []byte {
	version, solver, pace := 1, "", ""
	privacy := "unit = \"client\"\nnoise_multiplier = 1.0\ndelta = 1e-5\nclip = 60"
	if o.published {
		version, pace, solver = 2, "pace = 0\n", "solver = \"clipped-analytical\"\nintervals = \"none\"\n"
		privacy = "unit = \"record\"\nnoise_multiplier = 1.0\ndelta = 1e-5"
	}
	const most = 60_000 // maximum number of coefficients for one outcome
	outcomes := 1 + (coefficients-1)/most
	levels := max(2, int(math.Ceil(math.Sqrt(float64(coefficients)/float64(outcomes)))))
	var b strings.Builder
	fmt.Fprintf(&b, "[study]\nversion = %d\nname = %q\n", version, name)
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
	fmt.Fprintf(&b, "[inference]\nrounds = %d\nq = \"diagonal\"\ndamping = 0.1\n%s[privacy]\n%s\n[federation]\nmax_records = 1000\n%s%s\n", rounds, solver, privacy, pace, o.federation())
	return []byte(b.String())
}
