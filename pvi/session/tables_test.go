package session

import (
	"bytes"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// A study without a model has a single plan. All machines compute the same tables, even after a
// restart.
func TestStudyWithoutModel(t *testing.T) {
	for name, overrides := range map[string][]study.Override{
		"messages": nil,
		"sums":     {{Key: "federation.opens", Value: "sums"}},
	} {
		st, err := study.Parse("alone.toml", []byte(`
study = { version = 2, name = "alone" }
privacy = { unit = "record", noise_multiplier = 0.01, delta = 1e-5 }
federation = { max_records = 1000 }
describe = { bins = 4 }
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
`), overrides...)
		check(t, err)
		h := newHouse(t, st, 3)
		h.round()
		if !h.server.Done() {
			t.Fatalf("%s: the study is not over after one round", name)
		}
		result, err := h.server.Result()
		check(t, err)
		want, err := result.Bytes()
		check(t, err)
		// The clients have 40, 41 and 42 records.
		if n := result.Tables.Groups[0].Records; n.Low > 123 || n.High < 123 || n.High-n.Low > 1 {
			t.Errorf("%s: %+v records, want 123", name, n)
		}
		server, err := RestoreServer(st, h.roster, state(t, h.server))
		check(t, err)
		if r, err := server.Result(); err != nil {
			t.Error(err)
		} else if got, _ := r.Bytes(); !bytes.Equal(got, want) {
			t.Errorf("%s: the restored coordinator has another result", name)
		}
		for m := range h.sites {
			if r, err := h.restored(m).Result(); err != nil {
				t.Error(err)
			} else if got, _ := r.Bytes(); !bytes.Equal(got, want) {
				t.Errorf("%s: the restored client %d has another result", name, m)
			}
		}
		p, err := Describe(st, result)
		check(t, err)
		var text strings.Builder
		if err := p.Table(&text, false); err != nil || !strings.HasPrefix(text.String(), "Records of 3 clients, described\n") {
			t.Errorf("%s: %v\n%s", name, err, text.String())
		}
	}
}
