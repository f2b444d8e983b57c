package fit

import (
	"fmt"
	"math"

	"fedpvi/pvi/model"
)

// generated is a set of numbers that are computed from the parameters, for [Model.Quantities].
type generated struct {
	names, units []string // units is nil if the numbers have no units
	random       []bool   // whether each number depends on random numbers; nil if no number does
	at           func(dst, theta []float64, draw int)
}

// allGenerated returns all sets of quantities of the study: the quantities that its program
// generates, the correlated effects of the groups of its formula, and the effects of groups. The
// effects of groups are included only if the coordinates of the groups are effects in units of
// their sd.
func (m *Model) allGenerated() ([]generated, error) {
	var all []generated
	add := func(g *model.Generator) {
		if names := g.Names(); len(names) > 0 {
			all = append(all, generated{names: names, random: g.Random(), at: g.Shared})
		}
	}
	add(m.Generator())
	if f := m.Study.Model.Formula; f != nil && f.Effects != nil {
		compiled, err := m.compiledProgram(f.Effects, false)
		if err != nil {
			return nil, err
		}
		add(compiled.Quantities.Generator(m.Study.Digest))
	}
	if effects := m.Effects(); len(effects) > 0 && !m.Centred() {
		all = append(all, m.effectsOfGroups(effects))
	}
	return all, nil
}

// effectsOfGroups returns the effects of groups in the units of the predictor. An effect is the sd
// of the effects times the parameter z of the group. The coordinate of the sd is the logarithm of
// the sd.
func (m *Model) effectsOfGroups(effects []Effect) generated {
	units := m.Units()
	var out generated
	for _, e := range effects {
		term := m.Study.Model.Groups[e.Term]
		by, _ := m.Study.Column(term.By)
		of := term.By
		if e.Column >= 0 {
			of += ":" + m.Study.Columns[e.Column].Name
		}
		for _, level := range by.Levels {
			out.names = append(out.names, fmt.Sprintf("effect(%s)[%s]", of, level))
			out.units = append(out.units, units[e.Spread].Unit)
		}
	}
	out.at = func(dst, theta []float64, _ int) {
		k := 0
		for _, e := range effects {
			sd := math.Exp(units[e.Spread].Shift + theta[e.Spread])
			for level := range e.Levels {
				dst[k] = sd * theta[e.First+level]
				k++
			}
		}
	}
	return out
}
