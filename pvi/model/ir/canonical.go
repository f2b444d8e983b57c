package ir

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// Version is the version number of the canonical form.
const Version = 1

// Bytes returns the canonical form of the program. Two programs are equal if and only if their
// bytes are. Integers and floats take 8 bytes, big-endian. Strings and lists are preceded by their
// length.
func (p *Program) Bytes() []byte {
	w := writer("fedpvi record program")
	w.ints(Version)
	w.text(p.Name)
	w.ints(len(p.Columns))
	for _, c := range p.Columns {
		w.text(c.Name)
		w.names(c.Entries)
		w.floats(c.Lower, c.Upper)
		w.flag(c.Integer)
	}
	w.ints(len(p.Parameters))
	for _, q := range p.Parameters {
		w.text(q.Name)
		w.ints(q.Rows, q.Cols, int(q.Constraint.Kind))
		w.floats(q.Constraint.Lower, q.Constraint.Upper)
		w.names(q.Entries)
	}
	w.ints(len(p.Nodes))
	for _, n := range p.Nodes {
		w.ints(int(n.Op), n.Ref, n.Rows, n.Cols, len(n.Args))
		w.ints(n.Args...)
		w.ints(len(n.Values))
		w.floats(n.Values...)
	}
	w.ints(p.Likelihood, len(p.Priors))
	for _, q := range p.Priors {
		w.ints(q.Parameter, int(q.Density), len(q.Args))
		w.ints(q.Args...)
	}
	w.ints(int(p.Prediction.Kind), p.Prediction.Node, p.Prediction.Outcome)
	if len(p.Factors) > 0 {
		w.ints(p.Factors...)
	}
	if len(p.Generated) > 0 {
		w.ints(-1) // −1 separates the generated quantities from the factors
		w.ints(p.Generated...)
	}
	return w
}

// Digest returns the SHA-256 of the canonical form.
func (p *Program) Digest() [sha256.Size]byte { return sha256.Sum256(p.Bytes()) }

type writer []byte

func (w *writer) ints(values ...int) {
	for _, x := range values {
		*w = binary.BigEndian.AppendUint64(*w, uint64(x))
	}
}

func (w *writer) floats(values ...float64) {
	for _, x := range values {
		*w = binary.BigEndian.AppendUint64(*w, math.Float64bits(x))
	}
}

func (w *writer) flag(b bool) {
	x := 0
	if b {
		x = 1
	}
	w.ints(x)
}

func (w *writer) text(s string) {
	w.ints(len(s))
	*w = append(*w, s...)
}

func (w *writer) names(n Names) {
	w.ints(n.Len())
	for s := range n.All() {
		w.text(s)
	}
}
