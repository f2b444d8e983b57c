package ir

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// Names are the names of the elements of a column or of a parameter, in order. They are immutable.
// A program may have a million names. To save memory, parameters whose elements have similar names
// share one list. Each name is the prefix front followed by a string of the list.
type Names struct {
	front string
	list  *list // names without the prefix; nil if there are no names
}

// A list holds the concatenation of all its strings, and the position at which each string ends.
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
	// cloning drops unused capacity
	return Names{list: &list{strings.Clone(text.String()), slices.Clone(ends)}}
}

// After returns the names of n with front before each name. The result shares its list with n.
func (n Names) After(front string) Names { return Names{front + n.front, n.list} }

// Len returns the number of names.
func (n Names) Len() int {
	if n.list == nil {
		return 0
	}
	return len(n.list.ends)
}

// At returns name i, counted from 0. It panics if i is out of range.
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

// check returns an error if a name is empty, invalid or repeated. An earlier call found no
// repetition in the lists that are in differ. check does not search these lists again: n adds the
// same prefix to all strings of a list, so different strings give different names. owner describes
// the column or parameter that has the names.
func (n Names) check(owner string, differ map[*list]bool) error {
	if n.list == nil {
		return nil
	}
	var seen *index // the names that were checked; nil if the list is known to have no repetition
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

// An index finds a string in a list. Unlike a map, it does not copy the strings.
type index struct {
	list *list
	seed maphash.Seed
	slot []int32 // hash table: each slot has the position of a string in the list, counted from 1, or 0 if the slot is empty
}

func newIndex(l *list) *index {
	return &index{l, maphash.MakeSeed(), make([]int32, 2<<bits.Len(uint(len(l.ends))))} // At least half of the slots stay empty.
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
