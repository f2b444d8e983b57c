package program

import (
	"slices"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// A subscript selects elements of a container along one axis. It is a list of constant positions,
// or a single position that depends on the record.
type subscript struct {
	role   role // index for the variable of the loop over the records, rows if each record has its own index, and plain in all other cases
	at     syntax.Span
	all    bool // whether all elements are selected
	single bool // whether a single element is selected, which removes the axis
	low    int  // first position, from 1, if places is nil
	high   int  // last position, or 0 for the end of the axis
	places []int
	value  value // index of the element if it depends on the record; if not, value.known is false
}

// subscripts returns all subscripts of a variable. There may be several pairs of brackets, as in
// x[i][j].
func (s *stager) subscripts(e *syntax.Expr) []subscript {
	if e.Args[0].Kind != syntax.Index {
		return s.own(e)
	}
	return append(s.subscripts(e.Args[0]), s.own(e)...)
}

// own returns the subscripts in the last pair of brackets of an expression.
func (s *stager) own(e *syntax.Expr) (all []subscript) {
	for _, a := range e.Args[1:] {
		all = append(all, s.subscript(a))
	}
	return all
}

func (s *stager) subscript(e *syntax.Expr) subscript {
	if e.Kind == syntax.Range {
		return s.span(e)
	}
	v := s.joined(s.eval(e), e.At)
	sub := subscript{role: v.role, at: e.At, single: true}
	switch {
	case v.role == index:
		return sub
	case v.role == count || v.role == total:
		s.fail("E201", e.At, "%s is used as a subscript: a record's density may use its own row only.", said(v.role, v.shape))
	case !v.in.Whole:
		s.fail("E402", e.At, "a subscript must be a whole number.")
	case v.fixed() && len(v.shape.dims) <= 1:
		sub.single = v.shape.single()
		for _, x := range v.numbers {
			sub.places = append(sub.places, int(max(-1, min(x, mostNumbers+1))))
		}
		return sub
	case !v.shape.single():
		s.fail("E403", e.At, "a subscript that is an array of the record is not in the language: write a loop.")
	case s.phase(v) != ir.Data:
		s.fail("E402", e.At, "a subscript cannot depend on parameters.")
	}
	sub.value = v
	return sub
}

// span returns the subscript for a range such as 2:5.
func (s *stager) span(e *syntax.Expr) subscript {
	sub := subscript{at: e.At, low: 1, all: e.Args[0] == nil && e.Args[1] == nil}
	for k, bound := range e.Args {
		if bound == nil {
			continue
		}
		v := s.eval(bound)
		switch {
		case v.role == index || v.role == count:
			s.fail("E201", e.At, "a range that begins or ends at a record reads other records.")
		case !v.fixed() || !v.shape.single() || !v.in.Whole || v.number() < 1 || v.number() > mostNumbers:
			s.fail("E209", bound.At, "the bound of a range must be a public whole number of at least 1.")
		case k == 0:
			sub.low = int(v.number())
		default:
			sub.high = int(v.number())
		}
	}
	return sub
}

func (s *stager) element(v value, subscripts []subscript, e *syntax.Expr) value {
	if v.role == rows {
		first := subscripts[0]
		switch {
		case first.all && len(subscripts) == 1:
			return v
		case first.all:
			v = s.select1(v, subscripts[1:], e.At)
			v.role = rows
			return v
		case (first.role != index || s.loop == 0) && v.from != nil && v.from.latents != nil:
			s.fail("E201", e.At, "%s belongs to one record, and another record reads it here. If several rows share a value, make them one record: array[%s, T] real y. Or declare vector[J] %s, with a value for each level of a column.", v.from.name, s.data.Records, v.from.name)
		case first.role != index || s.loop == 0:
			s.fail("E201", e.At, "%s reads another record. A record's density may use its own row only. If a lag belongs to the same person, make the person the record: array[%s, T] real y.", s.printed(e), s.data.Records)
		}
		v.role = plain
		subscripts = subscripts[1:]
	}
	if v.role != plain {
		s.fail("E402", e.At, "%s has no elements.", said(v.role, v.shape))
	}
	return s.select1(v, subscripts, e.At)
}

// select1 returns the elements of v at the subscripts, for the current record.
func (s *stager) select1(v value, subscripts []subscript, at syntax.Span) value {
	if len(subscripts) == 0 {
		return v
	}
	if slices.ContainsFunc(subscripts, func(sub subscript) bool { return sub.value.known }) {
		return s.gather(v, subscripts, at)
	}
	for _, sub := range subscripts {
		if sub.role == index {
			s.fail("E202", sub.at, "%s has no element for each record, and is subscripted by the record's number. The values of levels are subscripted by a column, as in alpha[group[n]].", said(v.role, v.shape))
		}
	}
	positions, of := s.positions(v.shape, subscripts, at)
	return s.at(v, positions, of, at)
}

// at returns the elements of a value at the given positions. The first position is 0. result is the
// shape of the result.
func (s *stager) at(v value, positions []int, result shape, span syntax.Span) value {
	s.spend(span, partCost*len(positions))
	out := value{role: v.role, shape: result, known: true, whole: v.whole, above: v.above, in: v.in}
	contiguous := len(positions) > 0
	for k, p := range positions {
		contiguous = contiguous && p == positions[0]+k
	}
	switch {
	case v.parts != nil:
		out.parts = make([]value, len(positions))
		for k, p := range positions {
			out.parts[k] = v.parts[p]
		}
		return s.joined(out, span)
	case v.fixed():
		numbers := make([]float64, len(positions))
		for k, p := range positions {
			numbers[k] = v.numbers[p]
		}
		c := constants(result, numbers)
		c.whole = v.whole
		return c
	case result.single():
		one := s.pickAt(v, positions[0])
		one.role = v.role
		return one
	case contiguous && len(positions) == v.shape.size() && result.equal(v.shape):
		return v
	case contiguous:
		rows, cols := result.table()
		if out.node = s.b.Slice(v.node, positions[0], rows, cols); !v.mixed {
			out.from, out.first = v.from, v.first+positions[0]
		}
		return out
	}
	out.parts = make([]value, len(positions))
	for k, p := range positions {
		out.parts[k] = s.pickAt(v, p)
		out.parts[k].from = nil
	}
	return s.joined(out, span)
}

// positions returns the positions of the elements at constant subscripts, and the shape of the
// result. The first position is 0. sh is the shape of the container.
func (s *stager) positions(sh shape, subscripts []subscript, at syntax.Span) ([]int, shape) {
	if len(subscripts) > len(sh.dims) {
		s.fail("E402", at, "there are more subscripts than sizes.")
	}
	positions, result := []int{0}, sh
	var kept []int
	for k, size := range sh.dims {
		chosen := s.chosen(subscripts, k, size)
		s.spend(at, len(positions)*len(chosen))
		next := make([]int, 0, len(positions)*len(chosen))
		for _, p := range positions {
			for _, c := range chosen {
				next = append(next, p*size+c)
			}
		}
		positions = next
		if k >= len(subscripts) || !subscripts[k].single {
			kept = append(kept, len(chosen))
		} else if arrays := len(sh.dims) - inner[sh.base]; k >= arrays {
			// If an axis of a matrix is removed, what remains is a vector, or a row vector if the rows were
			// removed.
			switch {
			case result.base == matrix && k == arrays:
				result.base = rowVector
			case result.base == matrix:
				result.base = vector
			default:
				result.base = scalar
			}
		}
	}
	result.dims = kept
	return positions, result
}

// chosen returns the positions that subscripts[k] selects along an axis of the given size. The
// first position is 0. If there is no subscripts[k], it returns all positions.
func (s *stager) chosen(subscripts []subscript, k, size int) []int {
	var chosen []int
	sub := subscript{low: 1}
	if k < len(subscripts) {
		sub = subscripts[k]
	}
	places := sub.places
	if places == nil {
		high := sub.high
		if high == 0 {
			high = size
		}
		for i := sub.low; i <= min(high, size+1); i++ {
			places = append(places, i)
		}
	}
	for _, p := range places {
		if p < 1 || p > size {
			s.fail("E310", sub.at, "there is no element %d of %d.", p, size)
		}
		chosen = append(chosen, p-1)
	}
	if len(chosen) == 0 {
		s.fail("E310", sub.at, "no element is selected.")
	}
	return chosen
}

// gather returns an element of a value, or a row of a matrix, at subscripts that depend on the
// record.
func (s *stager) gather(v value, subscripts []subscript, at syntax.Span) value {
	v = s.joined(v, at)
	if len(subscripts) > len(v.shape.dims) {
		s.fail("E402", at, "there are more subscripts than sizes.")
	}
	table := v.shape
	if len(subscripts) == 1 && len(table.dims) == 2 {
		return s.gatherRow(v, subscripts[0], at)
	}
	if len(subscripts) != len(table.dims) {
		s.fail("E403", at, "a value of the record can select only an element, or a row of a matrix.")
	}
	var place value
	role := plain
	for k, sub := range subscripts {
		at := s.place(sub, table.dims[k])
		if at.role == rows {
			role = rows
		}
		if k == 0 {
			place = at
		} else {
			place = s.binary(ir.Add, s.binary(ir.Mul, place, constant(float64(table.dims[k])), sub.at), at, sub.at)
		}
	}
	if v.role == rows || s.ofRecord(v) {
		return s.pick(v, place, at)
	}
	flat := s.nodeOf(v)
	if _, cols := table.table(); cols > 1 {
		flat = s.b.Slice(flat, 0, table.size(), 1)
	}
	return value{role: role, node: s.b.Gather(flat, s.nodeOf(place)), known: true, whole: v.whole, above: v.above, in: v.in}
}

// place returns the position of the single element that sub selects along an axis. The first
// position is 0. place refuses a subscript that could lie outside the axis.
func (s *stager) place(sub subscript, size int) value {
	switch {
	case sub.role == index:
		s.fail("E202", sub.at, "a table is subscripted by the record's number: its elements belong to levels, which are subscripted by a column.")
	case !sub.value.known && len(sub.places) == 1 && sub.single:
		if p := sub.places[0]; p < 1 || p > size {
			s.fail("E310", sub.at, "there is no element %d of %d.", p, size)
		}
		return wholeNumber(sub.places[0] - 1)
	case !sub.value.known:
		s.fail("E403", sub.at, "a range beside a value of the record is not in the language: write a loop.")
	}
	if in := sub.value.in; !(in.Low >= 1) || !(in.High <= float64(size)) {
		s.fail("E310", sub.at, "this subscript lies in %g..%g, and there are %d elements. Narrow the bounds of the column.", in.Low, in.High, size)
	}
	return s.binary(ir.Sub, sub.value, constant(1), sub.at)
}

// gatherRow returns a row of the matrix v. The number of the row depends on the record.
func (s *stager) gatherRow(v value, sub subscript, at syntax.Span) value {
	row := s.place(sub, v.shape.dims[0])
	if v.role == rows || s.ofRecord(v) {
		s.fail("E403", at, "a row of the record's own matrix is not in the language: select an element.")
	}
	out := value{role: row.role, shape: v.shape.first(), known: true, whole: v.whole, above: v.above, in: v.in}
	if v.shape.dims[1] == 1 {
		out.node = s.b.Gather(s.nodeOf(v), s.nodeOf(row))
	} else {
		out.node = s.b.GatherRow(s.nodeOf(v), s.nodeOf(row))
	}
	return out
}

// mostPicked limits three sizes: that of a vector in which both the elements and the index depend
// on the record, the number of classes of an outcome, and the number of rows of a correlation
// matrix.
const mostPicked = 64

// pick returns the element of v at position place. Both depend on the current record.
func (s *stager) pick(v, place value, at syntax.Span) value {
	parts := s.scalars(v, at)
	if len(parts) > mostPicked {
		s.fail("E403", at, "a value of the record can select among at most %d of its own numbers.", mostPicked)
	}
	role := v.role
	if place.role == rows {
		role = rows
	}
	v.role, place.role = plain, plain
	out := parts[len(parts)-1]
	for k := len(parts) - 2; k >= 0; k-- {
		out = s.choose(s.binary(ir.Equal, place, constant(float64(k)), at), parts[k], out, at)
	}
	out.role, out.from = role, nil
	return out
}
