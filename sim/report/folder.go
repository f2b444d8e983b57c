package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// A Folder is the results folder of a run. Until it is complete, it has a temporary name next to
// its final path.
type Folder struct {
	path       string
	work       string
	transcript *os.File
	buffer     *bufio.Writer
}

// NewFolder creates the folder of a run under a temporary name.
func NewFolder(path string) (*Folder, error) {
	if err := sim.CheckFolder(path); err != nil {
		return nil, err
	}
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(parent, "."+filepath.Base(path)+"-unfinished-")
	if err != nil {
		return nil, err
	}
	f := &Folder{path: path, work: work}
	if f.transcript, err = os.Create(filepath.Join(work, "transcript.jsonl")); err != nil {
		return nil, errors.Join(err, f.Discard())
	}
	f.buffer = bufio.NewWriter(f.transcript)
	return f, nil
}

type entry struct {
	Sequence     int            `json:"sequence"`
	Plan         int            `json:"plan"`
	Verdict      pvi.Verdict    `json:"verdict"`
	Participants []pvi.ClientID `json:"participants"`
	Sum          []int64        `json:"sum"`               // opened sum in lattice steps
	Lambda       []pvi.Wide     `json:"lambda"`            // λ − λ_prior after the round, in lattice steps
	Epsilon      *float64       `json:"epsilon,omitempty"` // proven upper bound on each client's ε up to and including this outcome
}

// Record adds an outcome to the transcript.
func (f *Folder) Record(o *pvi.Outcome, lambda []pvi.Wide, epsilon *float64) error {
	return f.writeLine(entry{o.Sequence, o.Number, o.Verdict, o.Participants, o.Sum, lambda, epsilon})
}

// RecordScale adds the passes of the scale phase to the transcript. s may be nil.
func (f *Folder) RecordScale(s *sim.Standardisation) error {
	if s == nil {
		return nil
	}
	for _, o := range s.Outcomes {
		if err := f.writeLine(o); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) writeLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := f.buffer.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	return nil
}

// These are the number of chains that a run saves, and the number of draws in each.
const (
	Chains        = 4
	DrawsPerChain = 1000
)

// Finish writes all results of the simulation p and renames the folder to its final path. st is the
// study as the user wrote it, and h holds the run's recorded points.
func (f *Folder) Finish(st *study.Study, p *sim.Play, r *sim.Result, h *sim.History) error {
	if err := f.closeTranscript(p.Federation.LastOutcome); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	p.ObserveLast(h, r)
	steps := []func() error{
		func() error { return f.texts(st, r) },
		func() error { return f.posterior(st, r, p.Normals) },
		func() error { return f.tables(r) },
		func() error { return f.predictions(st, r) },
		func() error { return f.figures(r, h, p) },
		func() error { return f.write("report.html", func(w io.Writer) error { return writePage(w, p, r) }) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Chmod(f.work, 0o755); err != nil {
		return err
	}
	if err := os.Rename(f.work, f.path); err != nil {
		return fmt.Errorf("%s: the folder of the run cannot be renamed to this (it is %s): %w", f.path, f.work, err)
	}
	return nil
}

func (f *Folder) tables(r *sim.Result) error {
	if r.Tables == nil {
		return nil
	}
	figure, err := Tables(r.Tables)
	if err != nil {
		return err
	}
	return errors.Join(
		f.write("tables.csv", func(w io.Writer) error { return words.TablesCSV(w, r.Tables) }),
		f.WriteFigure("tables", figure),
	)
}

// closeTranscript writes the outcome of the last round, if there was one.
func (f *Folder) closeTranscript(last *lastround.Outcome) error {
	if last != nil {
		if err := f.writeLine(last); err != nil {
			return err
		}
	}
	err := errors.Join(f.buffer.Flush(), f.transcript.Sync(), f.transcript.Close())
	if err == nil {
		f.transcript = nil
	}
	return err
}

// texts writes the study, the result and the privacy statement. It also writes q if that is not the
// posterior.
func (f *Folder) texts(st *study.Study, r *sim.Result) error {
	var err error
	if r.Q != nil {
		err = f.writeJSON("q.json", r.Q)
	}
	return errors.Join(
		err,
		f.write("study.toml", func(w io.Writer) error { _, err := w.Write(st.Source); return err }),
		f.writeJSON("run.json", r),
		f.write("privacy.txt", func(w io.Writer) error { return statementFile(w, r) }),
	)
}

// posterior writes the point estimates, or the posterior and draws from it.
func (f *Folder) posterior(st *study.Study, r *sim.Result, normal func(chain int) func() float64) error {
	if st.Model.Absent() {
		return nil
	}
	if r.Estimates != nil {
		return errors.Join(
			f.writeJSON("posterior.json", estimatesFile{r.Notes, r.Estimates, r.NonPrivate, r.Quantities}),
			f.write("posterior.csv", func(w io.Writer) error { return estimatesCSV(w, r) }),
		)
	}
	family, err := gaussian.New(r.Family, len(r.Posterior))
	if err != nil {
		return err
	}
	s, err := newShown(r, family)
	if err != nil {
		return err
	}
	cov, err := s.naturalCovariance()
	if err != nil {
		return err
	}
	if a := r.NoiseAware; a != nil {
		err = f.write("noise-aware.csv", func(w io.Writer) error { return noiseAwareCSV(w, a) })
	}
	return errors.Join(
		err,
		f.writeJSON("posterior.json", posteriorFile{r.Notes, r.NoiseAware, r.Posterior, r.NonPrivate, r.Quantities, r.Family, r.Natural, r.Covariance, cov}),
		f.write("posterior.csv", func(w io.Writer) error { return posteriorCSV(w, r) }),
		f.draws(s, normal),
	)
}

// draws writes two files for each chain, one with draws on the model's scale and one with draws in
// natural units.
func (f *Folder) draws(s *shown, normal func(chain int) func() float64) error {
	for chain := 1; chain <= Chains; chain++ {
		write := func(name string, natural bool) error {
			return f.write(fmt.Sprintf(name, chain), func(w io.Writer) error {
				return s.draws(w, natural, chain, DrawsPerChain, normal(chain))
			})
		}
		if err := errors.Join(write("draws-%d.csv", false), write("natural-draws-%d.csv", true)); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) figures(r *sim.Result, h *sim.History, p *sim.Play) error {
	if p.Reference == nil {
		return nil // without a model, the tables are the only figure
	}
	intervals, err := Intervals(r)
	if err != nil {
		return err
	}
	mean, cov, err := p.Reference.Moments()
	if err != nil {
		return err
	}
	target := Target{Mean: mean, SD: make([]float64, len(mean))}
	for i, m := range r.NonPrivate {
		target.Names, target.SD[i] = append(target.Names, m.Name), math.Sqrt(cov.At(i, i))
	}
	rounds, err := Rounds(h, p.Federation.Protocol.Family(), target, r.Estimates == nil)
	if err != nil {
		return err
	}
	figures := map[string]Figure{"posterior": intervals, "rounds": rounds}
	if r.Prior != nil {
		if figures["prior"], err = AgainstPrior(r.Prior); err != nil {
			return err
		}
	}
	if r.Checks != nil {
		if figures["checks"], err = Checks(r.Checks, checked(r)); err != nil {
			return err
		}
	}
	var all errgroup.Group // drawing figures with many parameters takes long
	for name, figure := range figures {
		all.Go(func() error { return f.WriteFigure(name, figure) })
	}
	return all.Wait()
}

func (f *Folder) predictions(st *study.Study, r *sim.Result) error {
	if r.Test == nil {
		return nil
	}
	err := errors.Join(
		f.writeJSON("predictions.json", map[string]*sim.Predictions{"posterior": r.Test, "nonprivate": r.NonPrivateTest}),
		f.write("predictions.csv", func(w io.Writer) error { return predictionsCSV(w, st, r) }),
	)
	if err != nil || len(r.Test.Calibration) == 0 {
		return err
	}
	figure, err := Calibration(st, r.Test)
	if err != nil {
		return err
	}
	return f.WriteFigure("calibration", figure)
}

// Discard removes a folder that will never be completed.
func (f *Folder) Discard() error {
	if f.transcript != nil {
		f.transcript.Close()
	}
	return os.RemoveAll(f.work)
}

// WriteFigure writes a figure as SVG and PNG.
func (f *Folder) WriteFigure(name string, figure Figure) error {
	return WriteFigure(filepath.Join(f.work, name), figure)
}

// WriteFigure writes a figure to path.svg and path.png.
func WriteFigure(path string, figure Figure) error {
	for _, format := range []string{"svg", "png"} {
		picture, err := figure.Encode(format)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+"."+format, picture, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// posteriorFile is the JSON content of posterior.json.
type posteriorFile struct {
	Notes      []string        `json:"notes,omitempty"`
	NoiseAware *sim.NoiseAware `json:"noise_aware,omitempty"`
	// Posterior has the marginals of the posterior. If NoiseAware is not nil, it has those of q.
	Posterior  []sim.Marginal `json:"posterior"`
	NonPrivate []sim.Marginal `json:"nonprivate"`
	Quantities []fit.Quantity `json:"quantities,omitempty"`
	Family     string         `json:"family"`
	// precision times mean, then the precision: its lower triangle by rows or, in a diagonal
	// family, only the diagonal
	Natural    []float64   `json:"natural_parameters"`
	Covariance [][]float64 `json:"covariance"`

	// NaturalCovariance is the covariance of the reported posterior in natural units. If a
	// parameter is fitted on the log scale, it is the covariance of the parameter's logarithm.
	NaturalCovariance [][]float64 `json:"natural_covariance"`
}

// estimatesFile is the JSON content of posterior.json when the study reports only point estimates.
type estimatesFile struct {
	Notes      []string       `json:"notes"`
	Estimates  []fit.Estimate `json:"estimates"`
	NonPrivate []sim.Marginal `json:"nonprivate"`
	Quantities []fit.Quantity `json:"quantities,omitempty"`
}

func statementFile(w io.Writer, r *sim.Result) error {
	if err := Statement(w, r); err != nil {
		return err
	}
	for _, note := range r.Notes {
		if _, err := fmt.Fprintf(w, "\nOf the posterior: %s", wrap(note)); err != nil {
			return err
		}
	}
	return nil
}

func posteriorCSV(w io.Writer, r *sim.Result) error {
	rows := [][]string{{
		"coefficient", "mean", "sd", "q2.5", "q97.5", "nonprivate_mean", "nonprivate_sd", "nonprivate_q2.5", "nonprivate_q97.5",
		"natural_mean", "natural_sd", "natural_low", "natural_high",
		"nonprivate_natural_mean", "nonprivate_natural_sd", "nonprivate_natural_low", "nonprivate_natural_high", "unit",
	}}
	for i, m := range r.Shown() {
		p := r.NonPrivate[i]
		a, b := m.Natural, p.Natural
		row := append([]string{m.Name}, exact(m.Mean, m.SD, m.Lower, m.Upper, p.Mean, p.SD, p.Lower, p.Upper,
			a.Mean, a.SD, a.Low, a.High, b.Mean, b.SD, b.Low, b.High)...)
		rows = append(rows, append(row, m.Unit))
	}
	for i, q := range r.Quantities {
		own, pooled := spread(&q), spread(&r.NonPrivateQuantities[i])
		rows = append(rows, append(slices.Concat([]string{q.Name}, own, pooled, own, pooled), q.Unit))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// spread returns the moments and the interval of a quantity, or nothing if the quantity may be
// infinite for some θ.
func spread(q *fit.Quantity) []string {
	if q.Spread == nil {
		return make([]string, 4)
	}
	return exact(q.Mean, q.SD, q.Lower, q.Upper)
}

func estimatesCSV(w io.Writer, r *sim.Result) error {
	rows := [][]string{{
		"coefficient", "estimate", "nonprivate_mean", "nonprivate_sd", "nonprivate_q2.5", "nonprivate_q97.5",
		"natural_estimate", "nonprivate_natural_mean", "nonprivate_natural_sd", "nonprivate_natural_low", "nonprivate_natural_high", "unit",
	}}
	for i, e := range r.Estimates {
		p := r.NonPrivate[i]
		b := p.Natural
		row := append([]string{e.Name}, exact(e.Value, p.Mean, p.SD, p.Lower, p.Upper, e.Natural, b.Mean, b.SD, b.Low, b.High)...)
		rows = append(rows, append(row, e.Unit))
	}
	for i, q := range r.Quantities {
		value, pooled := []string{""}, spread(&r.NonPrivateQuantities[i])
		if q.Estimate != nil {
			value = exact(*q.Estimate)
		}
		rows = append(rows, append(slices.Concat([]string{q.Name}, value, pooled, value, pooled), q.Unit))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func exact(numbers ...float64) []string {
	out := make([]string, len(numbers))
	for i, x := range numbers {
		out[i] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return out
}

func (f *Folder) writeJSON(name string, v any) error {
	return f.write(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}

func (f *Folder) write(name string, content func(io.Writer) error) error {
	file, err := os.Create(filepath.Join(f.work, name))
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	if err := errors.Join(content(buffer), buffer.Flush(), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
