package ir

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// Names are of the elements of a column or of a parameter, in order. They do not change. There may be a million, of
// parameters whose elements are alike: these have one list, and each its own word in front of it.
type Names struct {
	front string
	list  *list // nil if there are none
}

// A list is text, and where each name ends in it.
type list struct {
	text string
	ends []int
}

// NamesOf returns the names given.
func NamesOf(names ...string) Names { return CollectNames(slices.Values(names)) }

// CollectNames returns the names of a sequence.
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
	return Names{list: &list{strings.Clone(text.String()), slices.Clone(ends)}} // without the room to grow
}

// After returns the names with front before each. Both share what they have in common.
func (n Names) After(front string) Names { return Names{front + n.front, n.list} }

// Len returns how many there are.
func (n Names) Len() int {
	if n.list == nil {
		return 0
	}
	return len(n.list.ends)
}

// At returns name i, from 0. It panics if there is none.
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

// check refuses a name that is none, or that is given twice. Names of a list that was found to differ
// still do behind another word.
func (n Names) check(what string, differ map[*list]bool) error {
	if n.list == nil {
		return nil
	}
	var seen *index // nil if they differ
	if !differ[n.list] {
		seen = newIndex(n.list)
	}
	for i := range n.Len() {
		if err := name(what, n.front+n.list.at(i)); err != nil {
			return err
		}
		if seen != nil && !seen.add(i) {
			return fmt.Errorf("the name %q is given twice", n.At(i))
		}
	}
	differ[n.list] = true
	return nil
}

// An index finds a name in a list, of which it has no copy as a map would.
type index struct {
	list *list
	seed maphash.Seed
	slot []int32 // numbers of names, from 1, at their hash or as soon as possible behind it; 0 for none
}

func newIndex(l *list) *index {
	return &index{l, maphash.MakeSeed(), make([]int32, 2<<bits.Len(uint(len(l.ends))))} // half of it stays empty
}

// add adds name i, and reports whether it is new.
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
