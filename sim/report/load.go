package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// Load returns the study and the posterior that [Folder.Finish] wrote to a folder. In version 1 of
// the study language the posterior is q.
func Load(folder string) (*study.Study, *session.Posterior, error) {
	st, err := sim.LoadStudy(filepath.Join(folder, "study.toml"), nil)
	if err != nil {
		return nil, nil, err
	}
	if st.Model.Absent() {
		return nil, nil, fmt.Errorf("%s: the study has no model, and so no posterior: its tables are in tables.csv", folder)
	}
	run := new(sim.Result)
	if err := readJSON(folder, "run.json", run); err != nil {
		return nil, nil, err
	}
	var q posteriorFile
	if err := readJSON(folder, "posterior.json", &q); err != nil {
		return nil, nil, err
	}
	if st.Points() {
		var own sim.Q
		if err := readJSON(folder, "q.json", &own); err != nil {
			return nil, nil, err
		}
		q.Family, q.Natural = own.Family, own.Natural
	}
	result, err := momentsOf(q.Family, q.Natural, len(run.NonPrivate))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", folder, err)
	}
	result.Scale = run.Scale
	p, err := session.Describe(st, result)
	return st, p, err
}

func momentsOf(name string, natural []float64, dim int) (*session.Result, error) {
	family, err := gaussian.New(name, dim)
	if err != nil {
		return nil, err
	}
	if len(natural) != family.Size() {
		return nil, errors.New("the posterior and the study have different dimensions")
	}
	mean, cov, err := family.Moments(natural)
	if err != nil {
		return nil, err
	}
	r := &session.Result{Mean: mean, SD: make([]float64, dim), Covariance: make([][]float64, dim)}
	for i := range r.Covariance {
		r.SD[i] = math.Sqrt(cov.At(i, i))
		r.Covariance[i] = mat.Row(nil, i, cov)
	}
	return r, nil
}

func readJSON(folder, name string, into any) error {
	b, err := os.ReadFile(filepath.Join(folder, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not a folder of results of sim run: it has no %s", folder, name)
	case err != nil:
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(folder, name), err)
	}
	return nil
}

// ReadNew reads records from a file for which the user wants predictions.
func ReadNew(ctx context.Context, st *study.Study, path string) (records *shard.New, report shard.Report, err error) {
	err = origin.Source{From: path}.Read(ctx, shard.Format(st), shard.Wanted(st), io.Discard, func(rows table.Reader) (err error) {
		records, report, err = shard.ReadNew(path, rows, st)
		return err
	})
	return records, report, err
}
