// Package packed shares vectors of field elements among the clients of a study. It implements
// packed Shamir sharing (Franklin and Yung, STOC 1992) in a form that spares a dealer from sending
// all columns.
//
// Clients have places from 1 to Clients. A dealer splits its vector into Packed secrets of n words
// each. For each word number i there is a polynomial f of degree below Fewest, and word i of secret
// a is f(Clients + a). Word i of the holder at place j is v_j·f(j), where v_j is a public constant
// other than zero. A holder's n words are its column. Any Fewest columns determine the secrets. Any
// Hidden columns are independent of the secrets.
//
// A dealer is also a holder. For Hidden other holders, the column is random, and the holder can
// compute it from a key. Together with the secrets, these columns determine the polynomials. The
// dealer sends the columns of the remaining 2·Missing holders, and keeps its own.
//
// If no client may be missing, the constants v_j are such that the secret is the sum of all
// columns. The scheme is then that of pairwise masks, and a dealer sends no columns.
package packed

import (
	"errors"
	"fmt"

	"fedpvi/crypto/sums/field"
)

// MaxClients is the maximum number of clients.
const MaxClients = 1023

// A Scheme has the number of clients, the number of them that can open a sum, and constants that
// follow from these two.
type Scheme struct {
	Clients int
	Fewest  int // U_min, the number of columns that determine the secrets

	inverse []uint64 // inverse[x] is 1/x, for x from 1 to Clients + Packed
	// v[j] is the public constant v_j, by which the words of the holder at place j are multiplied.
	// over[j] is 1/v_j. Both are 1 at points that belong to secrets.
	v, over []uint64
}

// New returns the scheme for the given number of clients, if fewest of them can open a sum. It
// returns an error if a single client's column would reveal part of a vector.
func New(clients, fewest int) (*Scheme, error) {
	if clients < 2 || clients > MaxClients || fewest > clients {
		return nil, fmt.Errorf("%d clients, of which %d are needed to open a sum: there must be 2 to %d clients, and no more can be needed than there are", clients, fewest, MaxClients)
	}
	s := &Scheme{Clients: clients, Fewest: fewest}
	if s.Hidden() < 1 {
		return nil, errors.New("one client's share of another client's vector would be a function of that vector: at least clients/2 + 1 of the clients must be needed to open a sum")
	}
	points := clients + s.Packed() + 1
	s.inverse, s.v, s.over = make([]uint64, points), make([]uint64, points), make([]uint64, points)
	s.inverse[1] = 1
	for x := uint64(2); x < uint64(points); x++ {
		// Since P = (P/x)·x + P mod x, 1/x is −(P/x)/(P mod x) modulo P.
		s.inverse[x] = field.Mul(field.P-field.P/x, s.inverse[field.P%x])
	}
	s.constants()
	return s, nil
}

// constants computes v_j = (−1)^(M−j)·binomial(M, j − 1), where M is the number of clients. If a
// polynomial f has degree below M, v_j is the coefficient of f(j) in f(M + 1).
func (s *Scheme) constants() {
	v, over := uint64(1), uint64(1)
	for j := range s.v {
		switch {
		case j == 0:
			continue
		case j > s.Clients:
			s.v[j], s.over[j] = 1, 1
			continue
		case (s.Clients-j)%2 == 0:
			s.v[j], s.over[j] = v, over
		default:
			s.v[j], s.over[j] = field.Sub(0, v), field.Sub(0, over)
		}
		left := s.Clients - j + 1
		v = field.Mul(field.Mul(v, uint64(left)), s.inverse[j])
		over = field.Mul(field.Mul(over, uint64(j)), s.inverse[left])
	}
}

// Missing returns how many clients may be missing.
func (s *Scheme) Missing() int { return s.Clients - s.Fewest }

// Hidden returns h, the largest number of columns that together reveal nothing about the secrets.
func (s *Scheme) Hidden() int { return s.Fewest - s.Packed() }

// Packed returns the number of secrets in one polynomial.
func (s *Scheme) Packed() int { return s.Missing() + 1 }

// Sent returns how many columns a dealer sends.
func (s *Scheme) Sent() int { return 2 * s.Missing() }

// Words returns how many words a column has for vectors of the given length.
func (s *Scheme) Words(length int) int { return (length + s.Packed() - 1) / s.Packed() }

// Offset returns the position of a holder's column in a dealer's deal, from 0. The dealer sends the
// columns 0 to Sent − 1. The others are computed from keys by their holders, except for the last,
// which is the dealer's own.
func (s *Scheme) Offset(dealer, holder int) int {
	return (holder - dealer - 1 + s.Clients) % s.Clients
}

// Holder returns the holder whose column has the given offset in a dealer's deal.
func (s *Scheme) Holder(dealer, offset int) int { return (dealer+offset)%s.Clients + 1 }

// Dealing returns the matrix by which a dealer computes the columns that it cannot choose freely.
// The inputs are first the secrets, and then the columns that holders compute from keys. The
// outputs are first the columns that the dealer sends, and then its own. Columns are in the order
// of their offsets.
func (s *Scheme) Dealing(dealer int) Matrix {
	from, to := s.secrets(), []int(nil)
	for offset := range s.Clients - 1 {
		if offset < s.Sent() {
			to = append(to, s.Holder(dealer, offset))
		} else {
			from = append(from, s.Holder(dealer, offset))
		}
	}
	return s.interpolate(from, append(to, dealer))
}

// Opening returns the matrix that computes the secrets from the columns of Fewest holders, which
// are in increasing order.
func (s *Scheme) Opening(holders []int) Matrix { return s.interpolate(holders, s.secrets()) }

// Agreeing returns the matrix that computes the columns of others from those of Fewest holders. If
// an actual column is different, the columns do not belong to the same polynomials.
func (s *Scheme) Agreeing(holders, others []int) Matrix { return s.interpolate(holders, others) }

// secrets returns the points at which the polynomials take the secrets as values. For secret a,
// counted from 1, the point is Clients + a.
func (s *Scheme) secrets() []int {
	points := make([]int, s.Packed())
	for a := range points {
		points[a] = s.Clients + 1 + a
	}
	return points
}

// reciprocal returns 1/(a − b) for two different points a and b.
func (s *Scheme) reciprocal(a, b int) uint64 {
	if a < b {
		return field.Sub(0, s.inverse[b-a])
	}
	return s.inverse[a-b]
}

// interpolate returns a matrix that applies Lagrange's formula: it computes the values of
// polynomials f at the points in wanted from those at the points in known. The two must have no
// point in common. If a point is the place j of a holder, the value is v_j·f(j) instead of f(j).
func (s *Scheme) interpolate(known, wanted []int) Matrix {
	// According to Lagrange's formula, the coefficient of f(x) in f(z) is
	//
	//	Π_y(z − y) / ((z − x)·Π_{y≠x}(x − y)),
	//
	// where y runs over the known points. This coefficient is multiplied by v_z and divided by v_x.
	scale := make([]uint64, len(known)) // 1/(v_x·Π(x − y))
	for i, x := range known {
		scale[i] = s.over[x]
		for _, y := range known {
			if y != x {
				scale[i] = field.Mul(scale[i], s.reciprocal(x, y))
			}
		}
	}
	m := make(Matrix, len(wanted))
	for r, z := range wanted {
		whole := s.v[z]
		for _, y := range known {
			whole = field.Mul(whole, field.FromInteger(int64(z-y)))
		}
		m[r] = make([]uint64, len(known))
		for i, x := range known {
			m[r][i] = field.Mul(field.Mul(whole, scale[i]), s.reciprocal(z, x))
		}
	}
	return m
}
