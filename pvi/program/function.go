package program

import "fedpvi/pvi/program/syntax"

const mostCalls = 12

// returned is the effect of a return statement. mask is the condition on the record under which the
// statement is reached. If there is no condition, mask.known is false.
type returned struct{ mask, value value }

// ended reports whether the current function has returned unconditionally.
func (s *stager) ended() bool {
	if s.returns == nil || len(*s.returns) == 0 {
		return false
	}
	return !(*s.returns)[len(*s.returns)-1].mask.known
}

// evaluate returns the value of a call to a function that the program defines. The body has access
// only to the function's arguments and its own variables.
func (s *stager) evaluate(f *syntax.Function, args []*syntax.Expr, at syntax.Span) value {
	if len(args) != len(f.Parameters) {
		s.fail("E402", at, "%s takes %d arguments, not %d.", f.Name, len(f.Parameters), len(args))
	}
	if s.depth == mostCalls {
		s.fail("E401", at, "functions call each other more than %d levels deep: recursion is not in the language.", mostCalls)
	}
	own := map[string]*variable{}
	for k, name := range f.Parameters {
		v := s.eval(args[k])
		own[name] = &variable{value: v, shape: v.shape, role: v.role, level: s.level + 1, input: true}
	}
	results := s.body(f, own)
	if len(results) == 0 {
		s.fail("E402", at, "%s returns no value.", f.Name)
	}
	out := results[len(results)-1].value
	for k := len(results) - 2; k >= 0; k-- {
		r := results[k]
		if r.value.role != plain || out.role != plain || !r.value.shape.equal(out.shape) {
			s.fail("E402", at, "the results of %s have different types or sizes.", f.Name)
		}
		out = s.choose(r.mask, r.value, out, at)
	}
	if _, ok := densityIn(f.Name); ok && len(args) > 0 {
		s.markDensity(own[f.Parameters[0]].value, out)
	}
	return out
}

// body evaluates the statements of a function, and returns the values of its return statements. own
// holds the function's arguments by name.
func (s *stager) body(f *syntax.Function, own map[string]*variable) []returned {
	variables, mask, block, returns, level := s.variables, s.mask, s.block, s.returns, s.level
	defer func() {
		s.variables, s.mask, s.block, s.returns, s.level = variables, mask, block, returns, level
		s.depth--
	}()
	var results []returned
	s.variables, s.mask, s.block, s.returns = own, value{}, dataBlock, &results
	s.depth++
	s.level++
	before := len(s.messages)
	s.statements(f.Body)
	if len(s.messages) > before {
		panic(errStop)
	}
	return results
}
