package client_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/coordinator/bundle"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/page"
)

// written returns a client's report as HTML.
func written(t *testing.T, r *page.Report) string {
	t.Helper()
	var b bytes.Buffer
	check(t, page.Write(&b, r))
	return b.String()
}

// If clients with different records have the same report, it cannot depend on the records of one
// client.
func TestReportsDependOnTheTranscriptAlone(t *testing.T) {
	for name, c := range map[string]struct {
		source []byte
		checks string
	}{
		"tables and scores": {
			append(linestudy.Document(linestudy.Parts{Version: 2, Privacy: "unit = \"record\"\nepsilon = 3.0\ndelta = 1e-5", Federation: "pace = 0\nnominal_records = 20"}), "[describe]\nbins = 3\n"...),
			"Every published release carries the signature of its client",
		},
		"points":    {signedStudy(recordPrivacy, "solver = \"clipped-analytical\"", ""), "the releases add up to the sums"},
		"version 1": {planeStudy(clientPrivacy, "", ""), "the signed answers of the other clients"},
	} {
		t.Run(name, func(t *testing.T) {
			_, all := begun(t, c.source, "north", "south")
			var reports []string
			for _, p := range all {
				check(t, p.with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
					if _, err := c.Report(m); !errors.Is(err, client.ErrNoResult) || client.CodeOf(err) != client.Usage {
						t.Errorf("before the end: %v", err)
					}
					return nil
				}))
			}
			play(t, all)
			for _, p := range all {
				check(t, p.with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
					r, err := c.Report(m)
					check(t, err)
					reports = append(reports, written(t, r))
					return nil
				}))
			}
			if reports[0] != reports[1] {
				t.Errorf("two clients have different reports:\n%s\n\n%s", reports[0], reports[1])
			}
			for _, want := range []string{"Results", "computed all plans and the result again", c.checks, "What each data holder gave away", "north, south"} {
				if !strings.Contains(reports[0], want) {
					t.Errorf("the report lacks %q:\n%s", want, reports[0])
				}
			}
			if strings.Contains(reports[0], "records.csv") {
				t.Error("the report names the file of records")
			}
		})
	}
}

// The two reports must be the same except for the list of checks.
func TestReportOfAClientAndOfTheCoordinator(t *testing.T) {
	st, records, _, _ := simulated(t, federatedStudy(linear, "rounds = 2", "unit = \"client\"\nepsilon = 8.0\ndelta = 1e-5\nclip = 20.0", ""))
	n := newRealNetwork(t, st, records)
	n.play()
	var b bytes.Buffer
	check(t, n.study.WriteBundle(&b))
	whole, err := bundle.Page(&b)
	check(t, err)
	c := n.open(1)
	defer c.Close()
	m, err := c.Member("")
	check(t, err)
	own, err := c.Report(m)
	check(t, err)
	if fingerprint := n.hub.Fingerprint().String(); !strings.Contains(own.Checked[0], fingerprint) || !strings.Contains(whole.Checked[0], fingerprint) {
		t.Errorf("not both %q and %q have the fingerprint %s", own.Checked[0], whole.Checked[0], fingerprint)
	}
	if slices.Equal(own.Checked, whole.Checked) {
		t.Error("a client claims the checks of the bundle")
	}
	damaged := ledger.Change{Study: m.Hash, Parts: map[string][]byte{client.EntryPart(2): []byte("damaged")}}
	check(t, c.Store().Save(damaged))
	if _, err := c.Report(m); client.CodeOf(err) != client.Damaged {
		t.Errorf("with a damaged entry: %v", err)
	}
	own.Checked, whole.Checked = nil, nil
	if mine, theirs := written(t, own), written(t, whole); mine != theirs {
		t.Errorf("the report of the client\n%s\nand from the bundle\n%s", mine, theirs)
	}
}
