package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedpvi/pvi/formula"
)

// hierarchical lists the formulas in pvi/formula/testdata with group effects, curves or ordered
// steps. Their posteriors are far from the normal approximation at the mode.
var hierarchical = []string{"logit", "rate", "negbinomial", "cumulative-probit", "slopes", "correlated", "curve", "gamma"}

// skewed lists the formulas whose posteriors are skewed for the made-up records, so that the mean
// may be further from the mode.
var skewed = []string{"zero-inflated-negbinomial", "truncated"}

// Without privacy, the fit to made-up records must be close to the normal approximation at the
// mode.
func TestFitsOfFormulas(t *testing.T) {
	if !long() {
		t.Skip("takes minutes: set FEDPVI_LONG=1")
	}
	source, err := os.ReadFile(filepath.Join("..", "pvi", "formula", "testdata", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Columns []formula.Column
		Cases   []struct {
			Name string
			formula.Request
		}
	}
	if err := json.Unmarshal(source, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cases {
		if slices.Contains(hierarchical, c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			c.Columns = all.Columns
			folder := t.TempDir()
			file := filepath.Join(folder, "study.toml")
			for name, text := range map[string]string{"study.toml": studyOf(c.Request), "data.csv": madeUp(c.Columns)} {
				writeFile(t, filepath.Join(folder, name), text)
			}
			st := load(t, file, nil)
			play := prepare(t, st, Options{StudyFile: file, Seed: 1})
			mean, cov := moments(t, play.Reference.family, play.Reference.Natural)
			model := play.Federation.Protocol.Model()
			density := func(theta []float64) float64 {
				sum := model.Program().LogPrior(theta, nil)
				for _, s := range play.Federation.Shards {
					table, err := model.Load(s)
					if err != nil {
						t.Fatal(err)
					}
					each := make([]float64, table.Rows)
					model.Program().LogDensities(each, theta, table)
					for _, x := range each {
						sum += x
					}
				}
				return sum
			}
			mode, sds := laplace(density, mean)
			var apart, wider float64
			for i := range mean {
				sd := math.Sqrt(cov.At(i, i))
				apart = max(apart, math.Abs(mean[i]-mode[i])/sds[i])
				wider = max(wider, math.Abs(math.Log(sd/sds[i])))
			}
			t.Logf("%d coordinates: means at most %.3f sds from the mode, sds by at most a factor of %.3f apart (%s)", len(mean), apart, math.Exp(wider), play.Reference.Method)
			most := .15
			if slices.Contains(skewed, c.Name) {
				most = .4
			}
			if !(apart <= most) || !(wider <= .05) {
				t.Errorf("mean %.4v, mode %.4v ± %.4v", mean, mode, sds)
			}
		})
	}
}

func studyOf(r formula.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[study]\nversion = %d\n", max(r.Version, 2))
	b.WriteString("name = \"formula\"\n[privacy]\nunit = \"none\"\n[inference]\nrounds = 1\nintervals = \"none\"\n[simulation]\ndata = [\"data.csv\"]\nclients = 2\nseed = 1\n")
	for _, c := range r.Columns {
		fmt.Fprintf(&b, "[[column]]\nname = %q\n", c.Name)
		switch {
		case len(c.Levels) > 0:
			fmt.Fprintf(&b, "type = \"categorical\"\nlevels = [\"%s\"]\n", strings.Join(c.Levels, `", "`))
		case c.Spread > 0:
			fmt.Fprintf(&b, "centre = %g\nspread = %g\n", c.Centre, c.Spread)
			fallthrough
		default:
			fmt.Fprintf(&b, "type = \"numeric\"\nbounds = [%g, %g]\n", c.Low, c.High)
		}
	}
	fmt.Fprintf(&b, "[model]\nformula = '%s'\nfamily = '%s'\n", r.Formula, r.Family)
	if r.Positive != "" {
		fmt.Fprintf(&b, "positive = '%s'\n", r.Positive)
	}
	b.WriteString("[prior]\n")
	for key, prior := range r.Priors {
		fmt.Fprintf(&b, "%s = %q\n", key, prior)
	}
	return b.String()
}

// madeUp returns a file of records whose numbers are independent. Counts and amounts are skewed. In
// models with extra zeros, a third of the outcomes are 0.
func madeUp(columns []formula.Column) string {
	random := rand.New(rand.NewPCG(10_000, 1))
	var b strings.Builder
	for i, c := range columns {
		b.WriteString(strings.Repeat(",", min(i, 1)) + c.Name)
	}
	for range 1500 {
		b.WriteByte('\n')
		none := random.IntN(3) == 0
		for i, c := range columns {
			b.WriteString(strings.Repeat(",", min(i, 1)))
			x := c.Low + (c.High-c.Low)*random.Float64()
			switch {
			case len(c.Levels) > 0:
				b.WriteString(c.Levels[random.IntN(len(c.Levels))])
				continue
			case none && (c.Name == "visits" || c.Name == "hits" || c.Name == "part" || c.Name == "paid"):
				x = 0
			case c.Name == "visits" || c.Name == "calls":
				x = min(c.High, max(c.Low, math.Floor(1+4*random.ExpFloat64())))
			case c.Name == "cost" || c.Name == "paid" || c.Name == "time":
				x = min(c.High, max(c.Low+1, c.High/8*random.ExpFloat64()))
			case c.Whole:
				x = math.Floor(x + .5)
			}
			b.WriteString(strconv.FormatFloat(x, 'g', 8, 64))
		}
	}
	return b.String() + "\n"
}
