package session_test

import (
	"fmt"
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// Both clients with records follow every plan and every outcome, and answer the plans that ask
// them.
func TestRehearsalPlaysTheWholeStudy(t *testing.T) {
	type counts struct{ answers, entries, rounds int }
	const private = "unit = \"record\"\nnoise_multiplier = 4\ndelta = 1e-5\nclip = 60"
	for name, c := range map[string]struct {
		parts   linestudy.Parts
		clients int
		want    counts // number of pieces of work of each client
	}{
		"synchronous":  {linestudy.Parts{Privacy: private, Inference: "rounds = 3"}, 5, counts{3, 6, 3}},
		"sequential":   {linestudy.Parts{Inference: "rounds = 2\nschedule = \"sequential\""}, 3, counts{2, 12, 2}},
		"asynchronous": {linestudy.Parts{Inference: "rounds = 2\nschedule = \"asynchronous\""}, 3, counts{2, 12, 2}},
		"sums": {linestudy.Parts{
			Privacy: "unit = \"client\"\nnoise_multiplier = 4\ndelta = 1e-5\nclip = 60", Inference: "rounds = 3", Federation: "aggregation = \"secure\"\nmin_clients = 3\ncolluders = 1",
		}, 4, counts{3, 6, 3}},
		"published": {linestudy.Parts{Version: 2, Privacy: "unit = \"record\"\nnoise_multiplier = 4\ndelta = 1e-5", Inference: "rounds = 4", Federation: "nominal_records = 80"}, 4, counts{4, 8, 4}},
		"last round": {linestudy.Parts{
			Privacy: "unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5", Inference: "rounds = 1\nsolver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4\nsampling_rate = 0.5\nnoise_aware = \"one-step\"",
		}, 2, counts{2, 4, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := study.Parse("study.toml", linestudy.Document(c.parts))
			if err != nil {
				t.Fatal(err)
			}
			var roster []pvi.ClientID
			for i := range c.clients {
				roster = append(roster, pvi.ClientID(fmt.Sprint("client-", i)))
			}
			r, err := session.NewRehearsal(st, roster, 10, 80)
			if err != nil {
				t.Fatal(err)
			}
			var got [2]counts
			for more := true; more; {
				more, err = r.Step(func(w session.Work) error {
					own := &got[w.Client]
					switch {
					case !w.Answer:
						own.entries++
					case w.Kind == session.Plan:
						own.rounds++
						fallthrough
					default:
						own.answers++
					}
					return w.Do()
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if got != [2]counts{c.want, c.want} {
				t.Errorf("%+v, want %+v for each", got, c.want)
			}
		})
	}
}
