package ir

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Names with a prefix must behave like a plain list of the full names. check must return the same
// error as naive, which stores the names in a map.
func TestNamesAreTheirList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := map[bool]int{}
	for range 3000 {
		given := make([]string, r.IntN(40))
		for i := range given {
			given[i] = strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(30))
			if r.IntN(200) == 0 {
				given[i] += []string{"\n", "\xff", strings.Repeat("é", 130)}[r.IntN(3)]
			}
		}
		plain, differ := NamesOf(given...), map[*list]bool{}
		for _, front := range []string{"", "y|", "\xc3", strings.Repeat("long", 60)} {
			var want []string
			for _, s := range given {
				want = append(want, front+s)
			}
			n := plain.After(front)
			if got := slices.Collect(n.All()); n.Len() != len(want) || !slices.Equal(got, want) {
				t.Fatalf("%q are %q", want, got)
			}
			is, ought := fmt.Sprint(n.check("element", differ)), fmt.Sprint(naive(want))
			if is != ought {
				t.Fatalf("%q: %s, not %s", want, is, ought)
			}
			found[ought == "<nil>"]++
		}
	}
	if found[true] < 100 || found[false] < 100 {
		t.Errorf("%d lists are right and %d wrong", found[true], found[false])
	}
}

func naive(names []string) error {
	seen := map[string]bool{}
	for _, s := range names {
		if err := once("element", s, seen); err != nil {
			return err
		}
	}
	return nil
}

// check finds the one name that occurs twice among very many.
func TestANameTwiceAmongMany(t *testing.T) {
	numbers := func(yield func(string) bool) {
		for i := range MaxEntries - 1 {
			if !yield(fmt.Sprint(i)) {
				return
			}
		}
	}
	if err := CollectNames(numbers).check("entry", map[*list]bool{}); err != nil {
		t.Error(err)
	}
	err := CollectNames(func(yield func(string) bool) {
		numbers(yield)
		yield("41")
	}).check("entry", map[*list]bool{})
	if err == nil || err.Error() != `the name "41" is given twice` {
		t.Errorf("check did not report that the name 41 occurs twice: %v", err)
	}
}
