package fit

import (
	"fmt"
	"math"

	"fedpvi/pvi/model"
)

// generated describes quantities computed from the parameters (see [Model.Quantities]).
type generated struct {
	names, units []string // units may be nil
	random       []bool   // whether each quantity is random; nil if none is
	at           func(dst, theta []float64, draw int)
}

// allGenerated returns all quantities computed from parameters. They are the quantities that the
// program generates, correlated group effects, and effects whose coordinates are in units of their
// standard deviation.
func (m *Model) allGenerated() ([]generated, error) {
	var all []generated
	add := func(g *model.Generator) {
		if names := g.Names(); len(names) > 0 {
			all = append(all, generated{names: names, random: g.Random(), at: g.Shared})
		}
	}
	add(m.Generator())
	if f := m.Study.Model.Formula; f != nil && f.Effects != nil {
		compiled, err := m.compiled(f.Effects, false)
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

// effectsOfGroups returns the group effects in units of the predictor. Each is the standard
// deviation of the effects times the standardised coordinate of the group.
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
