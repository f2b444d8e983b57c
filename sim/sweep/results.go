package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	resultsFile = "results.csv"
	traceFile   = "trace.csv"
	markFile    = "sweep.json"
)

// Results is an open sweep folder to which rows can be added. results.csv has a row for every
// finished run. If the sweep asks for a trace, trace.csv has rows for rounds. sweep.json identifies
// the sweep.
type Results struct {
	Folder string
	Notice string // how an interrupted folder was repaired; empty if it was intact

	spec    *Spec
	values  [][]float64 // metrics of each run in the order of [Spec.Metrics]; NaN for an empty field
	results *os.File
	trace   *os.File
	points  map[traceKey][]float64 // metrics of the trace, for plots
}

// formatVersion changes when the files in a sweep folder get a new layout, or when their numbers
// get a new meaning.
const formatVersion = 2

// mark is the content of sweep.json, which identifies a sweep.
type mark struct {
	Version int               `json:"version"`
	Sweep   string            `json:"sweep"`
	Digest  string            `json:"digest"`         // SHA-256 of the sweep and the study
	Data    map[string]string `json:"data,omitempty"` // SHA-256 of the files of records, by name
	Runs    int               `json:"runs"`
}

// OpenResults creates a sweep folder, or resumes one that belongs to the same sweep and study. It
// repeats a run whose row is incomplete.
func OpenResults(folder string, s *Spec) (*Results, error) {
	r := &Results{Folder: folder, spec: s, points: map[traceKey][]float64{}}
	if err := r.mark(); err != nil {
		return nil, err
	}
	var err error
	if r.results, err = r.open(resultsFile, r.header(), r.readResult); err != nil {
		return nil, err
	}
	if s.Trace > 0 {
		if r.trace, err = r.open(traceFile, r.traceHeader(), r.readTrace); err != nil {
			return nil, errors.Join(err, r.results.Close())
		}
	}
	return r, nil
}

// mark creates the folder. If the folder exists, mark checks that it belongs to this sweep.
func (r *Results) mark() error {
	s := r.spec
	path := filepath.Join(r.Folder, markFile)
	if _, err := os.Lstat(r.Folder); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(r.Folder, 0o755); err != nil {
			return err
		}
		text, err := json.MarshalIndent(mark{formatVersion, s.Name, s.Digest, s.Data, s.Runs()}, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(path, append(text, '\n'), 0o644)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the folder exists and holds no sweep: choose another with --out", r.Folder)
	}
	if err != nil {
		return err
	}
	var m mark
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if m.Version != formatVersion {
		return fmt.Errorf("%s: the folder was begun by another version of this program (its format is %d, this one's %d): choose another with --out, or remove it", r.Folder, m.Version, formatVersion)
	}
	if m.Digest != s.Digest {
		return fmt.Errorf("%s: the sweep or its study has changed since the folder was begun: choose another with --out, or remove it", r.Folder)
	}
	for name, digest := range s.Data {
		if m.Data[name] != digest {
			return fmt.Errorf("%s: the file of records %s has changed since the folder was begun: choose another with --out, or remove it", r.Folder, name)
		}
	}
	return nil
}

// Runs returns the number of runs in the folder.
func (r *Results) Runs() int { return len(r.values) }

// Close closes the files.
func (r *Results) Close() error {
	err := r.results.Close()
	if r.trace != nil {
		err = errors.Join(err, r.trace.Close())
	}
	return err
}

func (r *Results) header() []string {
	header := []string{"run"}
	for _, a := range r.spec.Axes {
		header = append(header, a.Name)
	}
	return append(append(header, "seed"), r.spec.Metrics()...)
}

// key returns the fields with which every row of a run begins: its number, the labels of its
// points, and the seed.
func (r *Results) key(index int) []string {
	key := []string{strconv.Itoa(index + 1)}
	for _, c := range r.spec.cases(index / r.spec.Seeds) {
		key = append(key, c.Label)
	}
	return append(key, strconv.FormatUint(r.spec.seed(index), 10))
}

func (r *Results) traceHeader() []string {
	keys := len(r.header()) - len(r.spec.Metrics())
	return append(append(r.header()[:keys:keys], "round"), r.spec.TraceMetrics()...)
}

// open opens a CSV file in the folder for appending, and passes every complete row to read. If it
// comes to an incomplete row, or to a row that read refuses, it removes the rest of the file and
// notes this in r.Notice. An existing file must have the given header.
func (r *Results) open(name string, header []string, read func(line int, fields []string) (bool, error)) (*os.File, error) {
	path := filepath.Join(r.Folder, name)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	keep, line := 0, 0
	for rest := content; ; line++ {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		fields, err := csv.NewReader(bytes.NewReader(rest[:end])).Read()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: the row cannot be read (%v): remove it and all later rows, and the sweep repeats their runs", path, line+1, err)
		}
		if line == 0 {
			if !slices.Equal(fields, header) {
				return nil, fmt.Errorf("%s:1: the columns are not those of this version of the sweep: choose another folder with --out", path)
			}
		} else if more, err := read(line+1, fields); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line+1, err)
		} else if !more {
			break
		}
		keep += end + 1
		rest = rest[end+1:]
	}
	if keep < len(content) {
		r.Notice += fmt.Sprintf("%s:%d: the sweep was stopped while it wrote here; the incomplete run is repeated\n", path, line+1)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(int64(keep)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := file.Seek(int64(keep), 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if keep == 0 {
		err = writeRow(file, header)
	}
	return file, err
}

func (r *Results) readResult(line int, fields []string) (bool, error) {
	index := line - 2
	if index >= r.spec.Runs() {
		return false, fmt.Errorf("the sweep has only %d runs", r.spec.Runs())
	}
	key, metrics := r.key(index), r.spec.Metrics()
	if len(fields) != len(key)+len(metrics) || !slices.Equal(fields[:len(key)], key) {
		return false, fmt.Errorf("the row is not that of run %d: remove it and all later rows, and the sweep repeats their runs", index+1)
	}
	values := make([]float64, len(metrics))
	for i, field := range fields[len(key):] {
		var err error
		if values[i], err = parseField(field); err != nil {
			return false, fmt.Errorf("column %s is not a number: remove the row and all later rows, and the sweep repeats their runs", metrics[i])
		}
	}
	r.values = append(r.values, values)
	return true, nil
}

// readTrace reads a row of trace.csv. It returns false if results.csv lacks the run of this row, so
// that the row is dropped.
func (r *Results) readTrace(_ int, fields []string) (bool, error) {
	metrics := r.spec.TraceMetrics()
	keys := len(r.key(0))
	if len(fields) != keys+1+len(metrics) {
		return false, fmt.Errorf("the row has %d fields, want %d", len(fields), keys+1+len(metrics))
	}
	run, err := strconv.Atoi(fields[0])
	if err != nil || run < 1 || run > r.spec.Runs() {
		return false, errors.New("the number of the run is not in the sweep")
	}
	if run > len(r.values) {
		return false, nil
	}
	round, err := strconv.Atoi(fields[keys])
	if err != nil {
		return false, errors.New("the round is not a number")
	}
	for i, field := range fields[keys+1:] {
		x, err := parseField(field)
		if err != nil {
			return false, fmt.Errorf("column %s is not a number", metrics[i])
		}
		r.keepPoint(run-1, round, i, x)
	}
	return true, nil
}

// add writes the rows of the next run. It writes the trace first, so that every run in results.csv
// has a complete trace.
func (r *Results) add(index int, found row) error {
	key := r.key(index)
	for _, p := range found.trace {
		fields := append(slices.Clone(key), strconv.Itoa(p.round))
		for _, x := range p.values {
			fields = append(fields, formatField(x))
		}
		if err := writeRow(r.trace, fields); err != nil {
			return err
		}
		for i, x := range p.values {
			r.keepPoint(index, p.round, i, x)
		}
	}
	fields, metrics := key, r.spec.Metrics()
	values := make([]float64, len(metrics))
	for i, metric := range metrics {
		x, ok := found.values[metric]
		if !ok {
			x = nan
		}
		values[i] = x
		fields = append(fields, formatField(x))
	}
	if err := writeRow(r.results, fields); err != nil {
		return err
	}
	r.values = append(r.values, values)
	return nil
}

func (r *Results) flush() error {
	err := r.results.Sync()
	if r.trace != nil {
		err = errors.Join(err, r.trace.Sync())
	}
	return err
}

// writeRow writes a row in a single call, so that an interruption rarely leaves half a row.
func writeRow(file *os.File, fields []string) error {
	var text strings.Builder
	w := csv.NewWriter(&text)
	w.Write(fields)
	w.Flush()
	_, err := file.WriteString(text.String())
	return err
}
