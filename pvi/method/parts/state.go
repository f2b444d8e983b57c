package parts

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
)

// A state is the saved state of the parts. It must not leave the client.
type state struct {
	Of       []byte // part of each record or person in two bytes, low byte first
	Factors  [][]lambda.Wide
	Proposed [][]int64
}

// Save implements [method.Client]. Before the first release there are no parts.
func (c *client) Save(m *method.Memory) {
	c.own.Save(m)
	m.Spent = c.spent
	if !c.dealt {
		return
	}
	v := state{Of: make([]byte, 0, 2*len(c.of)), Factors: c.factors, Proposed: c.proposed}
	for _, part := range c.of {
		v.Of = binary.LittleEndian.AppendUint16(v.Of, part)
	}
	var err error
	if m.Parts, err = json.Marshal(v); err != nil {
		panic("parts: " + err.Error()) // unreachable: bytes and integers always marshal
	}
}

func (c *client) Check(m *method.Memory, answered int) error {
	most := min(c.method.Releases(), answered)
	return errors.Join(c.own.Check(m), method.CheckSpent(m.Spent, most, 0, answered > 0))
}

// Restore refuses a state that has releases but no parts. If records were divided again, a stored
// factor would depend on records of two parts.
func (c *client) Restore(m *method.Memory) error {
	if (m.Parts != nil) != (m.Spent.Changes > 0) {
		return errors.New("parts were released and are not there, or are there and were not released")
	}
	if m.Parts != nil {
		if err := c.restoreParts(m.Parts); err != nil {
			return err
		}
	}
	c.spent = m.Spent
	c.own.Restore(m)
	return nil
}

func (c *client) restoreParts(saved []byte) error {
	var v state
	d := json.NewDecoder(bytes.NewReader(saved))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("the parts cannot be read: %w", err)
	}
	if len(v.Of) != 2*c.shard.Units() {
		return errors.New("the parts are for a different number of records than the client has: its records must stay the same for the whole study")
	}
	if len(v.Factors) != len(c.factors) || len(v.Proposed) != len(c.proposed) {
		return fmt.Errorf("%d factors and %d proposals of parts, want %d of each", len(v.Factors), len(v.Proposed), len(c.factors))
	}
	of := make([]uint16, c.shard.Units())
	for i := range of {
		if of[i] = binary.LittleEndian.Uint16(v.Of[2*i:]); int(of[i]) >= c.method.count() {
			return fmt.Errorf("a record is in a part beyond the %d that there are", c.method.count())
		}
	}
	size := c.method.Family.Size()
	for i := range v.Factors {
		if len(v.Factors[i]) != size || len(v.Proposed[i]) != size {
			return fmt.Errorf("factor and proposal of part %d have %d and %d elements, want %d", i+1, len(v.Factors[i]), len(v.Proposed[i]), size)
		}
	}
	c.of, c.dealt, c.solvers = of, true, nil
	for i := range v.Factors {
		copy(c.factors[i], v.Factors[i])
		copy(c.proposed[i], v.Proposed[i])
	}
	return nil
}
