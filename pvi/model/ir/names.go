package ir

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// Names holds the names of a column's or parameter's elements. Names are immutable. Because there
// may be a million of them, parameters whose names differ only in a prefix share one list of
// strings, and keep the prefix in front.
type Names struct {
	front string
	list  *list // the names without their prefix; nil if there are none
}

// A list stores strings one after the other in one text, together with the positions where they
// end.
type list struct {
	text string
	ends []int
}

// NamesOf returns the given names.
func NamesOf(names ...string) Names { return CollectNames(slices.Values(names)) }

// CollectNames returns the names that a sequence yields, in order.
func CollectNames(names iter.Seq[string]) Names {
	var text strings.Builder
	var ends []int
	for s := range names {
		text.WriteString(s)
		ends = append(ends, text.Len())
	}
	if ends == nil {
		return Names{}
	}
	// copied to free unused capacity
	return Names{list: &list{strings.Clone(text.String()), slices.Clone(ends)}}
}

// After returns the names of n, each preceded by front. The result shares its list with n.
func (n Names) After(front string) Names { return Names{front + n.front, n.list} }

// Len returns the number of names.
func (n Names) Len() int {
	if n.list == nil {
		return 0
	}
	return len(n.list.ends)
}

// At returns name number i, from 0. It panics if i is out of range.
func (n Names) At(i int) string { return n.front + n.list.at(i) }

// All returns the names in order.
func (n Names) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n.Len() {
			if !yield(n.At(i)) {
				return
			}
		}
	}
}

func (l *list) at(i int) string {
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.text[from:l.ends[i]]
}

// check returns an error if a name is empty, invalid or repeated. differ holds lists that are known
// to have no repetitions. A common prefix cannot create one. owner describes the column or
// parameter in the error.
func (n Names) check(owner string, differ map[*list]bool) error {
	if n.list == nil {
		return nil
	}
	var seen *index // nil if the list is known to have no repetitions
	if !differ[n.list] {
		seen = newIndex(n.list)
	}
	for i := range n.Len() {
		if err := name(owner, n.front+n.list.at(i)); err != nil {
			return err
		}
		if seen != nil && !seen.add(i) {
			return fmt.Errorf("the name %q is given twice", n.At(i))
		}
	}
	differ[n.list] = true
	return nil
}

// An index finds a string in a list. Unlike a map, it does not store a copy of the strings.
type index struct {
	list *list
	seed maphash.Seed
	slot []int32 // hash table with positions in the list, counted from 1; 0 marks an empty slot
}

func newIndex(l *list) *index {
	return &index{l, maphash.MakeSeed(), make([]int32, 2<<bits.Len(uint(len(l.ends))))} // so that at least half of the slots stay empty
}

func (x *index) add(i int) bool {
	name := x.list.at(i)
	last := uint64(len(x.slot) - 1)
	for at := maphash.String(x.seed, name) & last; ; at = (at + 1) & last {
		switch other := x.slot[at]; {
		case other == 0:
			x.slot[at] = int32(i + 1)
			return true
		case x.list.at(int(other-1)) == name:
			return false
		}
	}
}
