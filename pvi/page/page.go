// Package page writes the result of a study, or the examination of records, as one HTML page. It
// loads nothing from elsewhere and has no script.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// A Report is the content of a page.
type Report struct {
	Protocol *pvi.Protocol
	Costs    []method.Cost // for each observer and adjacency, the study's target first; nil without privacy

	// Effects holds the posterior of each parameter. A study without intervals has Estimates
	// instead.
	Effects   []Effect
	Estimates []fit.Estimate

	Quantities []fit.Quantity // quantities that are computed from the parameters

	Prior  []fit.AgainstPrior // comparison with the prior; may be nil
	Notes  []string           // notes about the result
	Tables *describe.Summary  // tables that describe the records; nil if there are none

	HeldOut *describe.Scored // scores of held-out records; nil if there are none

	Conditional *fit.Conditional // expected outcomes of made-up records; nil if there are none

	Checks  []fit.Check // checks against the records of a simulation; may be nil
	Records string      // describes the records with which the model is compared

	Simulated bool     // whether the clients were simulated
	Clients   []string // clients that took part; empty in a simulation
	Checked   []string // sentences about the verification of the result
	Program   string   // name and version of the program
	Date      string   // day on which the page was written, or ""
}

// An Effect is the posterior of a parameter.
type Effect struct {
	Name      string
	Natural   fit.Natural // posterior in natural units
	Low, High float64     // 95 % interval on the model's scale
	Log       bool        // whether the parameter is positive, such as an sd
}

//go:embed page.html check.html style.html picture.svg
var sources embed.FS

// Style is the style sheet of the pages.
//
//go:embed style.css
var Style string

var pages = template.Must(template.New("pages").Funcs(template.FuncMap{
	"style":       func() template.CSS { return template.CSS(Style) },
	"number":      words.Number,
	"breaks":      breaks,
	"exp":         math.Exp,
	"shift":       shift,
	"cells":       words.QuantityCells,
	"quantities":  func() string { return words.QuantitiesTitle },
	"rows":        words.TableRows,
	"note":        words.TablesNote,
	"scores":      words.ScoreRows,
	"scored":      words.ScoresNote,
	"scorestitle": func() string { return words.ScoresTitle },
	"head": func(s *describe.Summary) []string {
		names, _ := words.TableHead(s)
		return names
	},
	"most":  func() int { return mostBars },
	"along": func(share float64) float64 { return barWidth * share },
}).ParseFS(sources, "*.html", "*.svg"))

// barWidth is the width of a bar for all records, in units of the picture.
const barWidth = 100.

// Write writes the page.
func Write(w io.Writer, r *Report) error {
	return pages.ExecuteTemplate(w, "page.html", newView(r))
}

func newView(r *Report) *view { return &view{Report: r, Explained: words.NewExplained(r.Protocol)} }

// Body returns the page without the surrounding document, for web sites that have their own.
func (r *Report) Body() (template.HTML, error) { return body("report", newView(r)) }

// Result returns the tables and effects of the page, without the surrounding document.
func (r *Report) Result() (template.HTML, error) { return body("result", newView(r)) }

// body executes the named template, which escapes all text from the study.
func body(name string, of any) (template.HTML, error) {
	var b strings.Builder
	err := pages.ExecuteTemplate(&b, name, of)
	return template.HTML(b.String()), err
}

// breaks returns a name or a unit as HTML that a browser may break after each part of a name, so that
// a table with long names is not wider than the page.
func breaks(text string) template.HTML {
	var b strings.Builder
	for _, letter := range text {
		if letter == '[' {
			b.WriteString("<wbr>")
		}
		b.WriteString(template.HTMLEscapeString(string(letter)))
		if strings.ContainsRune("_:|.)]", letter) {
			b.WriteString("<wbr>")
		}
	}
	return template.HTML(b.String())
}

// shift returns the distance between the means of two posteriors in sds of a, as text, or a dash if
// other is nil.
func shift(a fit.AgainstPrior, other *fit.Moment) string {
	if other == nil {
		return "–"
	}
	return words.Number(a.Shift(other))
}

// view holds the report and the text that is computed from it.
type view struct {
	*Report
	Explained *words.Explained
}

func (v *view) Study() *study.Study { return v.Protocol.Study() }

// NoiseIncluded reports whether the intervals include the privacy noise.
func (v *view) NoiseIncluded() bool { return v.Costs != nil && v.Study().Doubt() == "" }

// Ratios reports whether some effect is the logarithm of a ratio.
func (v *view) Ratios() bool {
	return slices.ContainsFunc(v.Effects, func(e Effect) bool { return e.Natural.Ratio != "" })
}

// Headline returns one or two sentences about the privacy of the study.
func (v *view) Headline() string {
	if v.Costs == nil {
		return "None. Every client sent its factor without noise. Such a study is for research on records that may be read."
	}
	return words.Headline(v.Costs)
}

// Conditions returns the conditions under which the costs hold.
func (v *view) Conditions() string { return words.Conditions(v.Protocol) }

// Participants describes the clients in one sentence.
func (v *view) Participants() string {
	n := len(v.Protocol.Roster())
	switch {
	case v.Simulated:
		return words.Plural(n, "client") + ", simulated in one process."
	case len(v.Clients) == 0:
		return words.Plural(n, "client") + "."
	}
	return words.Plural(len(v.Clients), "client") + ": " + strings.Join(v.Clients, ", ") + "."
}

// described is a text with the works that it cites, in order.
type described struct {
	Text  string
	Works []string
}

// Methods describes how the result was computed, for a paper.
func (v *view) Methods() described {
	var text string
	var works []string
	cite := func(work string) int {
		works = append(works, work)
		return len(works)
	}
	st, holders := v.Study(), words.Plural(len(v.Protocol.Roster()), "data holder")
	if st.Model.Absent() {
		text = fmt.Sprintf("We described the records of %s by tables, without pooling the records", holders)
	} else {
		text = fmt.Sprintf("We estimated one Bayesian posterior from the records of %s without pooling them, by partitioned variational inference [%d]", holders, cite(partitioned))
	}
	text += fmt.Sprintf(", with the program fedpvi [%d].", cite(fmt.Sprintf("%s Program, version %s.", program, strings.TrimPrefix(v.Program, "fedpvi "))))
	if !st.Model.Absent() {
		text += fmt.Sprintf(" The model was: %s.", strings.TrimSuffix(v.Explained.Model, "."))
	}
	if st.Inference.Solver == study.Scoring {
		text += " Each data holder released sums of clipped scores and information matrices at published points; the posterior was inferred from these noisy sums, so that its intervals contain the noise and the effect of clipping."
	}
	if v.Costs != nil {
		of := method.Strongest(v.Costs)
		text += fmt.Sprintf(" All releases together satisfy (ε = %s, δ = %g) differential privacy [%d] under %s for %s, against %s. The noise is discrete Gaussian [%d], and its cost was computed as an upper bound on the composition of all releases.",
			words.Number(of.Epsilon), of.Delta, cite(differential), of.Adjacency, st.Privacy.Protects(), of.View.Who, cite(discrete))
	}
	return described{text, works}
}

// These are the works that Methods cites. The entry for this program agrees with CITATION.cff.
const (
	partitioned  = "Ashman M, Bui TD, Nguyen CV, Markou S, Weller A, Swaroop S, Turner RE. Partitioned variational inference: a framework for probabilistic federated learning. arXiv:2202.12275, 2022."
	program      = "The fedpvi authors. fedpvi: federated, differentially private partitioned variational inference."
	differential = "Dwork C, McSherry F, Nissim K, Smith A. Calibrating noise to sensitivity in private data analysis. Theory of Cryptography, 2006."
	discrete     = "Canonne CL, Kamath G, Steinke T. The discrete Gaussian for differential privacy. Advances in Neural Information Processing Systems, 2020."
)
