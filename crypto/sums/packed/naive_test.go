package packed

import "math/big"

// naive is a second implementation of the sharing in this package, against which the tests compare
// the first one. It uses Lagrange interpolation with math/big, over any prime field.
type naive struct {
	clients, fewest int
	prime           *big.Int
}

func number(x int) *big.Int { return big.NewInt(int64(x)) }

// constant returns the public constant v_j for the place j = point, computed from its definition:
// if f(M + 1) is interpolated from f(1) to f(M), where M is the number of clients, v_j is the
// coefficient of f(j). It returns 1 for the point of a secret.
func (n naive) constant(point int) *big.Int {
	if point > n.clients {
		return number(1)
	}
	all := make([]int, n.clients)
	for i := range all {
		all[i] = i + 1
	}
	return n.coefficient(all, point, n.clients+1)
}

// coefficient returns the factor of f(x) in Lagrange's formula for f(z), where f is interpolated
// from its values at the points from.
func (n naive) coefficient(from []int, x, z int) *big.Int {
	top, bottom := number(1), number(1)
	for _, y := range from {
		if y != x {
			top.Mul(top, number(z-y))
			bottom.Mul(bottom, number(x-y))
		}
	}
	bottom.Mod(bottom, n.prime).ModInverse(bottom, n.prime)
	return top.Mul(top, bottom).Mod(top, n.prime)
}

// word interpolates one word of a column or secret at the point z. words holds the words of the
// columns or secrets at the points from.
func (n naive) word(from []int, words []*big.Int, z int) *big.Int {
	sum := new(big.Int)
	for i, x := range from {
		value := new(big.Int).ModInverse(n.constant(x), n.prime)
		value.Mul(value, words[i]).Mul(value, n.coefficient(from, x, z))
		sum.Add(sum, value)
	}
	return sum.Mul(sum, n.constant(z)).Mod(sum, n.prime)
}
