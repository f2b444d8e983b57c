package scoring

import (
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// The posterior is a mixture over this number of draws of the curvature.
const curvatureDraws = 150

// sharedMargins is the number of consecutive draws of the curvature that use the same draw of the
// margins (see [mixture.widen]).
const sharedMargins = 5

// A curvatureDrawer draws curvatures at the point of a released one. L defines its units, and U
// holds the eigenvectors of the guess, as in [update].
type curvatureDrawer struct {
	*State
	*update
	guess  func(random []float64) *mat.TriDense
	seen   *mat.Dense    // transpose of the Cholesky factor of S (see [curvature])
	into   *mat.Dense    // UᵀL⁻¹, with U and L as for [curvatureDrawer]
	out    *mat.Dense    // UᵀLᵀ
	seenAt *mat.SymDense // UᵀKU, which is the released curvature in the basis of eigenvectors
	bend   float64
}

// drawCurvatures returns draws from the posterior of the curvature, at the point of the last
// released curvature r.
func (s *State) drawCurvatures(r *releasedCurvature) []*mat.SymDense {
	u := s.newUpdate(r)
	across := full(u.basis.T())
	d := &curvatureDrawer{
		State: s, update: u, guess: s.guess(r.at), bend: u.bend(),
		seen: transposed(cholesky(s.curvature.seen)), into: times(across, transposed(u.inverse)),
		out: times(across, r.units), seenAt: u.rotated(r.k),
	}
	var draws []*mat.SymDense
	inOrder(curvatureDraws/sharedMargins, d.drawSome, func(_ int, some []*mat.SymDense) { draws = append(draws, some...) })
	return draws
}

// drawSome returns the draws of the curvature that use one draw of the margins, whose number is
// given.
func (c *curvatureDrawer) drawSome(number int) []*mat.SymDense {
	margins := c.normals(2*len(c.columns), "margins", number)
	// root is the Cholesky factor of B S Bᵀ, where BBᵀ is the curvature under the drawn margins, and S
	// is as in [curvature].
	root := triangle(times(c.guess(margins), c.seen))
	a, back := times(c.into, transposed(root)), times(solved(root), c.out) // UᵀA, A⁻¹U
	draws := make([]*mat.SymDense, sharedMargins)
	for i := range draws {
		draws[i] = c.draw(number*sharedMargins+i, root, a, back)
	}
	return draws
}

// draw returns a draw of the curvature by Matheron's rule: X + U(gain ∘ UᵀDU)Uᵀ, where U and the
// gain are those of [update]. X is a draw from the guess. D is the released curvature plus a draw
// of the noise, minus X.
//
// X is A(I + G)Aᵀ in the units of the release, where A is L⁻¹ times root, a root of the curvature
// for drawn margins. a is UᵀA, and back is A⁻¹U. The draw is made positive in units of AAᵀ
// ([positive]).
func (c *curvatureDrawer) draw(n int, root *mat.TriDense, a, back *mat.Dense) *mat.SymDense {
	d := c.Dim()
	z := c.normals(2*packedSize(d)+classes-1, "curvatures", n)
	var v [classes]float64
	for class := range v {
		at := 0
		if class > 0 {
			at = len(z) - class
		}
		v[class] = c.spread(class, special.Phi(z[at]))
	}
	y, noise := unpack(z[1:], d, 1), unpack(z[1+packedSize(d):], d, c.update.sd)
	for i := range d {
		for j := range i + 1 {
			y.SetSym(i, j, math.Sqrt(v[c.class(i, j)])*y.At(i, j))
		}
		y.SetSym(i, i, 1+y.At(i, i))
	}
	surprise := plus(term{1, c.seenAt}, term{1, c.rotated(noise)}, term{-1, congruent(a, y)})
	c.attenuate(surprise, &v)
	y = plus(term{1, y}, term{1, congruent(back, surprise)})
	return positive(y, root, c.bend, c.normals(d, "hidden", n), c.block)
}

// inOrder calls compute on all CPU cores, and use(i, compute(i)) in the order of i. If compute
// panics, so does inOrder.
func inOrder[T any](n int, compute func(i int) T, use func(i int, result T)) {
	workers := runtime.GOMAXPROCS(0)
	results, panics := make([]T, workers), make([]any, workers)
	for from := 0; from < n; from += workers {
		some := min(workers, n-from)
		var group sync.WaitGroup
		for w := range some {
			group.Go(func() {
				defer func() { panics[w] = recover() }()
				results[w] = compute(from + w)
			})
		}
		group.Wait()
		for w := range some {
			if panics[w] != nil {
				panic(panics[w])
			}
			use(from+w, results[w])
		}
	}
}
