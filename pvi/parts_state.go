package pvi

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// partsState is what parts have to remember. It holds what must not leave the house.
type partsState struct {
	Of       []byte // the part of each record, two bytes each, the lower one first
	Factors  [][]Wide
	Proposed [][]int64
}

// state returns nil before the parts were drawn.
func (c *parts) state() *partsState {
	if !c.dealt {
		return nil
	}
	v := &partsState{Of: make([]byte, 0, 2*len(c.of)), Factors: c.factors, Proposed: c.proposed}
	for _, part := range c.of {
		v.Of = binary.LittleEndian.AppendUint16(v.Of, part)
	}
	return v
}

// restore sets new parts to a state. They must be there if anything was released: other
// parts than those whose factors are remembered would mix what records did.
func (c *parts) restore(v *partsState, released bool) error {
	if (v != nil) != released {
		return errors.New("parts were released and are not there, or are there and were not released")
	}
	if v == nil {
		return nil
	}
	k := c.protocol.study.Inference.Partitions.Count
	if len(v.Of) != 2*c.shard.Len() {
		return errors.New("the parts are of another number of records than the client has: its records must stay the same for the whole study")
	}
	if len(v.Factors) != len(c.factors) || len(v.Proposed) != len(c.proposed) {
		return fmt.Errorf("%d factors and %d proposals of parts, want %d of each", len(v.Factors), len(v.Proposed), len(c.factors))
	}
	of := make([]uint16, c.shard.Len())
	for i := range of {
		if of[i] = binary.LittleEndian.Uint16(v.Of[2*i:]); int(of[i]) >= k {
			return fmt.Errorf("a record is in a part beyond the %d that there are", k)
		}
	}
	size := c.protocol.family.Size()
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
