package method

import (
	"fmt"

	"fedpvi/pvi/lambda"
)

// Moves implements [Walk] for methods whose opened sums are changes of λ. λ is then a sum of
// integers, and is the same on all machines.
type Moves struct {
	Coordinates *lambda.Coordinates
}

// NewWalk implements [Method].
func (m Moves) NewWalk() Walk { return m }

// Step implements [Walk].
func (m Moves) Step(_, _ int, alpha int64, sum, centre []int64) Move {
	return &change{m.Coordinates, sum, centre, alpha}
}

// Begin implements [Walk].
func (m Moves) Begin() []Move { return []Move{stay{}} }

// End implements [Walk].
func (m Moves) End() []Move { return nil }

// Exact implements [Method].
func (m Moves) Exact() bool { return true }

// Save implements [Walk].
func (m Moves) Save() []byte { return nil }

// Restore implements [Walk].
func (m Moves) Restore(to []lambda.Wide, saved []byte, _ bool) ([]Move, error) {
	if len(saved) > 0 {
		return nil, fmt.Errorf("bytes of a descent: %d is not between 0 and 0", len(saved))
	}
	return []Move{NewMove(to, func() {})}, nil
}

// A change adds alpha times a sum to λ. The arithmetic is exact, so Back does not need a copy of
// the old λ.
type change struct {
	in          *lambda.Coordinates
	sum, centre []int64
	alpha       int64
}

func (c *change) To(at []lambda.Wide) []lambda.Wide {
	c.in.Move(at, c.sum, c.alpha, c.centre)
	return at
}

func (c *change) Back(at []lambda.Wide) []lambda.Wide {
	c.in.Move(at, c.sum, -c.alpha, c.centre)
	return at
}

func (*change) Commit() {}

// stay is the [Move] that leaves λ unchanged.
type stay struct{}

func (stay) To(at []lambda.Wide) []lambda.Wide   { return at }
func (stay) Back(at []lambda.Wide) []lambda.Wide { return at }
func (stay) Commit()                             {}

type replacement struct {
	to, from []lambda.Wide
	commit   func()
}

// NewMove returns a [Move] that replaces λ by to. Its Commit calls commit, which sets the [Walk] to
// the state with this λ.
func NewMove(to []lambda.Wide, commit func()) Move { return &replacement{to: to, commit: commit} }

func (r *replacement) To(at []lambda.Wide) []lambda.Wide {
	r.from = at
	return r.to
}

func (r *replacement) Back([]lambda.Wide) []lambda.Wide { return r.from }

func (r *replacement) Commit() { r.commit() }
