package audit

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// A Pair is a test that runs the programs as separate processes: a study with two clients, and two
// neighbouring files for the first client. Others must not be able to see which of the files it
// uses.
type Pair struct {
	Name   string
	Study  string    // study document
	Files  [2]string // files of the first client, without and with the records
	Others string

	// Asynchronous is true if the order of the plans depends on the clock.
	Asynchronous bool

	of combination
}

// Pairs returns pairs whose files differ by records with unusual values, such as the ends of the
// declared bounds. By default there is one pair for each kind of release, with options that, as far
// as possible, do not occur in earlier pairs. If all is true, there is a pair for each combination
// that an audit simulates.
func Pairs(all bool) (pairs []Pair) {
	modes := map[string][]combination{}
	for _, c := range sample() {
		modes[c.mode.name] = append(modes[c.mode.name], c)
	}
	seen := map[string]bool{}
	for _, m := range outcomeModes {
		of := modes[m.name]
		if !all {
			of = []combination{newest(of, seen)}
		}
		for _, c := range of {
			pairs = append(pairs, Pair{c.String(), c.source(), c.neighbours(c.corners()...), c.shared(), c.schedule == study.Asynchronous, c})
		}
	}
	return pairs
}

// newest chooses the candidate with the most options that are not in seen, and adds them to seen.
func newest(candidates []combination, seen map[string]bool) (best combination) {
	most := -1
	for _, c := range candidates {
		n := 0
		for _, o := range c.options() {
			if !seen[o] {
				n++
			}
		}
		if n > most {
			best, most = c, n
		}
	}
	for _, o := range best.options() {
		seen[o] = true
	}
	return best
}

func (c combination) options() []string {
	return []string{
		string(c.family), c.mode.name, c.q + " q", string(c.mode.unit), fmt.Sprint(c.mode.unit, c.adjacency),
		string(c.factors) + " factors", string(c.schedule),
	}
}

// Far compares the first client's first answers for the two files. If their numbers are further
// apart than the sensitivity, it describes the distance.
func (p Pair) Far(release, other []byte) (string, error) {
	st, err := study.Parse("outcomes.toml", []byte(p.Study))
	if err != nil {
		return "", err
	}
	roster := []pvi.ClientID{clientID(0), clientID(1)}
	most, err := p.of.sensitivityOf(st, roster, len(p.of.corners()))
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Name, err)
	}
	return far(release, other, len(roster), most), nil
}
