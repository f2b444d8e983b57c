package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// dataFolder is where public data sets are looked for.
func dataFolder() string {
	if folder := os.Getenv("FEDPVI_DATA"); folder != "" {
		return folder
	}
	return filepath.Join("..", "shared", "data")
}

// FindData returns where a study's file of records is: at its path, beside the
// study, or in the folder FEDPVI_DATA (by default ../shared/data).
func FindData(studyFile, data string) (string, error) {
	tried := []string{data}
	if !filepath.IsAbs(data) {
		tried = []string{filepath.Join(filepath.Dir(studyFile), data), filepath.Join(dataFolder(), data)}
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
	return "", fmt.Errorf("the file of records %s is neither beside the study nor in %s: set FEDPVI_DATA to the folder of data sets, or give the file with --data", data, dataFolder())
}

// holders returns the clients of a study with their records. dataFile, if not
// empty, replaces the study's own source of records.
func holders(st *study.Study, studyFile, dataFile string, seed uint64) ([]Holder, shard.Report, error) {
	if dataFile == "" && st.Simulation.Synthetic != nil {
		return synthesise(st, seed), shard.Report{}, nil
	}
	if dataFile == "" {
		if st.Simulation.Data == "" {
			return nil, shard.Report{}, fmt.Errorf("%s: the study has no [simulation] table: say there where records come from and who holds them", studyFile)
		}
		var err error
		if dataFile, err = FindData(studyFile, st.Simulation.Data); err != nil {
			return nil, shard.Report{}, err
		}
	}
	f, err := os.Open(dataFile)
	if err != nil {
		return nil, shard.Report{}, fmt.Errorf("file of records: %w", err)
	}
	defer f.Close()
	records, report, err := shard.Read(dataFile, f, st, st.Federation.MaxRecords*max(1, st.Simulation.Clients))
	if err != nil {
		return nil, shard.Report{}, err
	}
	if records.Len() == 0 {
		return nil, shard.Report{}, fmt.Errorf("%s: no records (%d were dropped)", dataFile, total(report.Dropped))
	}
	h, err := deal(st, records, seed)
	return h, report, err
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}
