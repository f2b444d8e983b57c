package words_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/words"
)

// A table that has only ratios has no column for standard deviations. A mixed table has standard
// deviations for the other numbers.
func TestRatios(t *testing.T) {
	ratio := fit.Natural{Mean: 0, SD: .25, Low: 0, High: 0, Unit: "log odds", Ratio: "odds ratio"}
	other := fit.Natural{Mean: 3, SD: .5, Low: 2, High: 4, Unit: "mmHg"}
	for _, c := range []struct {
		of   []fit.Natural
		want []string
	}{
		{[]fit.Natural{ratio, ratio}, []string{"unit ratio 2.5 % 97.5 %", "a odds ratio 1 1 1", "b odds ratio 1 1 1"}},
		{[]fit.Natural{ratio, other}, []string{"unit mean or ratio sd 2.5 % 97.5 %", "a odds ratio 1 1 1", "b mmHg 3 0.5 2 4"}},
	} {
		var b strings.Builder
		if err := words.Natural(&b, []string{"a", "b"}, c.of, nil, true); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		says(t, strings.Join(got, "\n"), c.want, "")
	}
	var b strings.Builder
	if err := words.Natural(&b, []string{"a"}, []fit.Natural{ratio}, []fit.Natural{ratio}, true); err != nil {
		t.Fatal(err)
	}
	says(t, strings.Join(strings.Fields(b.String()), " "), []string{"unit ratio 2.5 % 97.5 % │ ratio 2.5 % 97.5 %", "a odds ratio 1 1 1 │ 1 1 1"}, "sd")
}
