package pvi

import "fedpvi/pvi/lambda"

// MessageSize returns the number of elements of a client's release in the rounds, which is also
// that of an outcome's sum.
func (p *Protocol) MessageSize() int { return p.messages.Size }

// A Wide is a 128-bit integer: an element of λ, in units of the lattice.
type Wide = lambda.Wide

// Fewest returns the smallest number of answers with which a round is not void: one if every plan
// has one client, and otherwise [Protocol.MinClients].
func (p *Protocol) Fewest() int { return p.fewest() }
