package session

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

const oracleSource = `
[study]
version = 2
name = "oracle"
[table]
#table
[[column]]
name = "id"
type = "numeric"
bounds = [0, 1000]
outside = "drop"
#id
[[column]]
name = "site"
type = "categorical"
levels = ["common", "rare"]
outside = "drop"
#site
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
#x
[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
#y
[model]
family = "linear"
outcome = "y"
terms = ["x"]
noise_sd = 1
[inference]
solver = "dp-svi"
rounds = 2
sampling_rate = 1.0
intervals = "none"
[privacy]
unit = "record"
noise_multiplier = 3.0
delta = 1e-5
[federation]
nominal_records = 40
min_clients = 2
opens = "sums"
#federation
`

// An asking is a study that tries to find out whether a file contains the record in line, without
// paying for it in privacy. It replaces key in the study by text, which treats this record
// differently from all others.
type asking struct{ line, key, text string }

func (a asking) study(t *testing.T) *study.Study {
	t.Helper()
	text := oracleSource
	switch a.key {
	case "#federation", "#table":
		text = strings.Replace(text, a.key, a.text, 1)
	default: // a.text replaces the settings of the column up to the mark a.key
		i := strings.Index(text, a.key)
		from := strings.LastIndex(text[:i], "type = ")
		text = text[:from] + a.text + text[i+len(a.key):]
	}
	st, err := study.Parse("oracle.toml", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", a.text, err)
	}
	return st
}

// askings returns studies that treat one record differently from all others, by means such as
// bounds or the largest number of records.
func askings() (all []asking) {
	const person = "77,rare,0.31,5"
	numeric := func(low, high float64, rest string) string {
		return fmt.Sprintf("type = \"numeric\"\nbounds = [%g, %g]\n%s", low, high, rest)
	}
	for _, outside := range []string{"refuse", "drop", "clamp"} {
		rule := fmt.Sprintf("outside = %q", outside)
		for _, width := range []float64{0.5, 3, 50} {
			all = append(all, asking{person, "#id", numeric(77-width, 77+width, rule)}, asking{person, "#id", numeric(200, 200+width, rule)})
		}
		all = append(all,
			asking{"77,rare,0.31,9", "#y", numeric(-10, 8, rule)},
			asking{"77,rare,1e300,5", "#x", numeric(-1, 1, rule)},
			asking{"77,rare,inf,5", "#x", numeric(-1, 1, rule)})
	}
	for _, outside := range []string{"refuse", "drop"} {
		for _, levels := range []string{`"rare", "none"`, `"common", "none"`} {
			all = append(all, asking{person, "#site", fmt.Sprintf("type = \"categorical\"\nlevels = [%s]\noutside = %q", levels, outside)})
		}
	}
	for _, missing := range []string{`missing = "refuse"`, `missing = "drop"`, "missing = \"impute\"\nimpute = 0"} {
		all = append(all, asking{"77,rare,,5", "#x", numeric(-1, 1, missing)}, asking{"77,rare,abc,5", "#x", numeric(-1, 1, missing)})
	}
	for _, most := range []int{1, 39, 40, 41, 1000} {
		all = append(all, asking{person, "#federation", fmt.Sprintf("max_records = %d", most)})
	}
	return append(all,
		asking{person, "#table", `missing = ["77"]`},
		asking{"77, \"rare\",0.31,5", "#table", "trim = false"},
		asking{"77,rare,0.31", "#table", "trim = true"},
		asking{"77,\"rare,0.31,5", "#table", "trim = true"},
	)
}

// heard is everything that others can see of a client.
type heard struct {
	faults   []string // messages of the errors that stop the client
	messages [][]byte
	spent    []string
	first    []int64 // numbers of the first message
}

// listen runs a study in which the first client has the given file, and returns everything that
// others see of this client.
func listen(t *testing.T, st *study.Study, text string) (h heard) {
	t.Helper()
	fault := func(err error) bool {
		if err != nil {
			h.faults = append(h.faults, err.Error())
		}
		return err != nil
	}
	roster := []pvi.ClientID{"asked", "other"}
	server, err := NewServer(st, roster)
	check(t, err)
	records, _, err := shard.Read("records.csv", strings.NewReader(text), st)
	if fault(err) {
		return h
	}
	other := new(shard.Records)
	for i := range 40 {
		other.Append([]float64{float64(i), 0, math.Sin(float64(i)), float64(i % 2)})
	}
	var sites []*Site
	for m, own := range []*shard.Records{records, other} {
		site, err := NewSite(st, roster, roster[m], own.Keep(st))
		if fault(err) {
			return h
		}
		sites = append(sites, site)
	}
	follow := func(e *Entry) {
		for _, s := range sites {
			fault(s.Follow(*e))
		}
	}
	for len(h.faults) == 0 {
		e, ok := server.Next()
		if !ok {
			return h
		}
		follow(&e)
		for m, s := range sites {
			ask, _ := s.Pending()
			a, err := s.Answer(seeded.Stream(1, "oracle", uint64(m), uint64(ask)))
			if fault(err) {
				return h
			}
			if m == 0 {
				h.messages = append(h.messages, a.Release)
				h.spent = append(h.spent, fmt.Sprint(a.Spent))
				if h.first == nil {
					h.first = numbers(t, a.Release)
				}
			}
			o, err := server.Collect(roster[m], a.Plan, a.Release)
			if fault(err) {
				return h
			}
			if o != nil {
				follow(o)
			}
		}
	}
	return h
}

func numbers(t *testing.T, release []byte) []int64 {
	t.Helper()
	r, err := wire.ReadRelease(release, wire.Limits{Elements: 10_000, Clients: 10, Name: 40})
	check(t, err)
	return r.Change
}

// Each study runs once with the record and once without it. If the study leaves the record out,
// others must see the same bytes in both runs. If it does not, only released numbers may differ,
// and those in the first message by at most the sensitivity that the noise was chosen for.
//
//abuse:case P20 in 40 studies that try to ask about a record its presence changes only the charge
func TestRecordsAnswerNoQuestion(t *testing.T) {
	var file strings.Builder
	file.WriteString("id,site,x,y\n")
	for i := range 39 {
		fmt.Fprintf(&file, "%d,common,%.3f,%.3f\n", i, math.Sin(float64(i)), 2*math.Sin(float64(i)))
	}
	asked, same := 0, 0
	for _, a := range askings() {
		st := a.study(t)
		with, without := listen(t, st, file.String()+a.line+"\n"), listen(t, st, file.String())
		if len(with.faults)+len(without.faults) > 0 || len(with.messages) == 0 {
			t.Errorf("%s %q: the client stops: %q with the record, %q without", a.line, a.text, with.faults, without.faults)
			continue
		}
		asked++
		left, _, err := shard.Read("records.csv", strings.NewReader("id,site,x,y\n"+a.line+"\n"), st)
		check(t, err)
		if left.Len() == 0 {
			same++
		}
		if fmt.Sprint(with.spent) != fmt.Sprint(without.spent) || len(with.messages) != len(without.messages) {
			t.Errorf("%s %q: another number or cost of messages", a.line, a.text)
			continue
		}
		for i := range with.messages {
			if left.Len() == 0 && !bytes.Equal(with.messages[i], without.messages[i]) {
				t.Errorf("%s %q: message %d shows a record that is left out", a.line, a.text, i+1)
			}
		}
		if d, most := apart(with.first, without.first), sensitivity(t, st); d > most {
			t.Errorf("%s %q: the record moves the first message by %g steps, more than %g", a.line, a.text, d, most)
		}
	}
	if asked < 40 || same < 20 {
		t.Errorf("%d studies, of which %d leave the record out", asked, same)
	}
}

// With batches of fixed size, the number of records is public, and includes records that are left
// out. Participation and costs do not depend on whether the last record fits.
func TestLeftOutRecordsOfFixedBatches(t *testing.T) {
	for _, c := range []struct{ family, y, more string }{
		{`family = "linear"`, "#y", ""},
		{`family = "logistic"` + "\npositive = \"1\"", "type = \"categorical\"\nlevels = [\"0\", \"1\"]", ""},
		{`family = "poisson"`, "#y", ""},
		{`family = "negative-binomial"`, "#y", ""},
		{`family = "softmax"`, "type = \"categorical\"\nlevels = [\"0\", \"1\", \"2\"]", ""},
		{`family = "logistic"` + "\npositive = \"1\"", "type = \"categorical\"\nlevels = [\"0\", \"1\"]", "one-step"},
	} {
		text := strings.NewReplacer(
			`family = "linear"`, c.family, "type = \"numeric\"\nbounds = [-10, 10]\n#y", strings.Replace(c.y, "#y", "type = \"numeric\"\nbounds = [0, 10]", 1),
			"sampling_rate = 1.0", "sampling_rate = 0.5\nsampling = \"without-replacement\"", `unit = "record"`, "unit = \"record\"\nadjacency = \"replace-one\"",
			"min_clients = 2\nopens = \"sums\"", "").Replace(oracleSource)
		if !strings.Contains(text, `family = "linear"`) {
			text = strings.Replace(text, "noise_sd = 1\n", "", 1)
		}
		if c.more != "" {
			text = strings.Replace(text, `intervals = "none"`, "noise_aware = \"one-step\"", 1)
		}
		st, err := study.Parse("fixed.toml", []byte(text))
		check(t, err)
		file := "id,site,x,y\n" + strings.Repeat("1,common,0.5,1\n2,common,-0.5,0\n", 20)
		fits := listen(t, st, file+"3,common,0.1,1\n")
		for _, line := range []string{"3,common,9,1\n", "3,none,0.1,1\n", "3,common\n", "3,common,0.1,\"1\n"} {
			left := listen(t, st, file+line)
			if len(left.faults)+len(fits.faults) > 0 || len(left.messages) == 0 || len(left.messages) != len(fits.messages) || fmt.Sprint(left.spent) != fmt.Sprint(fits.spent) {
				t.Errorf("%s %s, %q: %d messages and faults %q, and %d and %q if the record fits", c.family, c.more, line, len(left.messages), left.faults, len(fits.messages), fits.faults)
			}
		}
	}
}

func apart(a, b []int64) float64 {
	var squared float64
	for i := range a {
		squared += float64(a[i]-b[i]) * float64(a[i]-b[i])
	}
	return math.Sqrt(squared)
}

// sensitivity returns the sensitivity of the first round in lattice steps.
func sensitivity(t *testing.T, st *study.Study) float64 {
	t.Helper()
	p, err := pvi.NewProtocol(st, []pvi.ClientID{"asked", "other"})
	check(t, err)
	m := p.Method().(interface{ Sampled() *dpmech.SampledSum }).Sampled()
	return m.Clip() / m.Lattice().Step()
}
