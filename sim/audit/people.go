package audit

import (
	"fmt"
	"math/rand/v2"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// personRows is the maximum number of rows of a person that a client uses. In the tests some
// persons have more, up to manyRows.
const personRows, manyRows = 4, 7

// personSettings make a study protect persons.
var personSettings = []study.Override{
	set("privacy.unit", study.Person), set("privacy.rows_per_person", personRows), set("table.person", "patient"),
}

// person appends rows of a person to r, and returns r.
func person(r *shard.Records, name string, rows int, row ...float64) *shard.Records {
	for range rows {
		r.AppendFor(name, row)
	}
	return r
}

// personPair returns two random data sets of a client that differ by all rows of one person. These
// rows come first, to catch a program that lets earlier rows affect which rows of another person it
// keeps.
func personPair(r *rand.Rand, row func() []float64) (worlds [2]*shard.Records) {
	worlds = [2]*shard.Records{new(shard.Records), new(shard.Records)}
	victim, alike := row(), r.IntN(2) == 0
	for range 1 + r.IntN(manyRows) {
		if !alike {
			victim = row()
		}
		worlds[1].AppendFor("victim", victim)
	}
	for other := range 1 + r.IntN(6) {
		for range 1 + r.IntN(3*manyRows) {
			shared := row()
			for _, w := range worlds {
				w.AppendFor(fmt.Sprint(other), shared)
			}
		}
	}
	return worlds
}

// A personCase is a test case with one client. In the null world of the [attack], the client has no
// rows of a certain person. In the other world it has all of them. Their vectors have the same
// direction and, after clipping, the largest possible norm.
type personCase struct {
	study    string
	sampling float64 // sampling rate of the steps; 0 if the client releases statistics
	settings []study.Override
}

var personCases = []personCase{
	{recordStudy, 0, []study.Override{set("privacy.noise_multiplier", 4.0)}},
	{gradientStudy, 1, nil},
	{gradientStudy, 0.4, nil},
}

func (c personCase) name() string {
	switch c.sampling {
	case 0:
		return "statistics of a person"
	case 1:
		return "gradients of a person"
	}
	return "sampled gradients of a person"
}

// protocol returns the protocol of a case. If ofPersons is false, the study protects single rows.
func (c personCase) protocol(ofPersons bool, more ...study.Override) (*pvi.Protocol, error) {
	settings := c.settings
	if ofPersons {
		settings = append(settings[:len(settings):len(settings)], personSettings...)
	}
	if c.sampling > 0 {
		settings = append(settings[:len(settings):len(settings)], set("inference.sampling_rate", c.sampling))
	}
	return newProtocol(c.study, 1, append(settings[:len(settings):len(settings)], more...)...)
}

func (c personCase) attack() (attack, error) {
	p, err := c.protocol(true)
	if err != nil {
		return attack{}, err
	}
	return c.against(p)
}

// against returns an attack whose observer guesses whether all rows of a person are present. The
// attack tests the cost that the protocol p claims. p may protect persons or single rows.
func (c personCase) against(p *pvi.Protocol) (attack, error) {
	event, err := p.Event(method.View{Shares: 1}, accountant.AddRemove, p.Releases())
	if err != nil {
		return attack{}, err
	}
	rows := manyRows
	if p.Study().Privacy.Unit == study.Record {
		rows = personRows // a study that does not protect persons keeps all rows
	}
	begin := func(seed uint64, world int) (*sim.Federation, error) {
		records := person(new(shard.Records), "other", personRows, 0, 1)
		if world == 1 {
			person(records, "victim", rows, 1, 1)
		}
		return newPlay(p, seed, records)
	}
	return playAttack(c.name(), event, begin, seeSum), nil
}
