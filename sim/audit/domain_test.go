package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/guard"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// No record in the declared domain may make a computation panic, and every plan must get an answer
// that can be added up. If FEDPVI_LONG is set, the test plays all combinations with a million
// records each. Otherwise it plays a sample with a few records.
func TestRecordsOfTheWholeDomain(t *testing.T) {
	const file = 5000
	many := os.Getenv("FEDPVI_LONG") != ""
	play := func(t *testing.T, c combination, least, rows int) {
		began, done, seed := time.Now(), 0, uint64(0)
		panics := guard.Recovered.Load()
		for ; done < least; seed++ {
			n, err := c.answers(rows, seed)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", c, seed, err)
			}
			done += n
		}
		if now := guard.Recovered.Load(); now > panics {
			t.Errorf("%s: %d of %d computations with a record or a batch panicked", c, now-panics, done)
		}
		if many {
			t.Logf("%s: %d records in %v", c, done, time.Since(began).Round(time.Millisecond))
		}
	}
	if !many {
		for _, c := range sample() {
			play(t, c, 1, 40)
		}
		return
	}
	turn := 0
	for _, family := range outcomeFamilies {
		for _, m := range outcomeModes {
			if c, ok := m.with(family, turn); ok {
				turn++
				t.Run(string(family)+"/"+m.name, func(t *testing.T) { play(t, c, 1_000_000, file) })
			}
		}
	}
}

// answers plays a study in which the first client has random rows from the whole domain. It returns
// the number of this client's records times the number of its answers.
func (c combination) answers(rows int, seed uint64) (int, error) {
	if c.mode.keepsRows && !c.mode.scores() {
		c.mode.inference += "\nsolver = \"svi\"\nsteps = 3" // one solver is enough here, because other modes test the others
	}
	st, err := study.Parse("domain.toml", []byte(c.source()), set("federation.max_records", rows))
	if err != nil {
		return 0, err
	}
	r := rand.New(rand.NewPCG(seed, 27))
	text, corners := make([]string, rows), c.corners()
	for i := range text {
		if text[i] = c.anyRow(r); r.IntN(4) == 0 {
			text[i] = corners[r.IntN(len(corners))]
		}
	}
	var files [2]*shard.Records
	for m, text := range []string{file(text...), c.shared()} {
		if files[m], err = read(st, text); err != nil {
			return 0, err
		}
	}
	roster := []pvi.ClientID{clientID(0), clientID(1)}
	server, err := session.NewServer(st, roster)
	if err != nil {
		return 0, err
	}
	var sites []*session.Site
	for m, records := range files {
		site, err := session.NewSite(st, roster, roster[m], records)
		if err != nil {
			return 0, err
		}
		sites = append(sites, site)
	}
	return answerAll(server, sites, files[0].Len(), seed)
}

// answerAll makes every site answer every plan. It returns the number of answers of the first site,
// multiplied by records.
func answerAll(server *session.Server, sites []*session.Site, records int, seed uint64) (done int, err error) {
	tell := func(e session.Entry) (err error) {
		for _, site := range sites {
			if err = site.Follow(e); err != nil {
				return err
			}
		}
		return nil
	}
	for !server.Done() {
		plan, _ := server.Next()
		if err := tell(plan); err != nil {
			return 0, err
		}
		for m, site := range sites {
			if _, asked := site.Pending(); !asked {
				continue
			}
			a, err := site.Answer(seeded.Stream(seed, "domain", uint64(m), uint64(plan.Plan)))
			if err != nil {
				return 0, fmt.Errorf("plan %d: %w", plan.Plan, err)
			}
			if m == 0 {
				done += records
			}
			entry, err := server.Collect(clientID(m), plan.Plan, a.Release)
			if err != nil {
				return 0, err
			}
			if entry != nil {
				if err := tell(*entry); err != nil {
					return 0, err
				}
			}
		}
	}
	return done, nil
}

// anyRow returns a row of a file, with values of any size.
func (c combination) anyRow(r *rand.Rand) string {
	one := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	number := func(low, high float64) string {
		switch r.IntN(6) {
		case 0:
			return one(append(notNumbers, "", "NA", "Inf", "-inf", "1e999", "-0")...)
		case 1:
			return strconv.FormatFloat(math.Float64frombits(r.Uint64()&^(0x7ff<<52)), 'g', -1, 64) // denormal
		case 2:
			return strconv.FormatFloat((2*r.Float64()-1)*math.Pow(10, -320+620*r.Float64()), 'g', -1, 64)
		case 3:
			at := []float64{low, high}[r.IntN(2)]
			return strconv.FormatFloat(math.Nextafter(at, []float64{low, high, 0}[r.IntN(3)]), 'g', -1, 64)
		}
		return strconv.FormatFloat(low+(high-low)*r.Float64(), 'g', -1, 64)
	}
	outcome := number(0, 1)
	switch c.kind() {
	case study.Count:
		outcome = one(append(notNumbers, "", "Inf", "-inf", "1e300", "-0", "400", strconv.Itoa(r.IntN(1001)))...) // a client refuses a file with a fractional count
		if r.IntN(2) == 0 {
			outcome = strconv.Itoa(r.IntN(1001))
		}
	case study.Class:
		outcome = one("0", "1", "2", "3", "")
	}
	return number(-1, 1) + "," + one("a", "b", longLevel, "undeclared", "") + "," + outcome
}
