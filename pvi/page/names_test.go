package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fedpvi/internal/testing/browser"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/page"
)

// longNames are names of effects as studies may have them. They begin alike or end alike.
var longNames = []string{
	"average_daily_systolic_pressure:primary_diagnosis_at_discharge[chronic obstructive pulmonary disease]",
	"average_daily_systolic_pressure:primary_diagnosis_at_discharge[heart failure with preserved ejection fraction]",
	"age_at_admission:primary_diagnosis_at_discharge[heart failure with preserved ejection fraction]",
}

// lengthy gives a report effects with long names and units.
func lengthy(r *page.Report) {
	r.Effects, r.Prior = nil, nil
	for _, name := range longNames {
		r.Effects = append(r.Effects, page.Effect{Name: name, Low: -1, High: 2, Natural: fit.Natural{
			Mean: -123456789.5, SD: .000012345, Low: -1.5, High: .5, Ratio: "odds ratio",
			Unit: "log odds per average_daily_systolic_pressure_in_hospital [mmHg] & <more>",
		}})
		r.Prior = append(r.Prior, fit.AgainstPrior{Name: name, Narrow: &fit.Moment{Mean: -.000012345}})
	}
}

func TestLongNames(t *testing.T) {
	text, root := write(t, `unit = "none"`, lengthy)
	heads := map[string]int{}
	walk(root, func(n *html.Node) {
		if n.Data == "th" {
			heads[content(n)]++
		}
	})
	for _, name := range longNames {
		if heads[name] != 2 { // in the results, and against the prior
			t.Errorf("%q heads %d rows", name, heads[name])
		}
	}
	has(t, text, "<wbr>[mmHg]<wbr> &amp; &lt;more&gt;</td>")
	var effects []page.Effect
	for _, name := range longNames {
		effects = append(effects, page.Effect{Name: name, Low: -1, High: 1})
	}
	shown := map[string]bool{}
	for _, bar := range page.PicturesOf(effects)[0].Bars {
		shown[bar.Name] = true
	}
	if len(shown) != len(longNames) {
		t.Errorf("the picture has the names %v", shown)
	}
}

// content returns the text of an element.
func content(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(content(c))
	}
	return b.String()
}

// A table that is wider than the page would be cut on paper.
func TestTablesFitInABrowser(t *testing.T) {
	b := browser.Start(t)
	text, _ := write(t, `unit = "record", epsilon = 1.0, delta = 1e-5`, lengthy)
	path := filepath.Join(t.TempDir(), "report.html")
	check(t, os.WriteFile(path, []byte(text), 0o600))
	b.Go("file://" + path)
	b.Look("report-long-names")
	var wide []string
	b.Eval(`[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.scrollWidth - e.clientWidth + " pixels: " + e.innerText.slice(0, 60))`, &wide)
	if len(wide) > 0 {
		t.Errorf("tables are wider than the page: %q", wide)
	}
}
