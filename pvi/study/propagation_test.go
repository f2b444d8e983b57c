package study

import (
	"strings"
	"testing"
)

const sepSource = `[study]
version = 1
name = "sep"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 1]
[model]
family = "probit"
outcome = "y"
positive = ">= 0.5"
terms = ["x"]
[inference]
rounds = 2
solver = "dp-sep"
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
`

const clusters = `[study]
version = 1
name = "sep"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[model]
family = "mixture"
columns = ["x"]
components = 2
cluster_sd = 0.1
[inference]
rounds = 2
solver = "dp-sep"
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
clip = 8.0
`

var hiddenUnits = strings.Replace(strings.Replace(sepSource, `family = "probit"`, "family = \"neural-network\"\nhidden = 3", 1), "epsilon", "clip = 2.0\nepsilon", 1)

func set(settings ...string) []Override {
	var all []Override
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		all = append(all, Override{Key: key, Value: value})
	}
	return all
}

func TestPropagationIsRead(t *testing.T) {
	s, err := Parse("sep.toml", []byte(sepSource))
	if err != nil {
		t.Fatal(err)
	}
	want := Propagation{StepSize: 1, Recency: 1, Power: 1, PrecisionWeight: 0.5, Contribution: SiteContribution, Sites: MomentSites, Improper: Project, Start: PriorStart}
	got := s.Inference.Propagation
	if got.StartAt != nil || got.StepSize != want.StepSize || got.Recency != want.Recency || got.Power != want.Power || got.PrecisionWeight != want.PrecisionWeight ||
		got.Contribution != want.Contribution || got.Sites != want.Sites || got.Improper != want.Improper || got.Start != want.Start || got.Raw || got.Reseat {
		t.Errorf("defaults are %+v", got)
	}
	if s.Inference.Q != "diagonal" || s.Inference.NoiseAware != ClosedForm || s.Inference.Damping.Alpha != 1 || s.Inference.Factors != Exact {
		t.Errorf("the rest is %+v", s.Inference)
	}
	s, err = Parse("sep.toml", []byte(sepSource), set("inference.q=\"full\"", "inference.sampling=\"random-allocation\"", "inference.sampling_rate=0.25", "inference.steps=8",
		"inference.step_size=0.5", "inference.recency=0.0", "inference.power=0.3", "inference.precision_weight=0.2", "inference.contribution=\"deviation\"",
		"inference.improper=\"reject\"", "inference.start_at.x=0.7", "inference.initial_sd=0.2", "privacy.coordinates=\"raw\"", "federation.nominal_records=100")...)
	if err != nil {
		t.Fatal(err)
	}
	got = s.Inference.Propagation
	if got.StartAt["x"] != 0.7 || got.StepSize != 0.5 || got.Recency != 0 || got.Power != 0.3 || got.PrecisionWeight != 0.2 ||
		got.Contribution != DeviationContribution || got.Improper != Reject || !got.Raw || s.Privacy.Centred {
		t.Errorf("read %+v", got)
	}
	if d := s.Inference.Descent; d.Sampling != AllocatedSampling || d.Rate != 0.25 || d.Steps != 8 || d.InitialSD != 0.2 || s.Inference.Q != "full" {
		t.Errorf("read %+v", d)
	}
	s, err = Parse("sep.toml", []byte(clusters))
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Inference.Propagation; p.Sites != TiedSites || !p.Reseat || p.PrecisionWeight != 1 || s.Model.ClusterSD != 0.1 {
		t.Errorf("defaults of a mixture are %+v", p)
	}
	s, err = Parse("sep.toml", []byte(clusters), set("model.cluster_sd=")...)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Inference.Propagation; p.Sites != MomentSites || p.Reseat || p.PrecisionWeight != learnedWeight {
		t.Errorf("defaults of a mixture that learns its sds are %+v", p)
	}
	s, err = Parse("sep.toml", []byte(hiddenUnits))
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Inference.Propagation; p.Start != DrawnStart || s.Inference.Descent.InitialSD != networkStart {
		t.Errorf("a network starts at %+v", p)
	}
	s, err = Parse("sep.toml", []byte(hiddenUnits), set("inference.start_at.c=0.5")...)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Inference.Propagation; p.Start != PriorStart || p.StartAt["c"] != 0.5 {
		t.Errorf("a network starts at %+v", p)
	}
	s, err = Parse("sep.toml", []byte(sepSource), set("inference.sampling=\"published\"", "privacy.adjacency=\"replace-one\"", "federation.nominal_records=100", "privacy.clip=1.0", "inference.step_size=30.0")...)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Inference.Propagation; !p.Raw || p.PrecisionWeight != 1 || p.StepSize != 30 {
		t.Errorf("the published form is %+v", p)
	}
}

func TestPropagationRefusals(t *testing.T) {
	for _, c := range []struct {
		source   string
		settings []string
		say      string
	}{
		{sepSource, []string{"inference.step_size=1.5"}, "must lie in (0, 1]"},
		{sepSource, []string{"inference.step_size=0.0"}, "must be positive"},
		{sepSource, []string{"inference.recency=-1.0"}, "must lie in [0, 100]"},
		{sepSource, []string{"inference.power=0.0"}, "must lie in (0, 1]"},
		{sepSource, []string{"inference.precision_weight=0.0"}, "must be positive"},
		{sepSource, []string{"inference.contribution=\"deviation\""}, "nominal_records"},
		{sepSource, []string{"inference.contribution=\"gradient\""}, "site"},
		{sepSource, []string{"inference.improper=\"skip\""}, "project"},
		{sepSource, []string{"inference.sampling=\"without-replacement\""}, "random-allocation"},
		{sepSource, []string{"inference.sampling=\"random-allocation\""}, "sampling_rate"},
		{sepSource, []string{"inference.sites=\"tied\""}, "mixture"},
		{sepSource, []string{"inference.reseat=true"}, "mixture"},
		{sepSource, []string{"inference.start=\"draw\"", "inference.start_at.x=1.0"}, "two different starts"},
		{sepSource, []string{"inference.initial_sd=0.1"}, "start_at"},
		{sepSource, []string{"inference.gradients=\"joint\""}, "dp-svi"},
		{sepSource, []string{"inference.factors=\"published\""}, "is not defined for solver"},
		{sepSource, []string{"inference.sampling=\"published\""}, "nominal_records"},
		{sepSource, []string{"inference.sampling=\"published\"", "federation.nominal_records=10"}, "replace-one"},
		{sepSource, []string{"inference.sampling=\"published\"", "federation.nominal_records=10", "privacy.adjacency=\"replace-one\""}, "privacy.clip"},
		{sepSource, []string{"inference.sampling=\"published\"", "federation.nominal_records=10", "privacy.adjacency=\"replace-one\"", "privacy.clip=1.0", "privacy.coordinates=\"centred\""}, "raw"},
		{sepSource, []string{"inference.sampling=\"published\"", "federation.nominal_records=10", "privacy.adjacency=\"replace-one\"", "privacy.clip=1.0", "inference.sampling_rate=0.5"}, "one record a step"},
		{sepSource, []string{"privacy.unit=\"client\"", "privacy.clip=1.0"}, "hides a record in every step"},
		{sepSource, []string{"privacy={unit = \"none\"}"}, "with privacy.unit = \"none\" write"},
		{sepSource, []string{"federation.opens=\"sums\""}, "dp-svi"},
		{sepSource, []string{"inference.solver=\"dp-svi\"", "inference.recency=1.0"}, "dp-sep"},
		{sepSource, []string{"model.cluster_sd=1.0"}, "has no meaning"},
		{clusters, []string{"inference.q=\"full\""}, "diagonal"},
		{clusters, []string{"inference.power=0.5"}, "no closed form"},
		{clusters, []string{"model.cluster_sd=", "inference.sites=\"tied\""}, "known cluster_sd"},
		{clusters, []string{"model.cluster_sd=", "inference.reseat=false"}, "known cluster_sd"},
		{clusters, []string{"model.cluster_sd=", "inference.sampling=\"published\""}, "write model.cluster_sd"},
		{hiddenUnits, []string{"inference.q=\"full\""}, "diagonal"},
		{hiddenUnits, []string{"inference.sites=\"moments\""}, "mixture"},
		{clusters, []string{"model.cluster_sd=-1.0"}, "must be positive"},
		{clusters, []string{"prior.scale.median=1.0"}, "has no such parameter"},
	} {
		_, err := Parse("sep.toml", []byte(c.source), set(c.settings...)...)
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%v: want an error that says %q, got %v", c.settings, c.say, err)
		}
	}
}
