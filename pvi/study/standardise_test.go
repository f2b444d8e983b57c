package study_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/pvi/study"
)

func found(table string) string {
	return edit(edit(good, "noise_sd", "standardise = \"private\"\nnoise_sd"), "[inference]", "[standardise]\n"+table+"\n[inference]")
}

func TestStandardisation(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         *study.Standardisation
	}{
		{"not asked for", good, nil},
		{"defaults", edit(good, "noise_sd", "standardise = \"private\"\nnoise_sd"), &study.Standardisation{Columns: []int{1, 4}, Rounds: 3, SDs: 4, Share: 0.1}},
		{"settings", found("columns = [\"pressure\"]\nrounds = 2\nsds = 3.5\nbudget_share = 0.25"), &study.Standardisation{Columns: []int{4}, Rounds: 2, SDs: 3.5, Share: 0.25}},
		{
			"given noise", edit(found("noise_multiplier = 7"), "epsilon = 2.0", "noise_multiplier = 3.0"),
			&study.Standardisation{Columns: []int{1, 4}, Rounds: 3, SDs: 4, NoiseMultiplier: 7},
		},
	} {
		if diff := cmp.Diff(c.want, parse(t, c.source).Standardisation); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestStandardisationErrors(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"unasked", edit(good, "[inference]", "[standardise]\nrounds = 2\n[inference]"), `standardise: is used only with model.standardise = "private"`},
		{"how", edit(good, "noise_sd", "standardise = \"privat\"\nnoise_sd"), `did you mean "private"?`},
		{"undeclared", found(`columns = ["pulse"]`), `column "pulse" is not declared`},
		{"categorical", found(`columns = ["sex"]`), `column "sex" is categorical: only numeric columns`},
		{"ordered", found(`columns = ["stage"]`), `column "stage" is ordered`},
		{"twice", found(`columns = ["age", "age"]`), `column "age" is named twice`},
		{"none", found(`columns = []`), "names no column"},
		{"unused", edit(found(`columns = ["age"]`), `"age*sex", `, `"sex", `), `column "age" is not in the model`},
		{"rounds", found("rounds = 0"), "standardise.rounds: must lie between 1 and 20"},
		{"sds", found("sds = 0.5"), "standardise.sds: must lie between 1 and 100"},
		{"share", found("budget_share = 1"), "standardise.budget_share: must lie in (0, 1)"},
		{"noise with a target", found("noise_multiplier = 3"), "follows from privacy.epsilon and budget_share"},
		{"share without a target", edit(found("budget_share = 0.3"), "epsilon = 2.0", "noise_multiplier = 3.0"), "there is no budget to share"},
		{"no noise", edit(found(""), "epsilon = 2.0", "noise_multiplier = 3.0"), "standardise.noise_multiplier: is missing"},
		{"negative noise", edit(found("noise_multiplier = -1"), "epsilon = 2.0", "noise_multiplier = 3.0"), "must be positive"},
		{"a promise of nothing", edit(edit(edit(found("budget_share = 0.3"), `unit = "client"`, `unit = "none"`), "epsilon = 2.0", ""), "delta = 1e-5", ""), `budget_share: has no meaning with privacy.unit = "none"`},
		{"unknown", found("share = 0.3"), "standardise.share: unknown key"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, c.source, c.want) })
	}
}

// Bounds from a standardisation affect only how values are scaled for the model. Values beyond them
// are moved to the nearest bound.
func TestWithScale(t *testing.T) {
	s := parse(t, found(""))
	if s.HasScale() || !parse(t, good).HasScale() {
		t.Error("a study that asks for a scale has one, or one that does not has none")
	}
	public := []study.Bounds{{Low: 20, High: 100}, {Low: 80, High: 240}}
	if diff := cmp.Diff(public, s.PublicScale()); diff != "" {
		t.Errorf("public scale (-want +got):\n%s", diff)
	}
	bounds := []study.Bounds{{Low: 40, High: 60}, {Low: 100, High: 150}}
	scaled, err := s.WithScale(bounds)
	if err != nil {
		t.Fatal(err)
	}
	if !scaled.HasScale() || s.HasScale() {
		t.Error("the scale is not where it was put")
	}
	if diff := cmp.Diff(bounds, scaled.Scales()); diff != "" {
		t.Errorf("scale (-want +got):\n%s", diff)
	}
	age, _ := scaled.Column("age")
	for value, want := range map[float64]float64{20: -1, 40: -1, 50: 0, 55: .5, 60: 1, 99: 1} {
		if got := scaled.Scale(age, value); got != want {
			t.Errorf("age %g is scaled to %g, want %g", value, got, want)
		}
	}
	if age.Low != 20 || age.High != 100 || scaled.OutcomeUnit() != 25 || scaled.OutcomeBound() != 1 || s.OutcomeUnit() != 80 {
		t.Errorf("the scale moved the bounds, or not the unit: %+v, %g", age, scaled.OutcomeUnit())
	}
	for _, bad := range [][]study.Bounds{
		nil,
		bounds[:1],
		{{Low: 19, High: 60}, bounds[1]},
		{{Low: 40, High: 101}, bounds[1]},
		{{Low: 60, High: 60}, bounds[1]},
		{{Low: math.NaN(), High: 60}, bounds[1]},
	} {
		if _, err := s.WithScale(bad); err == nil {
			t.Errorf("scale %v is accepted", bad)
		}
	}
}
