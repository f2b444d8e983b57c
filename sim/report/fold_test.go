package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/fit"
	"fedpvi/sim"
	"fedpvi/sim/audit"
)

// outside returns the texts in an SVG figure that reach beyond its left or right edge.
func outside(t *testing.T, svg string) (texts []string) {
	t.Helper()
	number := func(s string) vg.Length {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return vg.Length(x)
	}
	whole := regexp.MustCompile(`<svg width="([0-9.]+)pt"`).FindStringSubmatch(svg)
	if whole == nil {
		t.Fatalf("the figure has no width:\n%.200s", svg)
	}
	style := noteStyle()
	found := regexp.MustCompile(`<text x="([-0-9.]+)" y="[-0-9.]+" transform="scale\(1, -1\)"\s+style="[^"]*font-size:([0-9.]+)px">([^<]*)</text>`).FindAllStringSubmatch(svg, -1)
	if found == nil {
		t.Fatal("the figure has no text")
	}
	for _, text := range found {
		style.Font.Size = font.Length(number(text[2]))
		left := number(text[1])
		if right := left + style.Width(text[3]); left < 0 || right > number(whole[1]) {
			texts = append(texts, text[3])
		}
	}
	return texts
}

// longNames are names like those in real studies. Some begin alike, others end alike.
var longNames = []string{
	"average_daily_systolic_pressure:primary_diagnosis_at_discharge[chronic obstructive pulmonary disease]",
	"average_daily_systolic_pressure:primary_diagnosis_at_discharge[heart failure with preserved ejection fraction]",
	"age_at_admission:primary_diagnosis_at_discharge[heart failure with preserved ejection fraction]",
}

// TestNoTextIsCut draws figures with long names, units and notes.
func TestNoTextIsCut(t *testing.T) {
	note := strings.Repeat("The last sum of scores is not as expected under this posterior: intervals may miss the truth. ", 4)
	r := &sim.Result{Notes: []string{"A short note.", note}}
	column := describe.Column{Parts: make([]describe.Part, 1)}
	var against []fit.AgainstPrior
	var checks []fit.Check
	for _, name := range longNames {
		m := sim.Marginal{Name: name, Mean: -3, Lower: -1e9, Upper: 2e9}
		m.Natural.Unit = "cost_of_the_whole_stay [CHF] per average_daily_systolic_pressure [mmHg]"
		m.Natural.Mean, m.Low, m.High = -123456789.5, -987654321.5, 123456789.5
		r.Posterior, r.NonPrivate = append(r.Posterior, m), append(r.NonPrivate, m)
		against = append(against, fit.AgainstPrior{Name: name, Prior: fit.Moment{SD: 1}, Posterior: fit.Moment{SD: .001}})
		checks = append(checks, fit.Check{Statistic: "share of " + name, Low: 131.1, High: 131.9, Observed: 131.6})
		column.Name, column.Labels = "primary_diagnosis_at_discharge", append(column.Labels, name)
		column.Parts[0].Shares = append(column.Parts[0].Shares, describe.Value{High: .2})
	}
	tables := &describe.Summary{Level: .95, Groups: []describe.Group{{}}, Columns: []describe.Column{column}}
	profile := &audit.Profile{Claimed: []audit.Rate{{FPR: .01, TPR: .1}, {FPR: 1, TPR: 1}}, Curve: []audit.Rate{{FPR: .01, TPR: .1}, {FPR: 1, TPR: 1}}}
	attack := audit.Check{Case: "aligned sampled summed gradients of some draws, 2 of 4 collude, add-remove", Profile: profile}
	attacks := &audit.Report{Checks: []audit.Check{attack, attack, attack, attack}}
	for name, draw := range map[string]func() (Figure, error){
		"posterior": func() (Figure, error) { return Intervals(r) },
		"prior":     func() (Figure, error) { return AgainstPrior(against) },
		"checks":    func() (Figure, error) { return Checks(checks, "1000000 held-out records") },
		"tables":    func() (Figure, error) { return Tables(tables) },
		"audit":     func() (Figure, error) { return AuditCurves(attacks) },
		"no unit": func() (Figure, error) {
			return Intervals(&sim.Result{NonPrivate: make([]sim.Marginal, 1), Posterior: []sim.Marginal{{Name: "shape"}}})
		},
		"title": func() (Figure, error) {
			return Figure{Panels: []*plot.Plot{NewPanel(note, "x", "y")}, Width: vg.Points(480), Height: vg.Points(320)}, nil
		},
	} {
		figure, err := draw()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		svg, err := figure.Encode("svg")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if cut := outside(t, string(svg)); cut != nil {
			t.Errorf("%s: these texts reach beyond the edge: %q", name, cut)
		}
		if strings.Contains(string(svg), ", </text>") || strings.Contains(string(svg), ",</text>") {
			t.Errorf("%s: a text ends with a comma:\n%s", name, svg)
		}
		if name == "posterior" && !strings.Contains(string(svg), ">A short note.<") {
			t.Errorf("the figure lacks the notes:\n%s", svg)
		}
	}
}

// Names below the horizontal axis must not overlap.
func TestNamesBelowTheAxisAreApart(t *testing.T) {
	const width = 480
	names := []string{"published steps with equal ε", "tied sites and moments of them", "exact factors, once for all rounds", "x", "steps of one size, averaged"}
	p := NewPanel("", "", "")
	NominalX(p, names, width)
	at, ok := p.X.Tick.Marker.(plot.ConstantTicks)
	if !ok || len(at) != len(names) {
		t.Fatalf("the axis has the ticks %v", p.X.Tick.Marker)
	}
	for i, tick := range at {
		if got := p.X.Tick.Label.Width(tick.Label); got > width/vg.Length(len(names)) {
			t.Errorf("the name %q is %v wide", tick.Label, got)
		}
		if strings.ReplaceAll(tick.Label, "\n", " ") != names[i] {
			t.Errorf("%q became %q", names[i], tick.Label)
		}
	}
}

func TestShortNamesStayDifferent(t *testing.T) {
	style := noteStyle()
	seen := map[string]bool{}
	for _, name := range longNames {
		short := shorten(name, style, labelWidth)
		if style.Width(short) > labelWidth {
			t.Errorf("%q is wider than %v", short, labelWidth)
		}
		if seen[short] {
			t.Errorf("two names became %q", short)
		}
		seen[short] = true
		if got := shorten(short, style, labelWidth); got != short {
			t.Errorf("%q, which fits, became %q", short, got)
		}
	}
}

func TestFold(t *testing.T) {
	const text = "The sds include the privacy noise.\n\nAbout 99 % of the clients were not clipped.\nnonbreakable_nonbreakable_nonbreakable"
	style := noteStyle()
	folded := fold(text, style, 60)
	if got, want := strings.Fields(folded), strings.Fields(text); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the words changed: %q", got)
	}
	for line := range strings.SplitSeq(folded, "\n") {
		if strings.Contains(line, " ") && style.Width(line) > 60 {
			t.Errorf("the line %q is too wide", line)
		}
	}
	if got := fold(text, style, 1e6); got != text {
		t.Errorf("lines that fit were broken: %q", got)
	}
}

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		value, low, high float64
		want             string
	}{
		{94.6412, 93.7805, 95.5019, "94.64 93.78 95.50"},
		{131.643, 131.101, 131.931, "131.64 131.10 131.93"},
		{1.94e-5, -.0312, .0312, "0.000 -0.031 0.031"},
		{-.0001, -.543, .0714, "0.00 -0.54 0.07"},
		{140, 99, 270, "140 99 270"},
		{14000, 9900, 27000, "14000 9900 27000"},
		{1.4881e9, 1.4277e9, 1.5494e9, "1.488e+09 1.428e+09 1.549e+09"},
		{-8.747e8, -9.311e8, -8e8, "-8.75e+08 -9.31e+08 -8.00e+08"},
		{2.5e-9, 1.1e-9, 3.9e-9, "2.50e-09 1.10e-09 3.90e-09"},
		{70, 70, 70, "70 70 70"},
		{0, 0, 0, "0 0 0"},
		{3, math.Inf(-1), 4.5, "3 -Inf 4.5"},
	} {
		v, l, h := alike(c.value, c.low, c.high)
		if got := v + " " + l + " " + h; got != c.want {
			t.Errorf("alike(%v, %v, %v) = %q, want %q", c.value, c.low, c.high, got, c.want)
		}
	}
}
