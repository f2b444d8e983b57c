package solver

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// remembered is the largest number of earlier points in an extrapolation.
const remembered = 6

// An anderson extrapolates a fixed-point iteration x ← x + move(x) by Anderson acceleration. Among
// all weights with sum 1, it finds those for which the weighted sum of the last moves is shortest,
// and combines the last points and moves with them (Anderson, "Iterative procedures for nonlinear
// integral equations", 1965; in the form of Walker and Ni, "Anderson acceleration for fixed-point
// iterations", 2011). It helps if the plain iteration converges slowly along a few directions.
type anderson struct {
	point, move   []float64   // arguments of the last call of add
	points, moves [][]float64 // differences between successive arguments of add
}

func (a *anderson) reset() { *a = anderson{} }

// add records a point of the iteration and the move from it.
func (a *anderson) add(point, move []float64) {
	if a.point != nil {
		a.points = append(a.points, floats.SubTo(make([]float64, len(point)), point, a.point))
		a.moves = append(a.moves, floats.SubTo(make([]float64, len(move)), move, a.move))
	}
	if len(a.points) > remembered {
		a.points, a.moves = a.points[1:], a.moves[1:]
	}
	a.point, a.move = append(a.point[:0], point...), append(a.move[:0], move...)
}

// next writes to dst the weighted sum of the points plus damping times the weighted sum of the
// moves. The length of a move is measured after its elements are multiplied by weight. It returns
// false if add was called fewer than two times since the last reset, or if the moves hardly differ.
func (a *anderson) next(dst, weight []float64, damping float64) bool {
	n := len(a.moves)
	if n == 0 {
		return false
	}
	scaled := make([][]float64, n)
	for k, m := range a.moves {
		scaled[k] = floats.MulTo(make([]float64, len(m)), m, weight)
	}
	now := floats.MulTo(make([]float64, len(a.move)), a.move, weight)
	gram, right := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for k := range n {
		right.SetVec(k, floats.Dot(scaled[k], now))
		for l := range k + 1 {
			gram.SetSym(k, l, floats.Dot(scaled[k], scaled[l]))
		}
	}
	const ridge = 1e-12 // relative addition to the diagonal of gram, which keeps weights small if moves are nearly equal
	for k := range n {
		gram.SetSym(k, k, gram.At(k, k)*(1+ridge))
	}
	var root mat.Cholesky
	var share mat.VecDense
	if !root.Factorize(gram) || root.SolveVecTo(&share, right) != nil {
		return false
	}
	floats.AddScaledTo(dst, a.point, damping, a.move)
	for k := range n {
		floats.AddScaled(dst, -share.AtVec(k), a.points[k])
		floats.AddScaled(dst, -share.AtVec(k)*damping, a.moves[k])
	}
	return true
}
