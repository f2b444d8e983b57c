package packed

import "math/big"

// naive is a second implementation of the sharing. It uses Lagrange interpolation with math/big,
// and works over any prime field.
type naive struct {
	clients, fewest int
	prime           *big.Int
}

func number(x int) *big.Int { return big.NewInt(int64(x)) }

// constant returns the public constant v_j for j = point. This is the coefficient of f(j) when f(M
// + 1) is interpolated from f(1) to f(M). For a point that belongs to a secret, it returns 1.
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

// coefficient returns the factor of f(x) in Lagrange's formula for f(z), given the values of f at
// the points in from.
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

// word interpolates one word at the point z from words at the points in from.
func (n naive) word(from []int, words []*big.Int, z int) *big.Int {
	sum := new(big.Int)
	for i, x := range from {
		value := new(big.Int).ModInverse(n.constant(x), n.prime)
		value.Mul(value, words[i]).Mul(value, n.coefficient(from, x, z))
		sum.Add(sum, value)
	}
	return sum.Mul(sum, n.constant(z)).Mod(sum, n.prime)
}
