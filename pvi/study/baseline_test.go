package study_test

import "testing"

func TestBaseline(t *testing.T) {
	base := set("inference.step_size=0.1", "privacy.clip=1.0", `simulation={ clients = 1, synthetic = { records_per_client = 10 }, baseline = "dp-sgld" }`)
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{nil, ""},
		{[]string{`simulation.baseline="one-posterior-sample"`}, ""},
		{[]string{`simulation.baseline="two-samples"`}, `"two-samples" is unknown`},
		{[]string{"inference.step_size="}, "write inference.step_size"},
		{[]string{`simulation.baseline="one-posterior-sample"`, `federation.opens="sums"`}, "neither partitions nor federation.opens"},
		{[]string{"inference.partitions=5"}, "neither partitions nor federation.opens"},
		{[]string{`inference.gradients="joint"`}, "a single gradient of an independent batch"},
		{[]string{"inference.draws=2"}, "a single gradient of an independent batch"},
		{[]string{`simulation.baseline="ep"`}, `that solver = "dp-sep" hides`},
		{[]string{"simulation.clients=2"}, "write clients = 1, got 2"},
		{[]string{`model.standardise="private"`}, "has no budget for finding a scale"},
		{[]string{`simulation.baseline="one-posterior-sample"`, "privacy.clip="}, "needs privacy.epsilon, and privacy.clip"},
		{[]string{"privacy.epsilon=", "privacy.noise_multiplier=1.0"}, ""},
	} {
		expect(t, private, c.want, with(base, c.settings...)...)
	}
}
