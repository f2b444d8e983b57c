package program

import (
	"maps"
	"slices"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// run evaluates all blocks after the data block, up to the generated quantities.
func (s *stager) run(p *syntax.Program) {
	s.statements(p.TransformedData)
	s.block = parameterBlock
	for _, d := range p.Parameters {
		s.attempt(func() { s.declareParameter(d) })
	}
	s.block = modelBlock
	s.statements(p.TransformedParameters)
	s.within(p.Model)
}

func (s *stager) statements(all []*syntax.Statement) {
	for _, one := range all {
		s.steps++
		if len(s.messages) >= mostMessages || s.ended() {
			return
		}
		if !s.attempt(func() { s.statement(one) }) {
			s.spoil(one)
		}
	}
}

// spoil marks the variable of a refused statement, so that its later uses do not cause more errors.
func (s *stager) spoil(one *syntax.Statement) {
	name := one.Name
	if one.Kind == syntax.Assign {
		name = nameOf(one.Target)
	}
	switch v := s.variables[name]; {
	case v != nil:
		v.bad = true
	case one.Kind == syntax.Declare:
		s.variables[name] = &variable{bad: true}
	}
}

// nameOf returns the name of the variable if an expression is a variable, with or without
// subscripts, and otherwise "".
func nameOf(e *syntax.Expr) string {
	for e.Kind == syntax.Index {
		e = e.Args[0]
	}
	if e.Kind == syntax.Name {
		return e.Text
	}
	return ""
}

func (s *stager) statement(one *syntax.Statement) {
	s.spend(one.At, 0)
	switch one.Kind {
	case syntax.Declare:
		s.declareLocal(one)
	case syntax.Assign:
		s.assign(one)
	case syntax.Tilde:
		s.tilde(one)
	case syntax.Add:
		s.inModel(one.At)
		s.addTerm(one.Value)
	case syntax.For:
		s.forLoop(one)
	case syntax.If:
		s.branch(one)
	case syntax.Block:
		s.within(one.Body)
	case syntax.Return:
		*s.returns = append(*s.returns, returned{s.mask, s.eval(one.Value)})
	}
}

func (s *stager) inModel(at syntax.Span) {
	if s.block != modelBlock || s.generating {
		s.fail("E400", at, "only the model block adds to the log density.")
	}
}

// within evaluates a block, and afterwards removes the variables that the block declares.
func (s *stager) within(all []*syntax.Statement) {
	s.level++
	s.statements(all)
	for name, v := range s.variables {
		if v.level == s.level {
			delete(s.variables, name)
		}
	}
	s.level--
}

func (s *stager) declareLocal(d *syntax.Statement) {
	if _, ok := s.variables[d.Name]; ok || d.Name == s.data.Records {
		s.fail("E400", d.At, "%s is declared twice.", d.Name)
	}
	of, each := s.sizes(d.Type)
	if each && s.loop > 0 {
		s.fail("E202", d.At, "a value for each record is declared inside the loop over the records: declare it before the loop.")
	}
	v := &variable{shape: of, level: s.level, masks: s.masks, whole: d.Type.Base == "int"}
	if each {
		v.role = rows
	}
	if d.Value != nil {
		s.set(v, s.eval(d.Value), d.Value.At, d.Name)
	}
	s.variables[d.Name] = v
}

// set assigns a value to a whole variable. The shape of the value must fit.
func (s *stager) set(v *variable, got value, at syntax.Span, name string) {
	if got.role == count && v.whole && v.shape.single() && v.role == plain {
		v.value = got
		return
	}
	if got.role == index || got.role == count {
		s.fail("E206", at, "the number of a record cannot be assigned to a variable, and the number of records only to one that is declared int.")
	}
	if got.role == total && v.role == plain && v.shape.single() && s.loop == 0 {
		v.value = got
		return
	}
	if got.role != v.role || !got.shape.equal(v.shape) {
		s.fail("E402", at, "%s is declared %s, and the value is %s.", name, said(v.role, v.shape), said(got.role, got.shape))
	}
	if v.whole && !got.whole {
		s.fail("E402", at, "%s is declared int, and the value is real.", name)
	}
	got.whole = v.whole
	v.value = s.merge(v, got, at)
}

// merge returns the value that v has after got is assigned to it. If the assignment is under a
// condition on the record, v keeps its old value for records that do not satisfy the condition.
func (s *stager) merge(v *variable, got value, at syntax.Span) value {
	if !s.mask.known || v.masks == s.masks || !v.value.known {
		return got
	}
	merged := s.choose(s.mask, got, v.value, at)
	merged.role = got.role
	return merged
}

// outside refuses an assignment in the loop over the records if the variable was declared before
// the loop. It would carry a value from one record to the next.
func (s *stager) outside(v *variable, name string, at syntax.Span) {
	if s.loop > 0 && v.level < s.loop {
		s.fail("E207", at, "%s is carried from one record to the next. Declare it inside the loop.", name)
	}
}

func (s *stager) assign(a *syntax.Statement) {
	name := nameOf(a.Target)
	v := s.variables[name]
	switch {
	case name == "":
		s.fail("E400", a.Target.At, "only a variable can be assigned.")
	case name == "target":
		s.fail("E400", a.Target.At, "the log density can only be added to: write target += …")
	case v == nil:
		s.unknown(name, a.Target.At)
	case v.input:
		s.fail("E400", a.Target.At, "%s is data or a parameter, and cannot be assigned.", name)
	case v.bad:
		panic(errStop)
	}
	e := a.Value
	if a.Name != "" {
		if s.accumulate(v, a) {
			return
		}
		e = &syntax.Expr{Kind: syntax.Binary, Text: a.Name, Args: []*syntax.Expr{a.Target, a.Value}, At: a.Value.At}
	}
	if a.Target.Kind == syntax.Name {
		s.outside(v, name, a.Target.At)
		s.set(v, s.eval(e), e.At, name)
		return
	}
	s.assignPart(v, name, a.Target, s.eval(e))
}

// accumulate handles x += term in the loop over the records if x is a number declared before the
// loop. x becomes a sum over the records. For all other assignments accumulate returns false.
func (s *stager) accumulate(v *variable, a *syntax.Statement) bool {
	if s.loop == 0 || v.level >= s.loop || a.Target.Kind != syntax.Name || !v.shape.single() || v.role != plain || a.Name != "+" {
		return false
	}
	if !v.value.known {
		s.fail("E208", a.Target.At, "%s is read before it has a value.", a.Target.Text)
	}
	term := s.eval(a.Value)
	if !term.shape.single() || term.role != plain {
		s.fail("E402", a.Value.At, "the value must be one number for each record.")
	}
	if s.mask.known {
		term = s.choose(s.mask, term, constant(0), a.Value.At)
	}
	sum := value{role: total, shape: term.shape, node: s.nodeOf(term), known: true}
	v.value = s.addTotals(v.value, sum, false, a.At)
	return true
}

func (s *stager) assignPart(v *variable, name string, target *syntax.Expr, got value) {
	at := target.At
	subscripts := s.subscripts(target)
	if v.role == rows {
		first := subscripts[0]
		switch {
		case s.loop == 0 || first.role != index:
			s.fail("E201", target.Args[1].At, "%s has a value for each record: assign it in a loop over the records, at the record's number.", name)
		case got.role != plain:
			s.fail("E202", at, "a value for each record cannot be assigned to one record.")
		}
		subscripts = subscripts[1:]
	} else {
		s.outside(v, name, at)
	}
	if got.role != plain {
		s.fail("E202", at, "a value for each record cannot be assigned to elements of %s.", name)
	}
	if len(subscripts) > 0 {
		got = s.replaced(v, subscripts, got, at)
	} else if !got.shape.equal(v.shape) {
		s.fail("E402", at, "an element of %s is %s, and the value is %s.", name, said(plain, v.shape), said(plain, got.shape))
	}
	got.role, got.from = v.role, nil
	v.value = s.merge(v, got, at)
}

// replaced returns the container v with the elements at the subscripts replaced by got.
func (s *stager) replaced(v *variable, subscripts []subscript, got value, at syntax.Span) value {
	positions, of := s.positions(v.shape, subscripts, at)
	if len(positions) != got.shape.size() || !of.single() && got.shape.single() {
		s.fail("E402", at, "%d elements are assigned %d values.", len(positions), got.shape.size())
	}
	n := v.shape.size()
	s.spend(at, partCost*n)
	parts := make([]value, n)
	if v.value.known {
		copy(parts, s.scalars(v.value, at))
	}
	for k, x := range s.scalars(got, at) {
		if old := parts[positions[k]]; s.mask.known && v.masks != s.masks && old.known {
			x = s.choose(s.mask, x, old, at)
		}
		parts[positions[k]] = x
	}
	return value{shape: v.shape, parts: parts, known: true, whole: v.whole}
}

func (s *stager) forLoop(f *syntax.Statement) {
	low, high := s.eval(f.Low), s.eval(f.High)
	if _, ok := s.variables[f.Name]; ok {
		s.fail("E400", f.At, "%s is declared twice.", f.Name)
	}
	if high.role == count {
		s.recordLoop(f, &low)
		return
	}
	for _, b := range []struct {
		v value
		e *syntax.Expr
	}{{low, f.Low}, {high, f.High}} {
		switch {
		case b.v.role == index || b.v.role == count:
			s.fail("E201", b.e.At, "a loop that begins or ends at a record reads other records. Write a loop over the records as for (%s in 1:%s).", f.Name, s.data.Records)
		case !b.v.fixed() || !b.v.shape.single() || !b.v.in.Whole:
			s.fail("E209", b.e.At, "the bound of this loop is not a public constant.")
		}
	}
	for i := low.number(); i <= high.number() && len(s.messages) < mostMessages && !s.ended(); i++ {
		before := len(s.messages)
		s.steps++
		s.spend(f.At, 0)
		s.level++
		s.variables[f.Name] = &variable{value: wholeNumber(int(i)), level: s.level, input: true}
		s.within(f.Body)
		delete(s.variables, f.Name)
		s.level--
		if len(s.messages) > before {
			return
		}
	}
}

// recordLoop evaluates the body of a loop over the records once, for the current record. The loop
// must start at low = 1.
func (s *stager) recordLoop(f *syntax.Statement, low *value) {
	switch {
	case !low.fixed() || low.number() != 1:
		s.fail("E201", f.Low.At, "this loop leaves records out. A loop over the records begins at 1: a record's density may use its own row only.")
	case s.loop > 0:
		s.fail("E202", f.At, "a loop over the records inside another one joins pairs of records.")
	}
	s.level++
	s.loop = s.level
	s.variables[f.Name] = &variable{value: value{role: index, known: true, whole: true}, level: s.level, input: true}
	s.within(f.Body)
	delete(s.variables, f.Name)
	s.loop = 0
	s.level--
}

func (s *stager) branch(f *syntax.Statement) {
	condition := s.eval(f.Value)
	if condition.role == rows || !condition.shape.single() {
		s.fail("E202", f.Value.At, "a condition must be one number: write it in a loop over the records.")
	}
	switch {
	case condition.role != plain:
		s.fail("E201", f.Value.At, "a condition on the number of a record makes the density depend on the order of the records.")
	case condition.fixed() && condition.number() != 0:
		s.within(f.Body)
	case condition.fixed():
		s.within(f.Else)
	case s.phase(condition) != ir.Data && !s.generating:
		s.fail("E210", f.Value.At, "a condition on parameters makes the density jump. Use fmax, fmin or a smooth form.")
	default:
		yes := s.truth(condition)
		s.under(yes, f.Body, f.Value.At)
		s.under(s.not(yes), f.Else, f.Value.At)
	}
}

// under evaluates body under a condition on the record, in addition to the conditions that already
// apply.
func (s *stager) under(condition value, body []*syntax.Statement, at syntax.Span) {
	before := s.mask
	if s.mask = condition; before.known {
		s.mask = s.binary(ir.Mul, before, condition, at)
	}
	s.masks++
	s.within(body)
	s.masks--
	s.mask = before
}

// addTerm adds an expression to the log density. It adds each summand separately, so that the
// density of a parameter can become the parameter's prior.
func (s *stager) addTerm(e *syntax.Expr) {
	if e.Kind == syntax.Binary && e.Text == "+" {
		s.addTerm(e.Args[0])
		s.addTerm(e.Args[1])
		return
	}
	if name, ok := densityName(e); ok && len(e.Args) > 0 && s.functions[e.Text] == nil {
		s.density(name, e.Args[0], e.Args[1:], e.At)
		return
	}
	s.add(s.eval(e), e.At)
}

// add adds a value to the log density of a record if the value depends on the record or is in the
// loop over the records. If not, it adds the value to the log density of the prior. Constants are
// left out.
func (s *stager) add(v value, at syntax.Span) {
	if v.role == index || v.role == count {
		s.fail("E206", at, "the number of a record cannot be a term of a log density.")
	}
	if !v.shape.single() {
		v = s.sum(v, at)
	}
	if v.role == rows {
		v.role = total
	}
	if v.role == total && s.loop > 0 {
		s.fail("E202", at, "this term is a sum over all records, but is inside the loop over the records: subscript by the record's number, or move it out.")
	}
	if v.role == total {
		if v.rest != nil {
			s.add(*v.rest, at)
		}
		v.role, v.rest = plain, nil
		s.addToRecord(v, at)
		return
	}
	phase := s.phase(v)
	switch {
	case s.loop > 0:
		if phase == ir.Shared {
			s.note("W503", at, "this term is inside the loop over the records, and counts once for each record.")
		}
		s.addToRecord(v, at)
	case phase == ir.Shared:
		s.b.Factor(v.node)
	}
}

func (s *stager) addToRecord(v value, at syntax.Span) {
	s.terms++
	if s.mask.known {
		v = s.choose(s.mask, v, constant(0), at)
	}
	if s.likelihood.known {
		v = s.binary(ir.Add, s.likelihood, v, at)
	}
	s.likelihood = v
}

func (s *stager) declareParameter(d *syntax.Statement) {
	if d.Kind != syntax.Declare || d.Value != nil {
		s.fail("E400", d.At, "the parameters block may contain only declarations without values.")
	}
	s.declared(d)
	v := &variable{input: true, bad: true}
	s.variables[d.Name] = v
	if d.Type.Base == "int" {
		s.fail("E401", d.Type.At, "a parameter is a real number: sum over the values of a discrete one with log_sum_exp or log_mix.")
	}
	if d.Type.Base == "cholesky_factor_corr" {
		s.declareFactor(d, v)
	} else if of, each := s.sizes(d.Type); each {
		s.declareLatent(d, v, of)
	} else {
		q := s.newParameter(d, of, s.constraint(d, of))
		positive := q.constraint.Kind == ir.Simplex || inside(ir.OnPositive, q.constraint)
		v.shape = of
		v.value = value{shape: of, node: q.node, known: true, from: q, above: positive, in: real}
	}
	v.bad = false
}

func (s *stager) newParameter(d *syntax.Statement, sh shape, c ir.Constraint) *parameter {
	rows, cols := sh.table()
	declared := ir.Parameter{Name: d.Name, Rows: rows, Cols: cols, Constraint: c}
	q := &parameter{name: d.Name, at: d.At, constraint: c, shape: sh, node: s.b.Declare(declared), elements: make([]*prior, sh.size())}
	q.coordinate, s.dim = s.dim, s.dim+declared.Free()
	s.spend(d.At, sh.size())
	s.parameters = append(s.parameters, q)
	return q
}

func (s *stager) constraint(d *syntax.Statement, sh shape) ir.Constraint {
	switch d.Type.Base {
	case "simplex", "ordered":
		if len(sh.dims) != 1 || sh.dims[0] < 2 || len(d.Type.Bounds) > 0 {
			s.fail("E403", d.At, "a parameter that is %s is one vector of at least 2 elements, without bounds.", d.Type.Base)
		}
		return ir.Constraint{Kind: map[string]ir.ConstraintKind{"simplex": ir.Simplex, "ordered": ir.Ordered}[d.Type.Base]}
	}
	var c ir.Constraint
	for _, key := range slices.Sorted(maps.Keys(d.Type.Bounds)) {
		e := d.Type.Bounds[key]
		if key != "lower" && key != "upper" {
			s.fail("E403", e.At, "%s is not in the language yet. Declare %s_unit without it and write %s = offset + multiplier * %s_unit.", key, d.Name, d.Name, d.Name)
		}
		bound := s.eval(e)
		if !bound.fixed() || !bound.shape.single() {
			s.fail("E302", e.At, "the %s bound of %s is not a public constant. Give %s the unit interval and multiply.", key, d.Name, d.Name)
		}
		if key == "lower" {
			c.Lower, c.Kind = bound.number(), c.Kind|1
		} else {
			c.Upper, c.Kind = bound.number(), c.Kind|2
		}
	}
	c.Kind = []ir.ConstraintKind{ir.Unconstrained, ir.Lower, ir.Upper, ir.Both}[c.Kind]
	return c
}
