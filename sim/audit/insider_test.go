package audit

import (
	"context"
	"testing"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
)

// One of three clients attacks another by subtracting its own message from the opened sums. The
// cost for an outsider is too low for this attack, but the cost for one other participant must
// cover it. With colluders = 1, the default of new studies, the privacy target applies to one other
// participant, and every noise share is larger by √1.5.
func TestAnotherParticipantIsAnObserver(t *testing.T) {
	for _, c := range []struct {
		colluders int
		view      string
		holds     bool
	}{
		{0, method.Outsider, false},
		{0, method.Participant, true},
		{1, method.Outsider, false},
		{1, method.Coalition, true},
	} {
		f, err := newInsider(c.colluders)
		check(t, err)
		a, err := f.attack()
		check(t, err)
		claimed := f.claimFor(c.view)
		a.claim = newClaim(claimed)
		result, err := a.run(context.Background(), task{seed: 1, runs: 5000, alpha: 1e-6})
		check(t, err)
		profile, err := accountant.Account(claimed)
		check(t, err)
		epsilon, err := profile.Epsilon(1e-5)
		check(t, err)
		t.Logf("colluders = %d, stated against %s ε = %.2f at δ = 1e-5: %s", c.colluders, c.view, epsilon.Upper, result.Detail)
		if result.Passed != c.holds {
			t.Errorf("colluders = %d, stated against %s: %s", c.colluders, c.view, result.Detail)
		}
	}
}
