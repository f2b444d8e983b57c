package ir

import "testing"

// Verify accepts draws, and comparisons of values that depend on parameters, only if nothing but
// generated quantities depends on them.
func TestVerifyGenerated(t *testing.T) {
	const of = 15 // number of nodes in the program good
	shared := Node{Op: Draw, Cols: int(NormalLaw), Args: []int{12, 5}}
	record := Node{Op: Draw, Cols: int(PoissonLaw), Rows: 1, Args: []int{6}}
	compared := Node{Op: Less, Args: []int{5, 12}}
	for name, c := range map[string]struct {
		node   Node
		change func(p *Program)
		want   string
	}{
		"a shared draw":                  {shared, func(*Program) {}, ""},
		"a draw of a record":             {record, func(*Program) {}, ""},
		"a comparison":                   {compared, func(*Program) {}, ""},
		"no quantity":                    {compared, func(p *Program) { p.Generated = nil }, "only generated quantities"},
		"a likelihood that draws":        {record, func(p *Program) { p.Likelihood = of }, "the log density"},
		"a likelihood of a draw":         {record, func(p *Program) { p.Nodes = append(p.Nodes, Node{Op: Mul, Args: []int{11, of}}); p.Likelihood = of + 1 }, "the log density"},
		"a likelihood with a comparison": {Node{Op: Select, Args: []int{10, 10, 11}}, func(p *Program) { p.Likelihood = of }, "the log density"},
		"a factor that draws":            {shared, func(p *Program) { p.Factors = []int{of} }, "the log density"},
		"a prior with a comparison":      {compared, func(p *Program) { p.Priors[2].Args[0] = of }, "the log density"},
		"a prediction that draws":        {record, func(p *Program) { p.Prediction.Node = of }, "the log density"},
		"no such law":                    {Node{Op: Draw, Cols: int(laws), Args: []int{5}}, func(*Program) {}, "no such law"},
		"too few arguments":              {Node{Op: Draw, Cols: int(NormalLaw), Args: []int{5}}, func(*Program) {}, "no such law"},
		"a shared draw of a record":      {Node{Op: Draw, Cols: int(PoissonLaw), Args: []int{6}}, func(*Program) {}, "it draws"},
		"a draw of shared values":        {Node{Op: Draw, Cols: int(PoissonLaw), Rows: 1, Args: []int{5}}, func(*Program) {}, "it draws"},
		"several draws":                  {Node{Op: Draw, Cols: int(PoissonLaw), Rows: 2, Args: []int{6}}, func(*Program) {}, "for each record"},
		"a quantity that does not exist": {shared, func(p *Program) { p.Generated[0] = 99 }, "does not exist"},
		"a factor of a record's draw":    {record, func(p *Program) { p.Factors = []int{of} }, "parameters alone"},
	} {
		checkVerify(t, name, c.want, func(p *Program) {
			p.Nodes, p.Generated = append(p.Nodes, c.node), []int{of}
			c.change(p)
		})
	}
}
