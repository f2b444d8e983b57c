package words

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"fedpvi/internal/document"
	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
)

// An Explained describes a study to a data holder who has to decide whether to take part.
type Explained struct {
	Study  string `json:"study"`
	Title  string `json:"title"`
	Digest string `json:"digest"` // SHA-256 of the study document

	Model      string               `json:"model"`                  // one-line description of the model
	Parameters []ExplainedParameter `json:"parameters"`             // parameters, one for each element of θ
	Record     string               `json:"record"`                 // formula of the log density of a record
	InWords    string               `json:"record_said"`            // log density of a record, described in words
	Program    string               `json:"program"`                // SHA-256 of the record program
	Text       string               `json:"program_text,omitempty"` // program in the Stan language
	Notes      string               `json:"program_notes,omitempty"`
	Formula    string               `json:"formula,omitempty"` // formula that the program was made from
	Family     string               `json:"family,omitempty"`
	Priors     []ExplainedPrior     `json:"formula_priors,omitempty"` // priors of the parameters in the formula

	Reads  []ExplainedColumn `json:"reads"`
	Unread []string          `json:"unread,omitempty"` // columns that a file must have although the model does not use them
	Kept   []string          `json:"kept"`             // says which records are used
	Public []string          `json:"public"`
	Sent   []string          `json:"sent"`
	Read   string            `json:"who_can_read"` // says who could read a client's answer
	Stays  []string          `json:"stays"`
}

// An ExplainedParameter describes an element of θ and its prior.
type ExplainedParameter struct {
	Name  string `json:"name"`
	Prior string `json:"prior"`
	About string `json:"about"`
}

// An ExplainedPrior is the prior of a parameter in a formula, and says where it comes from.
type ExplainedPrior struct {
	Parameter string `json:"parameter"`
	Prior     string `json:"prior"`
	From      string `json:"from"`
}

// An ExplainedColumn describes a column that the model uses.
type ExplainedColumn struct {
	Name string `json:"name"`
	What string `json:"what"`
	Use  string `json:"use"`
}

// NewExplained returns the description of a study for a roster.
func NewExplained(p *pvi.Protocol) *Explained {
	st, m := p.Study(), p.Model()
	e := &Explained{
		Study: st.Name, Title: st.Title, Digest: st.Digest.String(),
		Model:  Model(m),
		Public: public(p), Sent: sent(p), Read: readers(p, fmt.Sprintf("%d of the %d clients", p.Hidden(), len(p.Roster()))), Stays: stays(st), Kept: recordsKept(st),
	}
	if !st.Model.Absent() {
		e.Record, e.InWords = m.Program().Describe().Record, likelihoodInWords(m)
		e.Program = fmt.Sprintf("%x", m.Program().Digest())
	}
	if p := st.Model.Program; p != nil {
		e.Text, e.Notes = p.Tree.Text, m.Notes()
	}
	if f := st.Model.Formula; f != nil {
		e.Formula, e.Family = f.Text, f.Family
		for _, p := range f.Priors {
			e.Priors = append(e.Priors, ExplainedPrior{p.Parameter, p.Density, p.From})
		}
	}
	for _, q := range m.Parameters.All() {
		about := q.About
		if q.Beyond {
			about = "unconstrained coordinate of the parameter that has this prior"
		}
		e.Parameters = append(e.Parameters, ExplainedParameter{q.Name, priorInWords(q), about})
	}
	reads := st.Reads()
	for _, i := range reads {
		e.Reads = append(e.Reads, explainColumn(st, &st.Columns[i]))
	}
	if name := st.Table.Person; name != "" {
		e.Reads = append(e.Reads, ExplainedColumn{name, "any text", fmt.Sprintf("the person of the row: a client uses at most %s of a person, chosen by lot; never sent", Plural(st.Privacy.Rows(), "row"))})
	}
	for i, c := range st.Columns {
		if !slices.Contains(reads, i) {
			e.Unread = append(e.Unread, c.Name)
		}
	}
	return e
}

// Explain writes the description of a study as text.
func Explain(w io.Writer, p *pvi.Protocol) error {
	e := NewExplained(p)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s, sha256 %s\n\nWhat is estimated\n\n%s\n", e.Title, e.Study, e.Digest, Wrap(e.Model+"."))
	if e.Parameters != nil {
		e.writeModel(&b)
	}
	b.WriteString("\nWhat is read of a record\n\n")
	rows := [][]string{{"column", "holds", "is used as"}}
	for _, c := range e.Reads {
		rows = append(rows, []string{c.Name, c.What, c.Use})
	}
	shortTable(&b, rows, len(rows))
	for _, section := range []struct {
		title string
		items []string
	}{{"Which records count", e.Kept}, {"What is public", e.Public}, {"What a client sends", append(append(slices.Clip(e.Sent), e.Read), cost(p.Study())...)}, {"What stays with a client", e.Stays}} {
		fmt.Fprintf(&b, "\n%s\n\n", section.title)
		for _, item := range section.items {
			b.WriteString(Bullet(item))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeModel writes a table of parameters and priors, the log density of a record both in words and
// as a formula, and the text of the program.
func (e *Explained) writeModel(b *strings.Builder) {
	rows := [][]string{{"parameter", "prior", "is"}}
	for _, q := range e.Parameters {
		rows = append(rows, []string{q.Name, q.Prior, q.About})
	}
	shortTable(b, rows, mostExplained)
	fmt.Fprintf(b, "\nWhat one record adds to the log density of these parameters, and nothing else does\n\n%s\n  %s\n%s", Wrap(e.InWords), e.Record, e.ProgramText())
}

// ProgramText returns the text of the study's program with notes from the compiler, or "" if the
// study has no program. If the program was made from a formula, the text begins with the formula
// and its priors, and says where these come from.
func (e *Explained) ProgramText() string {
	if e.Text == "" {
		return ""
	}
	var b strings.Builder
	if e.Formula != "" {
		e.writeFormula(&b)
	}
	b.WriteString("\nThe program, in the Stan language\n\n")
	for line := range strings.Lines(strings.TrimRight(e.Text, "\n") + "\n") {
		b.WriteString("  " + strings.Map(visible, line))
	}
	if e.Notes != "" {
		fmt.Fprintf(&b, "\n%s\n", e.Notes)
	}
	return b.String()
}

func (e *Explained) writeFormula(b *strings.Builder) {
	shown := strings.Join(strings.Fields(strings.Map(visible, e.Formula)), " ")
	fmt.Fprintf(b, "\nThe formula\n\n  %s\n  family = %s\n\nIts priors, and where they come from. None comes from records.\n\n", shown, strings.Map(visible, e.Family))
	rows := [][]string{{"parameter", "prior", "from"}}
	for _, p := range e.Priors {
		rows = append(rows, []string{p.Parameter, p.Prior, p.From})
	}
	shortTable(b, rows, mostExplained)
}

// visible is meant for [strings.Map]. It replaces characters that a terminal would not show by
// question marks, and removes carriage returns.
func visible(r rune) rune {
	switch {
	case r == '\r':
		return -1
	case r != '\n' && document.Hidden(r):
		return '?'
	}
	return r
}

// ExplainStan writes the text of the program that a study gives.
func ExplainStan(w io.Writer, p *pvi.Protocol) error {
	program := p.Study().Model.Program
	if program == nil {
		return errors.New("the study names a family and gives no program: --ir prints its operations")
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(strings.Map(visible, program.Tree.Text), "\n"))
	return err
}

func cost(st *study.Study) []string {
	switch st.Privacy.Unit {
	case study.Client:
		return []string{"How much that reveals about the client's whole data set, and to whom: sim plan prints this."}
	case study.Record, study.Person:
		return []string{fmt.Sprintf("How much that reveals about %s, and to whom: sim plan prints this.", st.Privacy.Protects())}
	}
	return nil
}

// mostExplained is the largest number of parameters that a text lists.
const mostExplained = 40

// shortTable writes a table that has rows[0] as its heading, and at most the given number of other
// rows.
func shortTable(b *strings.Builder, rows [][]string, most int) {
	if more := len(rows) - 1 - most; more > 0 {
		rows = append(rows[:1+most], []string{fmt.Sprintf("and %d more", more), "", "--json lists all"})
	}
	_ = Table(b, "  ", 3, rows) // a strings.Builder never returns an error
}

// ExplainJSON writes the description of a study as one JSON object.
func ExplainJSON(w io.Writer, p *pvi.Protocol) error {
	return json.NewEncoder(w).Encode(NewExplained(p))
}

// Bullet returns text as an item in a list.
func Bullet(text string) string {
	lines := strings.Split(strings.TrimSuffix(Wrap(text), "\n"), "\n")
	return "  - " + strings.Join(lines, "\n    ") + "\n"
}

func priorInWords(p fit.Parameter) string {
	if p.Beyond {
		return p.About
	}
	if p.HalfNormal > 0 {
		return fmt.Sprintf("half-normal, scale %s", Number(p.HalfNormal))
	}
	if p.Spread != "" {
		return fmt.Sprintf("normal(0, %s)", p.Spread)
	}
	if p.Log {
		l := p.OwnPrior()
		return fmt.Sprintf("log-normal, median %s, one sd a factor of %s", Number(l.Median), Number(l.Factor))
	}
	return fmt.Sprintf("normal(%s, %s)", Number(p.Prior.Mean), Number(p.Prior.SD))
}

func likelihoodInWords(m *fit.Model) string {
	st := m.Study
	if st.Model.Family == study.ByProgram {
		return "Given the parameters, the log density that the program gives a record:"
	}
	if st.Model.Family == study.Mixture {
		return fmt.Sprintf("The columns %s of a record are drawn from one of %d normal clusters, chosen by the weights; the density sums over the clusters.",
			strings.Join(st.Model.Variables, ", "), st.Model.Components)
	}
	predictor := "η, the sum of the coefficients times the record's values (x·beta)"
	if len(st.Model.Groups) > 0 {
		predictor += " and the effects of its groups"
	}
	if st.Model.Family == study.NeuralNetwork {
		predictor = "η, the output of the network"
	}
	return "Given the parameters, " + st.Model.Sentence(predictor) + "."
}

func explainColumn(st *study.Study, c *study.Column) ExplainedColumn {
	e := ExplainedColumn{Name: c.Name, What: span(c)}
	if c.Type != study.Numeric {
		e.What = fmt.Sprintf("one of %d levels: %s", len(c.Levels), shortened(c.Levels))
	}
	switch {
	case st.Model.Absent():
		e.Use = "described in tables"
	case !slices.Contains(st.Modelled(), st.ColumnIndex(c.Name)):
		e.Use = "described in tables, and not used in the model"
	case st.Model.Program != nil:
		e.Use = variablesOf(st, c)
	case c.Name == st.Model.Outcome && st.Model.Positive != nil:
		e.Use = "the outcome: 1 if " + st.Model.Positive.Text + ", else 0"
	case c.Name == st.Model.Outcome && st.Model.Kind() != study.Measured:
		e.Use = "the outcome, as it is"
	case c.Name == st.Model.Outcome:
		e.Use = "the outcome, " + scaling(st, c)
	case c.Numerical():
		e.Use = scaling(st, c)
	default:
		e.Use = "an indicator of each level but the first"
		if st.Model.OneHot {
			e.Use = "an indicator of each level"
		}
		if slices.ContainsFunc(st.Model.Groups, func(g study.Group) bool { return g.By == c.Name }) {
			e.Use = "the group"
		}
	}
	return e
}

func variablesOf(st *study.Study, c *study.Column) string {
	var uses []string
	for _, v := range st.Model.Program.Variables {
		for k, p := range v.Parts {
			if &st.Columns[p.Column] != c {
				continue
			}
			name := v.Name
			if len(v.Parts) > 1 {
				name = fmt.Sprintf("%s[%d]", name, k+1)
			}
			switch {
			case p.Is != nil:
				name += ", 1 if " + p.Is.Text + ", else 0"
			case c.Type != study.Numeric:
				name += ", the number of the level"
			case c.Transform != "":
				name += ", " + string(c.Transform) + " of the value"
			}
			uses = append(uses, name)
		}
	}
	return strings.Join(uses, "; ")
}

func shortened(levels []string) string {
	const most = 4
	if len(levels) <= most {
		return strings.Join(levels, ", ")
	}
	return strings.Join(levels[:most], ", ") + ", …"
}

func scaling(st *study.Study, c *study.Column) string {
	what := "the value"
	switch {
	case c.Transform != "":
		what = string(c.Transform) + " of the value"
	case c.Dated:
		what = "the number of " + c.Unit
	}
	switch {
	case !st.Model.Standardise:
		return what
	case c.Spread > 0:
		return fmt.Sprintf("(%s − %s)/%s", what, Number(c.Centre), Number(c.Spread))
	}
	return what + ", mapped to [−1, 1]"
}
