package packed

import "math/big"

// naive is a second implementation of the scheme, by Lagrange interpolation with math/big over any
// prime field.
type naive struct {
	clients, fewest int
	prime           *big.Int
}

func number(x int) *big.Int { return big.NewInt(int64(x)) }

// constant returns v_j from its definition: the Lagrange coefficient of f(j) in f(M + 1) over the
// points 1 to M. It returns 1 for the point of a secret.
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

// coefficient returns the coefficient of f(x) when f(z) is interpolated from the values of f at the
// points from.
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

// word computes the word of the column or secret at the point z from the words at the points from.
func (n naive) word(from []int, words []*big.Int, z int) *big.Int {
	sum := new(big.Int)
	for i, x := range from {
		value := new(big.Int).ModInverse(n.constant(x), n.prime)
		value.Mul(value, words[i]).Mul(value, n.coefficient(from, x, z))
		sum.Add(sum, value)
	}
	return sum.Mul(sum, n.constant(z)).Mod(sum, n.prime)
}
