package program

import (
	"strings"

	"fedpvi/pvi/model"
	"fedpvi/pvi/program/syntax"
)

// generate evaluates the generated quantities. likelihood is the log density of a record. generate
// returns nil after an error, or if the program has no generated quantities.
func (s *stager) generate(p *syntax.Program, likelihood model.Expr) *model.Quantities {
	s.generating = true
	if s.statements(p.Generated); len(s.messages) > 0 {
		return nil
	}
	var shared, records []model.Quantity
	for _, d := range p.Generated {
		if d.Kind != syntax.Declare {
			continue
		}
		s.attempt(func() {
			if q, record := s.quantity(d); record {
				records = append(records, q)
			} else {
				shared = append(shared, q)
			}
		})
	}
	if len(s.messages) > 0 {
		return nil
	}
	s.noteGenerated(p, shared, records)
	if len(records) == 0 && s.data.Predict {
		records = s.predictions()
	}
	if len(shared)+len(records) == 0 {
		return nil
	}
	out, err := s.b.Generate(likelihood, shared, records)
	if err != nil {
		s.report("E412", syntax.Span{}, "the generated quantities cannot be computed: %v", err)
	}
	return out
}

// quantity returns the generated quantity that d declares. record is true if each record has its
// own.
func (s *stager) quantity(d *syntax.Statement) (q model.Quantity, record bool) {
	v := s.variables[d.Name]
	if v == nil || v.bad {
		panic(errStop)
	}
	switch {
	case !v.value.known:
		s.fail("E208", d.At, "%s has no value.", d.Name)
	case v.value.role != plain && v.value.role != rows:
		s.fail("E211", d.At, "%s is %s, and only clients have the records. Generate it from parameters, or for each record: declare vector[%s] %s.", d.Name, said(v.value.role, v.value.shape), s.data.Records, d.Name)
	}
	got := s.joined(v.value, d.At)
	node := s.nodeOf(got)
	if s.b.Hidden(node) {
		if d.Name != "log_lik" || !got.shape.single() {
			s.fail("E204", d.At, "%s depends on %s, which is integrated out for each record and has no value. Only log_lik, a number for each record, may depend on it: it is integrated too.", d.Name, s.hidden[0].name)
		}
		node = s.integrated(got)
	}
	return model.Quantity{Name: d.Name, Dims: got.shape.dims, Value: node}, v.role == rows
}

// noteGenerated adds remarks that list the generated quantities and say where they are computed.
func (s *stager) noteGenerated(p *syntax.Program, shared, records []model.Quantity) {
	for _, of := range []struct {
		all []model.Quantity
		how string
	}{{shared, "reported with the posterior"}, {records, "computed by client predict, where the records are"}} {
		var names []string
		for _, q := range of.all {
			names = append(names, q.Name)
		}
		if len(names) > 0 {
			s.note("W504", p.Generated[0].At, "generated quantities that are %s: %s.", of.how, strings.Join(names, ", "))
		}
	}
}
