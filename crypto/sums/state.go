package sums

import (
	"errors"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/sums/field"
)

// errState is returned for bytes that are not the state of this client in this federation.
var errState = errors.New("not the state of this client's secure sums: it was changed, or belongs to another study")

// MarshalBinary returns the client's state. It has keys, so the caller must encrypt it.
func (c *Client) MarshalBinary() ([]byte, error) {
	b := appendPlace([]byte{version}, c.place)
	for j := range c.to {
		b = append(append(b, c.to[j][:]...), c.from[j][:]...)
	}
	b = c.Progress.append(b)
	b = append(b, c.salt[:]...)
	for _, flag := range []bool{c.keyed, c.dealt, c.confirmed, c.shared, c.gathered != nil} {
		b = appendFlag(b, flag)
	}
	for _, x := range slices.Concat(c.own, c.gathered) {
		b = wire.AppendUint64(b, x)
	}
	return b, nil
}

// RestoreClient restores the client with the given name from its saved state.
func RestoreClient(f *Federation, name identity.Name, state []byte) (*Client, error) {
	c := &Client{Progress: Progress{federation: f}, place: f.Place(name)}
	r := wire.NewReader(state)
	if r.Uint8() != version || int(r.Uint16()) != c.place || c.place == 0 {
		return nil, errState
	}
	c.to, c.from = make([]key, f.Clients()), make([]key, f.Clients())
	for j := range c.to {
		r.Fixed(c.to[j][:])
		r.Fixed(c.from[j][:])
	}
	c.Progress.read(r)
	r.Fixed(c.salt[:])
	var gathered bool
	for _, flag := range []*bool{&c.keyed, &c.dealt, &c.confirmed, &c.shared, &gathered} {
		*flag = readFlag(r)
	}
	switch {
	case gathered:
		c.gathered = readWords(r, f.words)
	case c.dealt && !c.shared:
		c.own = readWords(r, f.words)
	}
	if !r.Done() {
		return nil, errState
	}
	return c, nil
}

// readWords reads n words, which must be field elements.
func readWords(r *wire.Reader, n int) []uint64 {
	b := r.Take(n * wordSize)
	if b == nil {
		return nil
	}
	words := make([]uint64, n)
	if !getWords(words, b) {
		r.Fail()
	}
	return words
}

func appendFlag(b []byte, flag bool) []byte {
	if flag {
		return append(b, 1)
	}
	return append(b, 0)
}

func readFlag(r *wire.Reader) bool {
	flag := r.Uint8()
	if flag > 1 {
		r.Fail()
	}
	return flag == 1
}

func (p *Progress) append(b []byte) []byte {
	b = append(wire.AppendUint64(b, p.ask), byte(p.step))
	for _, h := range p.hashes() {
		b = append(b, h[:]...)
	}
	b = wire.AppendBytes(b, cutBytes(p.cut))
	for _, v := range p.sum {
		b = wire.AppendUint64(b, field.FromInteger(v))
	}
	return b
}

func (p *Progress) hashes() []*Hash { return []*Hash{&p.plan, &p.model, &p.cutHash, &p.certificate} }

func (p *Progress) read(r *wire.Reader) {
	p.ask, p.step = r.Uint64(), Step(r.Uint8())
	for _, h := range p.hashes() {
		r.Fixed(h[:])
	}
	body := r.Bytes(1 + p.federation.Clients()*dealtSize)
	if p.step > Opened || (p.step == Idle) != (p.ask == 0) {
		r.Fail()
	}
	if p.step >= Confirming {
		var err error
		if p.cut, err = p.federation.parseCut(body); err != nil {
			r.Fail()
		}
	} else if len(body) != 1 || body[0] != version {
		r.Fail()
	}
	if p.step != Opened {
		return
	}
	for _, x := range readWords(r, p.federation.length) {
		p.sum = append(p.sum, field.ToInteger(x))
	}
}
