package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"fedpvi/pvi/words"
	"fedpvi/tools/plant/planted"
)

// A testedFault is a fault that a named test must find. It has the package and the name of the
// test.
type testedFault struct {
	fault
	in, test string
}

// testedFaults are the faults that named tests must find.
var testedFaults = slices.Concat(sumFaults, proofFaults, machineFaults, tableFaults, heldOutFaults, paceFaults)

// paceFaults are faults that reveal how long a client took to read its records or to compute an
// answer.
var paceFaults = []testedFault{
	{fault{"connects-early", "a client connects as soon as it has read its records", []edit{
		after("client/run.go", "connects-early", "\t_, rest, _ := a.untilPace(began)\n", "\t\trest = 0"),
	}}, "client", "TestFirstConnectionKeepsThePace"},
	{fault{"leaves-early", "an answer leaves as soon as it is computed", []edit{
		after("client/run.go", "leaves-early", "\tafter, rest, late := a.untilPace(a.asked)\n", "\t\trest = 0"),
	}}, "client", "TestAnswersLeaveAtThePace"},
	{fault{"stops-early", "a client whose answers fail stops as soon as it has computed the last one", []edit{
		before("client/run.go", "stops-early", "\t\t// The coordinator sees when the client stops", "\t\t\treturn &Failing{a.at.Failed, gone.why}"),
	}}, "client", "TestFailingClientKeepsThePace"},
}

// tableFaults are faults in the tables that describe the records.
var tableFaults = []testedFault{
	{fault{"tables-before", "a record counted again with the next one", []edit{
		{File: "pvi/scoring/vector.go", Anchor: "\t\tc.tables.Vector(tables, c.described(i))\n", After: `
		if i > 0 && planted.Is("tables-before") {
			before := make([]float64, len(tables))
			c.tables.Vector(before, c.described(i-1))
			for k, x := range before {
				tables[k] += x
			}
		}
`},
	}}, "pvi/scoring", "TestTablesOfNeighbours"},
	{fault{"tables-uncharged", "tables beside the budget", []edit{
		before("pvi/scoring/budget.go", "tables-uncharged", "\t\tb.shares[tablesRound-1][tableBlock] = p.tablesShare\n", "\t\t\tp.tablesShare *= 2"),
	}}, "pvi/scoring", "TestTablesOfNeighbours"},
	{fault{"alone-before", "a record counted again with the next one, in a study without a model", []edit{
		{File: "pvi/method/tables/tables.go", Anchor: "\t\t\tif err := add(vector); err != nil {\n", Before: `
			if i > 0 && planted.Is("alone-before") {
				before := make([]float64, len(dst))
				c.method.layout.Vector(before, c.records.Described(i-1))
				for k, x := range before {
					vector[k] += x
				}
			}
`},
	}}, "pvi/method/tables", "TestTablesOfNeighbours"},
}

// heldOutFaults are faults in the release that scores held-out records.
var heldOutFaults = []testedFault{
	{fault{"scores-uncharged", "scores of held-out records beside the budget", []edit{
		after("pvi/scoring/budget.go", "scores-uncharged", "\t\trest -= p.compared.Share\n", "rest += p.compared.Share"),
	}}, "pvi/scoring", "TestHeldOutOfNeighbours"},
	{fault{"scores-unclipped", "log densities without a clip", []edit{
		before("pvi/describe/scores.go", "scores-unclipped", "\tnumbers := [elements]float64{", "\t\tv = at"),
	}}, "pvi/describe", "TestVectorsOfScoresAreBounded"},
	{fault{"scored-first", "held-out records scored before the noise is drawn", []edit{
		before("pvi/method/scores/scores.go", "scored-first", "\treturn true, mechanism.Release(", "\t\tquery.Contributor(c.records)"),
	}}, "pvi/method/scores", "TestNoiseIsDrawnBeforeRecordsAreScored"},
	{fault{"fitted-too", "held-out records in the fit", []edit{
		{File: "pvi/scoring/vector.go", Anchor: "\tif c.heldOut != nil && c.heldOut[i]", After: " && !planted.Is(\"fitted-too\")"},
	}}, "pvi/scoring", "TestHeldOutOfNeighbours"},
	{fault{"scored-too", "a record of the fit scored with the one before it", []edit{
		{File: "pvi/scoring/vector.go", Anchor: "\tlog, ok := c.scored[i]\n", After: `
	if before, held := c.scored[i-1]; held && planted.Is("scored-too") {
		log, ok = before, true
	}
`},
	}}, "pvi/scoring", "TestHeldOutOfNeighbours"},
	{fault{"coins-anew", "coins drawn again in every round", []edit{
		before("pvi/method/scores/holding.go", "coins-anew", "\tif h.out == nil {\n\t\tout, tosses := make", "\t\th.out = nil"),
	}}, "pvi/method/scores", "TestCoinsAreDrawnOnce"},
	{fault{"coins-of-rows", "a coin for each row of a person", []edit{
		{File: "pvi/method/scores/holding.go", Anchor: "\t\t\trows[row] = is\n", After: `
			if row%2 == 1 && planted.Is("coins-of-rows") {
				rows[row] = !is
			}
`},
	}}, "pvi/method/scores", "TestCoinsAreDrawnOnce"},
	{fault{"coins-forgotten", "a client that starts again without its coins", []edit{
		{File: "pvi/method/scores/holding.go", Anchor: "\tif (m.Parts != nil) != (m.Spent.Statistics > 0)", After: " && !planted.Is(\"coins-forgotten\")"},
	}}, "pvi/method/scores", "TestCoinsAreRestored"},
	{fault{"noise-twice", "the same noise in every round", []edit{
		{File: "pvi/method/scores/holding.go", Anchor: "\t\"fedpvi/dpmech\"\n", After: "\t\"fedpvi/dpmech/seeded\"\n"},
		before("pvi/method/scores/holding.go", "noise-twice", "\treturn h.client.Release(dst, t, src)\n", "\t\tsrc = seeded.Stream(1, \"planted\")"),
	}}, "pvi/method/scores", "TestScoresAreChargedAndHidden"},
	{fault{"scores-free", "the last release costs nothing", []edit{
		after("pvi/method/sums.go", "scores-free", "\tall := accountant.Composed{}\n", "to = max(from, min(to, len(s.mechanisms)-1))"),
	}}, "pvi/method/scores", "TestScoresAreChargedAndHidden"},
}

// proofFaults break the promise that no party can spoil a study unnoticed.
var proofFaults = []testedFault{
	{fault{"unsigned-releases", "no client compares a published release with the signature of its client", []edit{
		{File: "crypto/transcript/answers.go", Anchor: "if commitments != nil", After: " && !planted.Is(\"unsigned-releases\")"},
	}}, "client", "TestFalsifiedSumOfMessagesStopsEverybody"},
	{fault{"any-fetched", "a fetched release is not compared with its hash", []edit{
		{File: "pvi/phase/fetched.go", Anchor: "\t\tif Digest(a.hash.Sum(nil)) != signed[m]", After: " && !planted.Is(\"any-fetched\")"},
	}}, "client", "TestFalsifiedReleasesStopEverybody"},
	{fault{"any-commitment", "the coordinator accepts an answer with the hash of another release", []edit{
		{File: "coordinator/release.go", Anchor: "\tif hash != r.Commitment", After: " && !planted.Is(\"any-commitment\")"},
	}}, "coordinator", "TestAnswerOfAnotherReleaseIsRefused"},
	{fault{"unbounded", "a release of any size is accepted", []edit{
		{File: "pvi/server.go", Anchor: "\t\tif n > limit", After: " && !planted.Is(\"unbounded\")"},
		{File: "pvi/server.go", Anchor: "|| n < -limit", After: " && !planted.Is(\"unbounded\")"},
	}}, "pvi", "TestEveryKindOfMessageIsBounded"},
	{fault{"forgets-exclusion", "a coordinator that restarts forgets an exclusion", []edit{
		before("coordinator/exclude.go", "forgets-exclusion", "\tfor name, why := range st.excluded {\n", "\t\tclear(st.excluded)"),
	}}, "coordinator", "TestExcludedClient"},
	{fault{"forgets-revocation", "a coordinator that restarts forgets that keys were revoked", []edit{
		before("coordinator/members.go", "forgets-revocation", "\tfor name, why := range st.changes.Revoked {\n", "\t\tclear(st.changes.Revoked)"),
	}}, "coordinator", "TestRevocationSurvivesARestart"},
	{fault{"any-version", "the version of the roster in a message is not checked", []edit{
		{File: "crypto/transcript/chain.go", Anchor: "\tif c.members == nil || claimed.Domain == signed.Roster", After: " || planted.Is(\"any-version\")"},
	}}, "client", "TestLyingVersionsOfTheRoster"},
	{fault{"any-renewal", "new keys count without the signature of the identity before", []edit{
		{File: "crypto/roster/change.go", Anchor: "r.Entry), r.Consent)", After: " && !planted.Is(\"any-renewal\")"},
	}}, "crypto/roster", "TestInvalidChangesAreRefused"},
	{fault{"unwitnessed", "a client overlooks its own later answers in the transcript", []edit{
		{File: "client/commitment.go", Anchor: "\t\tif names[i] != a.member.Name", After: " || planted.Is(\"unwitnessed\")"},
	}}, "client", "TestWholeDirectoryPutBack"},
	{fault{"void-unlimited", "void rounds that clients have paid for go on without a limit", []edit{
		{File: "pvi/session/verdicts.go", Anchor: "|| len(o.Participants) > 0", After: " && !planted.Is(\"void-unlimited\")"},
	}}, "pvi/session", "TestVoidRoundsStopTheStudy"},
	{fault{"no-anchor", "the anchor of the ledger is not compared", []edit{
		around("client/ledger/anchor.go", "no-anchor", "\tif err := compare(path, holder, db, head, previous); err != nil {\n\t\treturn nil, err\n\t}\n"),
	}}, "client/ledger", "TestFilesFromThePast"},
	{fault{"any-free-list", "the list of free pages of a store's file is not checked", []edit{
		{File: "internal/durable/durable.go", Anchor: "checkFreeList(path, with); err == nil", After: " || planted.Is(\"any-free-list\")"},
	}}, "internal/durable", "TestLongFreeListIsRefused"},
	{fault{"record-stops", "a record that does not fit stops a run", []edit{
		{File: "pvi/shard/read.go", Anchor: "\t\tcase errors.As(err, &unfit):\n", Before: `
		case planted.Is("record-stops") && errors.As(err, &unfit):
			return err
`},
	}}, "pvi/session", "TestRecordsAnswerNoQuestion"},
	{fault{"silent-verdict", "the verdict on a round is not logged", []edit{
		before("coordinator/verdict.go", "silent-verdict", "\tif r.Verdict == pvi.Accepted {\n", "\t\treturn"),
	}}, "coordinator", "TestExcludedClient"},
}

func faultsOf(all []testedFault) (faults []fault) {
	for _, f := range all {
		faults = append(faults, f.fault)
	}
	return faults
}

// tested checks that each fault's test passes once without the fault, and fails o.repeat times with
// it.
func (o options) tested(w io.Writer) error {
	g, err := o.plant(faultsOf(testedFaults))
	if err != nil {
		return err
	}
	defer g.remove()
	chosen := slices.DeleteFunc(slices.Clone(testedFaults), func(f testedFault) bool {
		return o.only != "" && !slices.Contains(strings.Split(o.only, ","), f.name)
	})
	programs := map[string]string{}
	for _, f := range chosen {
		if programs[f.in] != "" {
			continue
		}
		if programs[f.in], err = g.buildTest(f.in); err != nil {
			return err
		}
	}
	rows := [][]string{{"planted fault", "found by", "found"}}
	var errs []error
	for _, f := range chosen {
		if out, err := f.run(g.root, programs[f.in], ""); err != nil {
			errs = append(errs, fmt.Errorf("%s fails without a fault: %w\n%s", f.test, err, out))
		}
		found := 0
		for range o.repeat {
			if _, err := f.run(g.root, programs[f.in], f.name); err != nil {
				found++
			}
		}
		if found < o.repeat {
			errs = append(errs, fmt.Errorf("%s finds the fault %s in %d of %d runs", f.test, f.name, found, o.repeat))
		}
		rows = append(rows, []string{f.says, f.test, fmt.Sprintf("%d of %d", found, o.repeat)})
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return words.Table(w, "", 2, rows)
}

// run runs a fault's test. If name is not empty, the fault of that name is planted.
func (f testedFault) run(root, program, name string) ([]byte, error) {
	command := exec.Command(program, "-test.run", "^"+f.test+"$")
	command.Dir = filepath.Join(root, f.in)
	command.Env = append(os.Environ(), planted.Variable+"="+name)
	return command.CombinedOutput()
}
