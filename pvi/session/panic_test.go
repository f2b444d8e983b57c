package session

import (
	"reflect"
	"strings"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

type faulty struct{ sitePhase }

func (faulty) answer(a *Answer, _ []byte, _ *dpmech.Stream) error {
	a.Release, a.Spent = []byte{1}, nil
	panic("the record 424242")
}

// If the code that recovers from panics in the computation for single records does not catch a
// panic, the answer fails. The error then says where in the code it happened, but contains no
// value. The client pays the whole quote, does not answer the plan, and goes on with the study.
//
//abuse:case A13 a panic while a plan is answered is charged, and the error has no value
func TestPanicIsCharged(t *testing.T) {
	h := newHouse(t, planeStudy(t, recordPrivacy, steps, ""), 2)
	h.next()
	site := h.sites[0]
	quote, err := site.Quote()
	check(t, err)
	last := len(site.phases) - 1
	site.phases[last] = faulty{site.phases[last]}
	a, err := site.Answer(seeded.Stream(1, "panic"))
	if err == nil || strings.Contains(err.Error(), "424242") || !strings.Contains(err.Error(), "faulty.answer") {
		t.Errorf("the error is %v", err)
	}
	if a.Release != nil || !reflect.DeepEqual(a.Spent, quote) || len(quote) == 0 {
		t.Errorf("the answer is %v and costs %v, quoted %v", a.Release, a.Spent, quote)
	}
	if _, ok := site.Pending(); ok {
		t.Error("the plan can be answered again")
	}
	if _, err := site.MarshalBinary(); err != nil {
		t.Error(err)
	}
}
