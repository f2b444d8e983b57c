package study_test

import (
	"testing"

	"fedpvi/pvi/study"
)

// These overrides turn the study private into a regression, a mixture and a neural network for
// DPSEP.
var (
	sites       = set(`model.family="probit"`, `inference.solver="dp-sep"`)
	clusters    = with(sites, `model={ family = "mixture", columns = ["x"], components = 2, cluster_sd = 0.1 }`, "privacy.clip=8.0")
	hiddenUnits = with(sites, `model={ family = "neural-network", outcome = "y", positive = ">= 0.5", terms = ["x"], hidden = 3 }`, "privacy.clip=2.0")
)

func TestPropagationIsRead(t *testing.T) {
	in := parse(t, private, sites...).Inference
	want := study.Propagation{StepSize: 1, Recency: 1, Power: 1, PrecisionWeight: 0.5, Contribution: study.SiteContribution, Sites: study.MomentSites, Improper: study.Project, Start: study.PriorStart}
	got := in.Propagation
	if got.StartAt != nil || got.StepSize != want.StepSize || got.Recency != want.Recency || got.Power != want.Power || got.PrecisionWeight != want.PrecisionWeight ||
		got.Contribution != want.Contribution || got.Sites != want.Sites || got.Improper != want.Improper || got.Start != want.Start || got.Raw || got.Reseat {
		t.Errorf("defaults are %+v", got)
	}
	if in.Q != "diagonal" || in.NoiseAware != study.ClosedForm || in.Damping.Alpha != 1 || in.Factors != study.Exact {
		t.Errorf("the rest is %+v", in)
	}
	s := parse(t, private, with(sites, `inference.q="full"`, `inference.sampling="random-allocation"`, "inference.sampling_rate=0.25", "inference.steps=8",
		"inference.step_size=0.5", "inference.recency=0.0", "inference.power=0.3", "inference.precision_weight=0.2", `inference.contribution="deviation"`,
		`inference.improper="reject"`, "inference.start_at.x=0.7", "inference.initial_sd=0.2", `privacy.coordinates="raw"`, "federation.nominal_records=100")...)
	got = s.Inference.Propagation
	if got.StartAt["x"] != 0.7 || got.StepSize != 0.5 || got.Recency != 0 || got.Power != 0.3 || got.PrecisionWeight != 0.2 ||
		got.Contribution != study.DeviationContribution || got.Improper != study.Reject || !got.Raw || s.Privacy.Centred {
		t.Errorf("read %+v", got)
	}
	if d := s.Inference.Descent; d.Sampling != study.AllocatedSampling || d.Rate != 0.25 || d.Steps != 8 || d.InitialSD != 0.2 || s.Inference.Q != "full" {
		t.Errorf("read %+v", d)
	}
	s = parse(t, private, clusters...)
	if p := s.Inference.Propagation; p.Sites != study.TiedSites || !p.Reseat || p.PrecisionWeight != 1 || s.Model.ClusterSD != 0.1 {
		t.Errorf("defaults of a mixture are %+v", p)
	}
	s = parse(t, private, with(clusters, "model.cluster_sd=")...)
	if p := s.Inference.Propagation; p.Sites != study.MomentSites || p.Reseat || p.PrecisionWeight != 0.1 {
		t.Errorf("defaults of a mixture that learns its sds are %+v", p)
	}
	s = parse(t, private, hiddenUnits...)
	if p := s.Inference.Propagation; p.Start != study.DrawnStart || s.Inference.Descent.InitialSD != 0.3 {
		t.Errorf("a network starts at %+v", p)
	}
	s = parse(t, private, with(hiddenUnits, "inference.start_at.c=0.5")...)
	if p := s.Inference.Propagation; p.Start != study.PriorStart || p.StartAt["c"] != 0.5 {
		t.Errorf("a network starts at %+v", p)
	}
	s = parse(t, private, with(sites, `inference.sampling="published"`, `privacy.adjacency="replace-one"`, "federation.nominal_records=100", "privacy.clip=1.0", "inference.step_size=30.0")...)
	if p := s.Inference.Propagation; !p.Raw || p.PrecisionWeight != 1 || p.StepSize != 30 {
		t.Errorf("the published form is %+v", p)
	}
}

func TestPropagationRefusals(t *testing.T) {
	for _, c := range []struct {
		base     []study.Override
		settings []string
		say      string
	}{
		{sites, []string{"inference.step_size=1.5"}, "must lie in (0, 1]"},
		{sites, []string{"inference.step_size=0.0"}, "must be positive"},
		{sites, []string{"inference.recency=-1.0"}, "must lie in [0, 100]"},
		{sites, []string{"inference.power=0.0"}, "must lie in (0, 1]"},
		{sites, []string{"inference.precision_weight=0.0"}, "must be positive"},
		{sites, []string{"inference.contribution=\"deviation\""}, "nominal_records"},
		{sites, []string{"inference.contribution=\"gradient\""}, "site"},
		{sites, []string{"inference.improper=\"skip\""}, "project"},
		{sites, []string{"inference.sampling=\"without-replacement\""}, "random-allocation"},
		{sites, []string{"inference.sampling=\"random-allocation\""}, "sampling_rate"},
		{sites, []string{"inference.sites=\"tied\""}, "mixture"},
		{sites, []string{"inference.reseat=true"}, "mixture"},
		{sites, []string{"inference.start=\"draw\"", "inference.start_at.x=1.0"}, "two different starts"},
		{sites, []string{"inference.initial_sd=0.1"}, "start_at"},
		{sites, []string{"inference.gradients=\"joint\""}, "dp-svi"},
		{sites, []string{"inference.factors=\"published\""}, "is not defined for solver"},
		{sites, []string{"inference.sampling=\"published\""}, "nominal_records"},
		{sites, []string{"inference.sampling=\"published\"", "federation.nominal_records=10"}, "replace-one"},
		{sites, []string{"inference.sampling=\"published\"", "federation.nominal_records=10", "privacy.adjacency=\"replace-one\""}, "privacy.clip"},
		{sites, []string{"inference.sampling=\"published\"", "federation.nominal_records=10", "privacy.adjacency=\"replace-one\"", "privacy.clip=1.0", "privacy.coordinates=\"centred\""}, "raw"},
		{sites, []string{"inference.sampling=\"published\"", "federation.nominal_records=10", "privacy.adjacency=\"replace-one\"", "privacy.clip=1.0", "inference.sampling_rate=0.5"}, "one record a step"},
		{sites, []string{"privacy.unit=\"client\"", "privacy.clip=1.0"}, "hides a record in every step"},
		{sites, []string{"privacy={unit = \"none\"}"}, "with privacy.unit = \"none\" write"},
		{sites, []string{"federation.opens=\"sums\""}, "dp-svi"},
		{sites, []string{"inference.solver=\"dp-svi\"", "inference.recency=1.0"}, "dp-sep"},
		{sites, []string{"model.cluster_sd=1.0"}, "has no meaning"},
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
		expect(t, private, c.say, with(c.base, c.settings...)...)
	}
}
