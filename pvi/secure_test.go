package pvi

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const secureTarget = "unit = \"client\"\nnoise_multiplier = 2\ndelta = 1e-5\nclip = 60"

// For M clients, t of which may collude, NewProtocol requires h = 2·U_min − M − 1 ≥ max(1, t) and t
// ≤ U_min − 2. Its error gives the smallest U_min that would do.
func TestSecureRules(t *testing.T) {
	st := planeStudy(t, secureTarget, "", "")
	for m := 1; m <= 10; m++ {
		ids := rosterOf(m)
		for fewest := 1; fewest <= m; fewest++ {
			for colluders := range fewest {
				s := *st
				s.Federation.Aggregation, s.Federation.MinClients, s.Federation.Colluders = study.Secure, fewest, colluders
				_, err := NewProtocol(&s, ids)
				allowed := func(u int) bool { return 2*u-m-1 >= max(1, colluders) && colluders <= u-2 }
				if got := err == nil; got != allowed(fewest) {
					t.Errorf("M = %d, U_min = %d, t = %d: %v", m, fewest, colluders, err)
				}
				least := fewest
				for least <= m && !allowed(least) {
					least++
				}
				if err != nil && least <= m && !strings.Contains(err.Error(), fmt.Sprintf("write federation.min_clients = %d or more", least)) {
					t.Errorf("M = %d, U_min = %d, t = %d: %v, want min_clients = %d", m, fewest, colluders, err, least)
				}
			}
		}
	}
}

func TestLeastClients(t *testing.T) {
	st := planeStudy(t, secureTarget, "", "")
	for _, aggregation := range []study.Aggregation{study.ByCoordinator, study.Secure} {
		for fewest := range 6 {
			for colluders := study.OneOther; colluders < 5; colluders++ {
				s := *st
				s.Federation.Aggregation, s.Federation.MinClients, s.Federation.Colluders = aggregation, fewest, colluders
				m, err := 1, error(nil)
				for ; m <= 12; m++ {
					if _, err = NewProtocol(&s, rosterOf(m)); err == nil {
						break
					}
				}
				if err == nil && s.Federation.Least() != m {
					t.Errorf("%s, U_min = %d, t = %d: it can begin with %d clients, and Least is %d", aggregation, fewest, colluders, m, s.Federation.Least())
				}
			}
		}
	}
}

// The largest coalition has at most U_min − 2 clients, so that every sum contains messages of at
// least two other clients.
func TestSecureViews(t *testing.T) {
	for _, c := range []struct {
		clients, fewest, colluders int
		views                      string
	}{
		{3, 3, 1, "coalition 2, outside 3, coordinator 1"},
		{4, 3, 1, "coalition 2, outside 3, coordinator 1"},
		{4, 4, 0, "outside 4, participant 3, largest-coalition 2, coordinator 1"},
		{10, 8, 2, "coalition 6, participant 7, outside 8, largest-coalition 3, coordinator 1"},
	} {
		p := protocolOf(t, c.clients, secureTarget, "", fmt.Sprintf("aggregation = \"secure\"\nmin_clients = %d\ncolluders = %d", c.fewest, c.colluders))
		var views []string
		for _, v := range p.Views() {
			views = append(views, fmt.Sprint(v.Name, " ", v.Shares))
		}
		if got := strings.Join(views, ", "); got != c.views {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Even if all clients send the largest possible messages, their sum stays below 2^60 in absolute
// value.
func TestSecureSumsAreSmall(t *testing.T) {
	p := protocolOf(t, 4, secureTarget, "", "aggregation = \"secure\"")
	if most := 4 * p.Limit(); most <= 0 || most >= 1<<60 {
		t.Errorf("sums are up to %d", most)
	}
	// Above a certain number of records, secure aggregation is refused. Above a higher one every study
	// is, because a sum could exceed 2^62.
	refused := 0
	for records := 1 << 20; records < 1<<31; records *= 2 {
		st := planeStudy(t, "unit = \"record\"\nnoise_multiplier = 0.01\ndelta = 1e-9\nclip = 60", "solver = \"dp-svi\"",
			"opens = \"sums\"\naggregation = \"secure\"")
		st.Federation.MaxRecords = records
		_, err := NewProtocol(st, rosterOf(4))
		st.Federation.Aggregation = study.ByCoordinator
		_, before := NewProtocol(st, rosterOf(4))
		if before == nil && err != nil {
			refused++
			if !strings.Contains(err.Error(), "could overflow in secure aggregation") {
				t.Error(err)
			}
		}
	}
	if refused == 0 || refused > 2 {
		t.Errorf("%d of the numbers of records are refused for secure aggregation only, not one or two", refused)
	}
}
