package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Dealt describes a file with the records of one client, or with the held-out records.
type Dealt struct {
	Client  pvi.ClientID `json:"client,omitempty"` // name of the client; empty for the held-out records
	File    string       `json:"file"`
	Records int          `json:"records"`
}

// Deal writes the records of a simulated study to a new folder: a file for each client, a file for
// the held-out records if there are any, and the study file. It divides the records as [NewPlay]
// does with the same options.
func Deal(st *study.Study, o Options, folder string) ([]Dealt, error) {
	c, err := newCast(st, o.StudyFile, o.DataFile, o.Seed)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return nil, fmt.Errorf("folder of records: %w", err)
	}
	if err := os.Mkdir(folder, 0o777); err != nil {
		return nil, fmt.Errorf("folder of records: %w (choose a new one with --out)", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "study.toml"), st.Source, 0o666); err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	var dealt []Dealt
	for _, h := range c.holders {
		dealt = append(dealt, Dealt{Client: h.ID, File: filepath.Join(folder, string(h.ID)+".csv"), Records: h.Records.Len()})
		if err := writeRecords(dealt[len(dealt)-1].File, st, h.Records); err != nil {
			return nil, err
		}
	}
	if c.test != nil {
		dealt = append(dealt, Dealt{File: filepath.Join(folder, "held-out.csv"), Records: c.test.Len()})
		return dealt, writeRecords(dealt[len(dealt)-1].File, st, c.test)
	}
	return dealt, nil
}

func writeRecords(path string, st *study.Study, records *shard.Records) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("file of records: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return shard.Write(f, st, records)
}

// CheckFolder returns an error if a folder of results already exists.
func CheckFolder(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%s: the folder exists: choose another with --out, or remove it", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}
