package client_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/client"
)

func (p *holder) entries() uint64 {
	c := p.open()
	defer c.Close()
	n, _ := c.Store().Head()
	return n
}

// The test resets the state directory to an earlier commit, for each commit, and continues the
// study with this copy. Even if the coordinator withholds this client's last message, the signed
// answers in the outcomes must reveal that a charge is missing. If no charge is missing, the copy
// must finish the study with every answer charged.
//
//abuse:case A16 the whole directory put back to every earlier commit, also if the coordinator hides the last message: no charge is lost in silence
func TestWholeDirectoryPutBack(t *testing.T) {
	h, all := begun(t, signedStudy(recordPrivacy, "solver = \"clipped-analytical\"", ""), "north", "south")
	p, newest := all[0], all[0].dir
	var copies []string
	for range 10 {
		c := p.openWith(func(string) error {
			copies = append(copies, filepath.Join(t.TempDir(), fmt.Sprint(len(copies))))
			copyState(t, newest, copies[len(copies)-1])
			return nil
		})
		_, err := p.run(c)
		check(t, err)
		check(t, c.Close())
		all[1].mustStep()
	}
	whole, answers, last := p.entries(), len(h.releases), h.last[p.name]
	if whole != 4 {
		t.Fatalf("the ledger has %d entries, want a budget and three charges", whole)
	}
	detected := 0
	for i, at := range copies {
		for _, hides := range []bool{false, true} {
			p.dir = filepath.Join(t.TempDir(), "copy")
			copyState(t, at, p.dir)
			before := p.account().Spent
			lacks := p.entries() < whole
			if h.last[p.name] = last; hides {
				delete(h.last, p.name)
			}
			ending, err := p.step()
			switch says := fmt.Sprintf("copy %d of %d, the last message hidden: %v", i, len(copies), hides); {
			case !lacks:
				if err != nil || ending == nil || p.entries() != whole {
					t.Errorf("%s: %v", says, err)
				}
			default:
				detected++
				p.refused(says, err, client.Damaged, "does not contain", before)
				_, err = p.step()
				p.refused(says+", again", err, client.Damaged, "does not contain", before)
			}
			if len(h.releases) != answers {
				t.Fatalf("%d answers were sent, %d before", len(h.releases), answers)
			}
		}
	}
	if detected < 6 {
		t.Errorf("only %d of %d copies lacked a charge", detected, 2*len(copies))
	}
	p.dir = newest
	check(t, p.with(func(c *client.Client, _ *client.Member, _ *client.Policy) error {
		for _, f := range c.Examine(t.Context(), client.Examination{}) {
			if f.Check == "ledger" && !strings.Contains(f.Found, "whole directory was replaced") {
				t.Errorf("doctor does not say what it cannot see: %s", f.Found)
			}
		}
		return nil
	}))
}
