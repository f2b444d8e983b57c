package audit

import (
	"context"
	"reflect"
	"slices"
	"testing"
)

// check fails the test if err is not nil. It calls Helper, which is slow, only for an error.
func check(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

//abuse:case P19 the optimal attack on every mechanism stays within its stated privacy
func TestAuditHasNoFindings(t *testing.T) {
	a, err := New()
	check(t, err)
	runs := 120
	if testing.Short() {
		runs = 10
	}
	last := 0
	r, err := a.Run(context.Background(), Options{Seed: 7, Runs: runs, Workers: 3, Progress: func(done, of int, _ Check) {
		if done != last+1 || of != a.checks() {
			t.Errorf("progress went from %d to %d of %d", last, done, of)
		}
		last = done
	}})
	check(t, err)
	for _, c := range r.Findings() {
		t.Errorf("%s, %s: %s", c.Case, c.Name, c.Detail)
	}
	if len(r.Checks) != a.checks() || !r.Passed {
		t.Errorf("%d of %d checks, passed %t", len(r.Checks), a.checks(), r.Passed)
	}

	// The report must not depend on the number of goroutines.
	part := &Auditor{}
	for i := 0; i < len(a.questions); i += 6 {
		part.questions = append(part.questions, a.questions[i])
	}
	var reports []*Report
	for _, workers := range []int{1, 3} {
		r, err := part.Run(context.Background(), Options{Seed: 8, Runs: runs, Workers: workers})
		check(t, err)
		reports = append(reports, r)
	}
	if !reflect.DeepEqual(reports[0], reports[1]) {
		t.Error("two audits with one seed differ")
	}
}

// With Ahead, the checks of one case must run first, and the report must still list all checks in
// the usual order.
func TestOneCaseComesFirst(t *testing.T) {
	var ran []string
	ask := func(about string) question {
		return single(about, "ran", func(context.Context, task) (Check, error) {
			ran = append(ran, about)
			return certain(true, ""), nil
		})
	}
	a := &Auditor{[]question{ask("a"), ask("b"), ask("c"), ask("b")}}
	for ahead, want := range map[string][]string{"": {"a", "b", "c", "b"}, "b": {"b", "b", "a", "c"}, "unknown": {"a", "b", "c", "b"}} {
		ran = nil
		r, err := a.Run(context.Background(), Options{Ahead: ahead})
		check(t, err)
		if !slices.Equal(ran, want) || len(r.Checks) != 4 || r.Checks[1].Case != "b" || r.Checks[2].Case != "c" {
			t.Errorf("%q first: ran %v, reported %v", ahead, ran, r.Checks)
		}
	}
}

// failures asks the questions and describes the checks that fail.
func failures(t *testing.T, each task, questions ...question) (found []string) {
	t.Helper()
	for _, q := range questions {
		checks, err := q.answer(context.Background(), each)
		check(t, err)
		for _, c := range checks {
			if !c.Passed {
				found = append(found, c.Name+": "+c.Detail)
			}
		}
	}
	return found
}

func TestAuditStops(t *testing.T) {
	fails := single("a", "fails", func(context.Context, task) (Check, error) { return certain(false, "no"), nil })
	never := single("a", "never", func(ctx context.Context, _ task) (Check, error) { return Check{}, ctx.Err() })
	a := &Auditor{[]question{fails, never, never}}
	r, err := a.Run(context.Background(), Options{First: true})
	check(t, err)
	if len(r.Checks) != 1 || r.Passed || r.Checks[0].Name != "fails" {
		t.Errorf("%+v", r)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := (&Auditor{[]question{never}}).Run(ctx, Options{}); err == nil {
		t.Error("an audit that was interrupted gives no error")
	}
}
