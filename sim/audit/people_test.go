package audit

import (
	"context"
	"strconv"
	"testing"

	"fedpvi/pvi/study"
)

// The attack guesses whether all four rows of a person are present. Its success must be below the
// claim of a study that protects persons, and above that of a study that protects single rows.
func TestPersonIsHidden(t *testing.T) {
	for _, c := range []personCase{{recordStudy, 0, nil}, {gradientStudy, 1, nil}} {
		for _, epsilon := range []string{"0.5", "1.0", "3.0"} {
			for _, ofPersons := range []bool{true, false} {
				p, err := c.protocol(ofPersons, study.Override{Key: "privacy.noise_multiplier"}, study.Override{Key: "privacy.epsilon", Value: epsilon})
				check(t, err)
				// Every run derives the protocol again. With a noise multiplier this is fast, but ε
				// would need a slow calibration.
				multiplier := strconv.FormatFloat(p.Method().Noise().Multiplier, 'g', -1, 64)
				p, err = c.protocol(ofPersons, study.Override{Key: "privacy.noise_multiplier", Value: multiplier})
				check(t, err)
				a, err := c.against(p)
				check(t, err)
				result, err := a.run(context.Background(), task{seed: 1, runs: 3000, alpha: 1e-6})
				check(t, err)
				t.Logf("%s, ε = %s for %s: %s", c.name(), epsilon, p.Study().Privacy.Protects(), result.Detail)
				if result.Passed != ofPersons {
					t.Errorf("%s, ε = %s for %s: passed is %t: %s", c.name(), epsilon, p.Study().Privacy.Protects(), result.Passed, result.Detail)
				}
			}
		}
	}
}
