package report

import (
	"encoding/json"
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// planned is the JSON object that [PlanJSON] writes.
type planned struct {
	Study        string          `json:"study"`
	Digest       string          `json:"digest"` // SHA-256 of the study document
	Coefficients []string        `json:"coefficients"`
	Family       string          `json:"family"`
	Natural      int             `json:"natural_parameters"`
	Clients      int             `json:"clients"`
	MinClients   int             `json:"min_clients"`
	Colluders    int             `json:"colluders"`
	Schedule     study.Schedule  `json:"schedule"`
	Rounds       int             `json:"rounds"`
	Factors      study.Factors   `json:"factors"`
	Damping      string          `json:"damping"`
	Privacy      *plannedPrivacy `json:"privacy,omitempty"` // nil without privacy
	Secure       *plannedSecure  `json:"secure,omitempty"`  // nil without secure sums
	Fetched      *plannedFetched `json:"fetched,omitempty"` // nil if outcomes contain the releases of the rounds
}

// plannedPrivacy is the part of [PlanJSON]'s output about privacy. A result has the same embedded
// fields.
type plannedPrivacy struct {
	Unit study.Unit `json:"unit"`
	*sim.Promise
	ShareSD  float64         `json:"share_sd"` // standard deviation of the noise of one client
	Forecast method.Forecast `json:"forecast"`
	Descent  *plannedDescent `json:"descent,omitempty"` // nil without private gradient steps

	// Expected has the expected widths of intervals; nil if they are not known.
	Expected *expectation `json:"expected_intervals,omitempty"`

	Tables  *plannedTables `json:"tables,omitempty"`   // nil unless the study has tables that describe the records
	HeldOut *plannedScores `json:"held_out,omitempty"` // nil unless the study scores held-out records

	NoiseAware *plannedIntervals `json:"noise_aware,omitempty"` // nil without a noise-aware posterior
}

// PlanJSON writes the content of [Plan] as a JSON object.
func PlanJSON(w io.Writer, p *pvi.Protocol, played func(done, of int) error) error {
	st := p.Study()
	out := planned{
		Study:        st.Name,
		Digest:       st.Digest.String(),
		Coefficients: p.Model().Names(),
		Family:       p.Family().Name(),
		Natural:      p.Family().Size(),
		Clients:      len(p.Roster()),
		MinClients:   p.MinClients(),
		Colluders:    p.Colluders(),
		Schedule:     st.Inference.Schedule,
		Rounds:       st.Inference.Rounds,
		Factors:      st.Inference.Factors,
		Damping:      damping(st.Inference.Damping),
		Secure:       newPlannedSecure(p),
		Fetched:      newPlannedFetched(p),
	}
	if st.Privacy.Unit != study.None {
		promise, err := sim.NewPromise(p, p.Releases())
		if err != nil {
			return err
		}
		expected, err := foresee(p, played)
		if err != nil {
			return err
		}
		out.Privacy = &plannedPrivacy{
			Unit:     st.Privacy.Unit,
			Promise:  promise,
			ShareSD:  p.Method().Noise().SD,
			Forecast: p.Method().Forecast(),
			Descent:  newPlannedDescent(p),
			Expected: expected,
			Tables:   newPlannedTables(p),
			HeldOut:  newPlannedScores(p),

			NoiseAware: newPlannedIntervals(p),
		}
	}
	return json.NewEncoder(w).Encode(out)
}
