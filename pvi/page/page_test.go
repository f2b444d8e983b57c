package page_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"fedpvi/internal/table"
	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/page"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

const source = `
study = { version = 2, name = "page", title = "A <script>alert(1)</script> & more" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x", "g"] }
privacy = { %s }
federation = { nominal_records = 100 }
column = [
  { name = "x", type = "numeric", unit = "<b>kg</b>", bounds = [0, 100] },
  { name = "g", type = "categorical", levels = ["a", "<img src=x onerror=alert(1)>"] },
  { name = "y", type = "categorical", levels = ["no", "yes"] },
]
`

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, privacy string, change func(*page.Report)) (text string, root *html.Node) {
	t.Helper()
	p := &session.Posterior{Result: &session.Result{Notes: []string{"A note <i>in</i> words."}}}
	for i, name := range []string{"intercept", "x", "g[<img src=x onerror=alert(1)>]"} {
		p.Marginals = append(p.Marginals, session.Marginal{
			Name: name, Natural: fit.Natural{Mean: .5, SD: .25, Low: 0, High: 1, Unit: "log odds per <b>kg</b>", Ratio: "odds ratio"},
			Interval: session.Interval{Mean: .5, SD: 1, Lower: -1 + float64(i), Upper: 2},
		})
	}
	r := report(t, fmt.Sprintf(source, privacy), []pvi.ClientID{"north", "south", "<west>"}, p)
	r.Checks, r.Records = []fit.Check{{Statistic: "mean <i>of</i> y", Observed: 2, Low: 0, High: 1}}, "7 <i>records</i>"
	r.Program, r.Date, r.Checked = "fedpvi test", "1 May 2026", []string{"All is valid."}
	r.Prior = []fit.AgainstPrior{{Name: "x", Posterior: fit.Moment{Mean: .5, SD: .25}, Narrow: &fit.Moment{Mean: .25}}}
	if change != nil {
		change(r)
	}
	text = written(t, r)
	root, err := html.Parse(strings.NewReader(text))
	check(t, err)
	return text, root
}

func report(t *testing.T, source string, clients []pvi.ClientID, p *session.Posterior) *page.Report {
	t.Helper()
	st, err := study.Parse("page.toml", []byte(source))
	check(t, err)
	r, err := page.New(st, clients, p)
	check(t, err)
	return r
}

func written(t *testing.T, r *page.Report) string {
	t.Helper()
	var b strings.Builder
	check(t, page.Write(&b, r))
	return b.String()
}

func has(t *testing.T, page string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not in\n%s", text, page)
		}
	}
}

func walk(n *html.Node, f func(*html.Node)) {
	if n.Type == html.ElementNode {
		f(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, f)
	}
}

// The page escapes text from the study. It has no script or link, and loads no file.
func TestPageIsSelfContained(t *testing.T) {
	text, root := write(t, `unit = "record", epsilon = 1.0, delta = 1e-5`, nil)
	count := contained(t, text, root)
	if count["circle"] != 2 || count["table"] < 3 {
		t.Errorf("elements: %v", count)
	}
	has(t, text, "&lt;script&gt;alert(1)", "north, south, &lt;west&gt;", "ε = 1 at δ = 1e-05 under add-remove", "A note &lt;i&gt;in", "mean &lt;i&gt;of&lt;/i&gt; y *", "Outcomes of 7 &lt;i&gt;records", "1 May 2026", "All is valid.", "1.649 <span>(1 to 2.718)</span>", "[4]", "The fedpvi authors. fedpvi", "<td>-1</td><td>–</td>")
	if strings.Contains(text, "is a simulation") {
		t.Error("the page says that the study was simulated")
	}
}

// contained checks that a page has no script, link or image, and counts its elements by kind.
func contained(t *testing.T, text string, root *html.Node) map[string]int {
	t.Helper()
	count := map[string]int{}
	walk(root, func(n *html.Node) {
		count[n.Data]++
		for _, a := range n.Attr {
			switch {
			case a.Key == "src", a.Key == "href", strings.HasPrefix(a.Key, "on"), strings.Contains(a.Val, "url("):
				t.Errorf("element %s has the attribute %s", n.Data, a.Key)
			}
		}
	})
	for _, element := range []string{"script", "link", "img", "iframe", "i", "b", "object"} {
		if count[element] > 0 {
			t.Errorf("%d elements %s", count[element], element)
		}
	}
	if strings.Contains(text, "@import") || count["main"] != 1 {
		t.Errorf("elements: %v", count)
	}
	return count
}

// A page says if there is no privacy, if there are no intervals, or if the study was simulated.
func TestPageSaysWhatIsMissing(t *testing.T) {
	text, root := write(t, `unit = "none"`, func(r *page.Report) {
		r.Effects, r.Estimates, r.Simulated = nil, []fit.Estimate{{Name: "x", Natural: 2.5, Unit: "log odds"}}, true
	})
	has(t, text, "None. Every client sent its factor without noise.", "point estimates alone", "This is a simulation", "2.5")
	walk(root, func(n *html.Node) {
		if n.Data == "svg" {
			t.Error("the page has a picture of intervals that there are not")
		}
	})
}

func TestPageSaysWhetherIntervalsContainTheNoise(t *testing.T) {
	for text, want := range map[string]bool{
		fmt.Sprintf(source, `unit = "record", epsilon = 1.0, delta = 1e-5`): true,
		fmt.Sprintf(source, `unit = "none"`):                                false,
		strings.Replace(fmt.Sprintf(source, `unit = "client", noise_multiplier = 4, delta = 1e-5, clip = 60`), "version = 2", "version = 1", 1) + "[inference]\nrounds = 3\n": false,
	} {
		body, err := report(t, text, []pvi.ClientID{"north", "south"}, &session.Posterior{Result: &session.Result{}, Marginals: []session.Marginal{{Name: "x"}}}).Result()
		check(t, err)
		if strings.Contains(string(body), "Intervals contain the uncertainty that the privacy noise adds") != want {
			t.Errorf("the page of the study%s\nsays %s", text, body)
		}
	}
}

// The text about the methods cites each of its references, and claims a posterior only with a
// model. The reference to the program agrees with CITATION.cff.
func TestMethods(t *testing.T) {
	citation, err := os.ReadFile("../../CITATION.cff")
	check(t, err)
	has(t, string(citation), `title: "fedpvi: federated, differentially private partitioned variational inference"`, "name: The fedpvi authors")
	fitted := fmt.Sprintf(source, `unit = "record", epsilon = 1.0, delta = 1e-5`)
	before, after, _ := strings.Cut(fitted, "model = {")
	_, after, _ = strings.Cut(after, "\n")
	for text, want := range map[string]int{fitted: 4, before + "describe = { bins = 5 }\n" + after: 3} {
		r := report(t, text, []pvi.ClientID{"north", "south"}, &session.Posterior{Result: &session.Result{}})
		r.Program = "fedpvi 1.2"
		_, methods, _ := strings.Cut(written(t, r), ">Methods</h2>")
		has(t, methods, "The fedpvi authors. fedpvi: federated, differentially private partitioned variational inference. Program, version 1.2.")
		for n := 1; n <= want; n++ {
			if !strings.Contains(methods, fmt.Sprintf("[%d]", n)) {
				t.Errorf("reference %d is not cited in %s", n, methods)
			}
		}
		if strings.Count(methods, "<li>") != want || strings.Contains(methods, fmt.Sprintf("[%d]", want+1)) || strings.Contains(methods, "Bayesian posterior") == r.Protocol.Study().Model.Absent() {
			t.Errorf("the methods of the study%s\nare%s", text, methods)
		}
	}
}

// The table of conditional effects has a row for each finite expected value, and names a column
// only once.
func TestPageHasConditionalEffects(t *testing.T) {
	text, root := write(t, `unit = "record", epsilon = 1.0, delta = 1e-5`, func(r *page.Report) {
		x := fit.Held{Column: "<i>x", Value: "7", Unit: "<b>kg"}
		r.Conditional = &fit.Conditional{Names: []string{"p(no)", "p(<yes>)"}, Reference: []fit.Held{x, x}, Rows: []fit.Expected{
			{Held: x, Of: []fit.Quantity{{Spread: &fit.Spread{Mean: .5, Lower: .25, Upper: .75}}, {Undefined: 3}}},
			{Held: fit.Held{Column: "<i>x", Value: "8"}, Of: []fit.Quantity{{Undefined: 3}, {Spread: &fit.Spread{Mean: .375, Lower: .25, Upper: 1.25}}}},
		}}
	})
	contained(t, text, root)
	_, section, _ := strings.Cut(text, "Conditional effects</h2>")
	section, _, _ = strings.Cut(section, "</section>")
	has(t, section, "Probability of each level of y", "&lt;i&gt;x 7 &lt;b&gt;kg, &lt;i&gt;x 7 &lt;b&gt;kg.", "p(&lt;yes&gt;)", `x1="0" x2="50"`, `x1="0" x2="100"`, `cx="12.5"`, "<td>0.375</td>")
	if rows, named := strings.Count(section, "<tr>"), strings.Count(section, `scope="row">&lt;i&gt;x<`); rows != 3 || named != 1 {
		t.Errorf("%d rows, of which %d name the column:\n%s", rows, named, section)
	}
}

func TestPageNamesTheOutcome(t *testing.T) {
	const program = "data { int N; vector[N] n; vector[N] x; } parameters { real a; real b; } model { a ~ normal(0, 1); b ~ normal(0, 1); n ~ normal(a + b * x, 1); }"
	for _, c := range []struct{ model, want string }{
		{`program = "` + program + `"`, "Expected n, if"},
		{`program = "` + program + ` generated quantities { vector[N] u_expected = a + b * x; vector[N] v_expected = x; }"`, "Expected values that the program generates, if"},
		{`formula = "n ~ x", family = "poisson"`, "Expected n, if"},
		{`formula = "n ~ x", family = "bernoulli", positive = ">= 3"`, "Probability that n is &gt;= 3, if"},
	} {
		r := report(t, `study = { version = 2, name = "page" }
model = { `+c.model+` }
privacy = { unit = "none" }
column = [{ name = "n", type = "numeric", bounds = [0, 10] }, { name = "x", type = "numeric", bounds = [0, 10] }]`, []pvi.ClientID{"north"}, &session.Posterior{Result: &session.Result{}})
		var err error
		r.Conditional, err = r.Protocol.Model().Conditional(fit.At([]float64{.5, .25}))
		check(t, err)
		has(t, written(t, r), c.want)
	}
}

// For effects of very different sizes, 0 is marked correctly, the middle of a bar lies between its
// ends, and these lie within the picture.
func TestPicture(t *testing.T) {
	for _, effects := range [][]page.Effect{
		{{Name: "a", Low: 1, High: 2}, {Name: "b", Low: -3, High: -1}},
		{{Name: "a", Low: 1e-9, High: 2e-9}},
		{{Name: "a", Low: -4e12, High: 1e12}},
		{{Name: "a", Low: -.05, High: 1}},
	} {
		all := page.PicturesOf(effects)
		if len(all) != 1 {
			t.Fatalf("%v: %d pictures", effects, len(all))
		}
		p := all[0]
		if len(p.Bars) != len(effects) || len(p.Ticks) < 3 || len(p.Ticks) > 12 {
			t.Errorf("%v: %d bars and %d ticks", effects, len(p.Bars), len(p.Ticks))
		}
		for _, tick := range p.Ticks {
			if tick.Text == "-0" {
				t.Errorf("%v: the axis has the label -0", effects)
			}
		}
		for i, b := range p.Bars {
			if !(0 < b.Left && b.Left < b.Mid && b.Mid < b.Right && b.Right < p.Width) || b.Zero != (b.Left <= p.Zero && p.Zero <= b.Right) {
				t.Errorf("%v: %+v with 0 at %g", effects[i], b, p.Zero)
			}
		}
	}
	if page.PicturesOf([]page.Effect{{Name: "sd", Log: true, Low: 1, High: 2}, {Name: "intercept", Low: 1, High: 2}}) != nil {
		t.Error("there is a picture of nothing")
	}
}

// 200 effects are divided among pictures with the same axis, of which two fit on a page. Every name
// fits.
func TestManyEffects(t *testing.T) {
	var effects []page.Effect
	for i := range 200 {
		effects = append(effects, page.Effect{Name: strings.Repeat("ä", i), Low: float64(i), High: float64(i + 1)})
	}
	all, bars := page.PicturesOf(effects), 0
	for _, p := range all {
		bars += len(p.Bars)
		if p.Height > 440 || !cmp.Equal(p.Ticks, all[0].Ticks) {
			t.Errorf("a picture has height %g and ticks %v", p.Height, p.Ticks)
		}
		for _, b := range p.Bars {
			if letters := utf8.RuneCountInString(b.Name); 6*float64(letters) > p.Names || letters > 46 {
				t.Errorf("a name of %d letters has the width %g", letters, p.Names)
			}
		}
	}
	if len(all) != 9 || bars != 150 {
		t.Errorf("%d pictures with %d bars", len(all), bars)
	}
}

// Pictures are SVG documents with all effects, which need no style sheet. Names are plain text.
func TestFilesOfPictures(t *testing.T) {
	for count, want := range map[int][]string{0: {}, 2: {"effects.svg"}, 19: {"effects-1.svg", "effects-2.svg"}} {
		var r page.Report
		for i := range count {
			r.Effects = append(r.Effects, page.Effect{Name: fmt.Sprintf("<b>&%d", i), Low: -1, High: float64(i + 1)})
		}
		files, err := r.Files()
		check(t, err)
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
			t.Errorf("%d effects: files %q, want %q", count, got, want)
		}
		bars, names := 0, map[string]bool{}
		for file, text := range files {
			if strings.Contains(string(text), "var(") {
				t.Errorf("%s needs the style sheet of a page", file)
			}
			for d := xml.NewDecoder(bytes.NewReader(text)); ; {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				switch token := token.(type) {
				case xml.StartElement:
					if token.Name.Space != "http://www.w3.org/2000/svg" {
						t.Errorf("%s has an element %v", file, token.Name)
					}
					if token.Name.Local == "circle" {
						bars++
					}
				case xml.CharData:
					names[string(token)] = true
				}
			}
		}
		if bars != count {
			t.Errorf("%d effects: %d in the pictures", count, bars)
		}
		for _, e := range r.Effects {
			if !names[e.Name] {
				t.Errorf("no picture has the name %q", e.Name)
			}
		}
	}
}

// The page for a data holder shows text from the study and the records as plain text.
func TestPageOfACheck(t *testing.T) {
	st, err := study.Parse("page.toml", fmt.Appendf(nil, source, `unit = "record", epsilon = 1.0, delta = 1e-5`))
	check(t, err)
	rows, err := table.NewCSV(strings.NewReader("x,g,y,who\n<b>1</b>,a,no,1\n500,a,yes,1\n5,<script>,yes,2\n5,a,yes,3\n"), shard.Format(st))
	check(t, err)
	_, found, err := shard.Examine("<i>.csv", rows, st, "who")
	check(t, err)
	var b bytes.Buffer
	checked := []fit.Check{{Statistic: "mean <i>of</i> y", Observed: 2, Low: 0, High: 1, Above: .01}}
	err = page.WriteCheck(&b, &page.Check{Examined: &words.Examined{Study: st, File: "<i>.csv", Of: found, Checks: checked}, Program: "fedpvi test", Date: "1 May 2026"})
	check(t, err)
	root, err := html.Parse(bytes.NewReader(b.Bytes()))
	check(t, err)
	if count := contained(t, b.String(), root); count["li"] != 3 || count["table"] != 2 || count["style"] != 1 {
		t.Errorf("elements: %v", count)
	}
	has(t, b.String(),
		"&lt;i&gt;.csv", "4 rows: the study uses 1 record, and 3 do not fit", "In line 2. Value: &#34;&lt;b&gt;1&lt;/b&gt;&#34;",
		"Ask the study&#39;s authors to widen the bounds of x, or correct line 3.", "names 3 persons. One of them has several rows",
		"one of a, &lt;img", "mean &lt;i&gt;of&lt;/i&gt; y *", "Protect it as you protect the records",
	)
}
