package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// FindData returns the path of a file of records that a study names. It looks for a relative path
// in the folder of the study, then in the folder of public data sets: the environment variable
// FEDPVI_DATA, or ../shared/data by default.
func FindData(studyFile, data string) (string, error) {
	folder := cmp.Or(os.Getenv("FEDPVI_DATA"), filepath.Join("..", "shared", "data"))
	tried := []string{data}
	if !filepath.IsAbs(data) {
		tried = []string{filepath.Join(filepath.Dir(studyFile), data), filepath.Join(folder, data)}
	}
	for _, path := range tried {
		_, err := os.Stat(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("file of records: %w", err)
		}
	}
	return "", fmt.Errorf("the file of records %s is neither beside the study nor in %s: set FEDPVI_DATA to the folder of data sets, or give the file with --data", data, folder)
}

// A cast holds the clients of a simulated study with their records, and any held-out records.
type cast struct {
	holders []Holder
	test    *shard.Records // held-out records; nil if there are none
	report  shard.Report   // number of records and values that reading changed
}

// newCast returns the clients and records of a study. If dataFile is not empty, the records come
// from this file.
func newCast(st *study.Study, studyFile, dataFile string, seed uint64) (*cast, error) {
	sim := st.Simulation
	if dataFile == "" && sim.Synthetic != nil {
		return castSynthetic(st, studyFile, seed)
	}
	files := sim.Data
	if dataFile != "" {
		files = []string{dataFile}
	} else if len(files) == 0 {
		return nil, fmt.Errorf("%s: the study has no [simulation] table: add one with the source of the records and the clients that hold them", studyFile)
	}
	records, report, err := readFiles(st, studyFile, files, dataFile != "")
	if err != nil {
		return nil, err
	}
	c := &cast{report: report}
	if sim.Test > 0 {
		if records, c.test, err = holdOut(st, records, seed); err != nil {
			return nil, err
		}
	}
	if err := c.readTest(st, studyFile); err != nil {
		return nil, err
	}
	c.holders, err = deal(st, records, seed)
	return c, err
}

// Records returns the clients of a study with their records, as [NewPlay] deals them, and the
// held-out records, or nil if there are none.
func Records(st *study.Study, o Options) (holders []Holder, test *shard.Records, err error) {
	c, err := newCast(st, o.StudyFile, o.DataFile, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	return c.holders, c.test, nil
}

func (c *cast) design(st *study.Study) *shard.Shard {
	if c.test == nil {
		return nil
	}
	return shard.Design(st, c.test)
}

// castSynthetic generates records. Without a partition in the study, each client keeps the records
// that were generated for it.
func castSynthetic(st *study.Study, studyFile string, seed uint64) (*cast, error) {
	c := &cast{}
	var err error
	if c.holders, err = synthesise(st, seed); err != nil {
		return nil, err
	}
	if st.Simulation.Test > 0 {
		if err := c.holdOutOfEach(st); err != nil {
			return nil, err
		}
	}
	if st.Simulation.Partition.Kind != "balanced" {
		all := new(shard.Records)
		for _, h := range c.holders {
			all.AppendAll(h.Records)
		}
		if c.holders, err = deal(st, all, seed); err != nil {
			return nil, err
		}
	}
	return c, c.readTest(st, studyFile)
}

func (c *cast) holdOutOfEach(st *study.Study) error {
	c.test = new(shard.Records)
	for m := range c.holders {
		h := &c.holders[m]
		people := h.Records.People()
		n := len(people)
		kept := n - int(math.Round(st.Simulation.Test*float64(n)))
		if kept == 0 || kept == n {
			return noTest(st, n)
		}
		c.test.AppendAll(h.Records.Select(slices.Concat(people[kept:]...)))
		h.Records = h.Records.Select(slices.Concat(people[:kept]...))
	}
	return nil
}

// readTest reads the held-out records if the study has files for them.
func (c *cast) readTest(st *study.Study, studyFile string) error {
	if len(st.Simulation.TestData) == 0 {
		return nil
	}
	var err error
	c.test, _, err = readFiles(st, studyFile, st.Simulation.TestData, false)
	return err
}

func noTest(st *study.Study, n int) error {
	what := "records"
	if st.Privacy.Unit == study.Person {
		what = "persons"
	}
	return fmt.Errorf("study %s: simulation.test = %g leaves none for the clients, or none for the test, of %d %s", st.Name, st.Simulation.Test, n, what)
}

// holdOut divides records into the clients' and the held-out ones. It chooses the held-out records
// at random or, if simulation.test_records is "last", takes the last ones. All records of a person
// stay together.
func holdOut(st *study.Study, records *shard.Records, seed uint64) (kept, test *shard.Records, err error) {
	people := records.People()
	n := len(people)
	out := int(math.Round(st.Simulation.Test * float64(n)))
	if out == 0 || out == n {
		return nil, nil, noTest(st, n)
	}
	if st.Simulation.TestLast {
		return records.Select(slices.Concat(people[:n-out]...)), records.Select(slices.Concat(people[n-out:]...)), nil
	}
	order := variates(seed, purposeTest).Perm(n)
	return records.Select(rowsOf(people, order[out:])), records.Select(rowsOf(people, order[:out])), nil
}

// readFiles reads files of records into one table. If own is true, it uses the paths unchanged;
// otherwise it looks for the files with [FindData].
func readFiles(st *study.Study, studyFile string, files []string, own bool) (*shard.Records, shard.Report, error) {
	var all *shard.Records
	report := shard.NewReport()
	for _, name := range files {
		path := name
		if !own {
			var err error
			if path, err = FindData(studyFile, name); err != nil {
				return nil, report, err
			}
		}
		records, read, err := readFile(st, path)
		if err != nil {
			return nil, report, err
		}
		report.Add(read)
		if all == nil {
			all = records
			continue
		}
		all.AppendAll(records)
	}
	return all, report, nil
}

func readFile(st *study.Study, path string) (*shard.Records, shard.Report, error) {
	var records *shard.Records
	var report shard.Report
	err := origin.Source{From: path}.Read(context.Background(), shard.Format(st), shard.Wanted(st), io.Discard, func(rows table.Reader) (err error) {
		records, report, err = shard.ReadTable(path, rows, st)
		return err
	})
	switch most := st.Federation.MaxRecords * max(1, st.Simulation.Clients); {
	case err != nil:
		return nil, shard.Report{}, err
	case report.First != nil:
		return nil, shard.Report{}, fmt.Errorf("%w: widen the column's bounds or levels in the study, or write outside = \"drop\" or missing = \"drop\" there (a client leaves such a record out)", report.First)
	case records.Len() > most:
		return nil, shard.Report{}, fmt.Errorf("%s: more than %d records: if this number is right, raise federation.max_records in the study", path, most)
	case records.Len() == 0:
		return nil, shard.Report{}, fmt.Errorf("%s: no records (%d were dropped)", path, report.LeftOut())
	}
	return records, report, nil
}

func rowsOf(people [][]int, some []int) []int {
	var rows []int
	for _, i := range some {
		rows = append(rows, people[i]...)
	}
	return rows
}
