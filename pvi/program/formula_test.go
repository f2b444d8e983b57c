package program_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"fedpvi/gpu"
	"fedpvi/internal/special"
	"fedpvi/pvi/formula"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

// A record has the value of each column by name. It is a number, or the number of a level from 0.
type record map[string]float64

func (r record) is(column string, level float64) float64 {
	if r[column] == level {
		return 1
	}
	return 0
}

// given has the values of the parameters by name. They are on the parameters' own scale.
type given map[string]float64

// level returns the element of a parameter that belongs to a level of a group. Levels are counted
// from 0.
func (p given) level(name string, level float64) float64 {
	return p[name+"["+string(rune('1'+int(level)))+"]"]
}

// age returns the predictor that most formulas share. It is an intercept plus the effect of age,
// where age is relative to 59, the middle of its bounds.
func (p given) age(r record) float64 { return p["Intercept"] + p["b_age"]*(r["age"]-59) }

func (p given) smoking(r record) float64 { return p.age(r) + p["b_smoking_yes"]*r["smoking"] }

// The functions below are densities as found in textbooks.

func lgamma(x float64) float64 { y, _ := math.Lgamma(x); return y }

func lbeta(a, b float64) float64 { return lgamma(a) + lgamma(b) - lgamma(a+b) }

func normalLog(y, mean, sd float64) float64 {
	return -.5*(y-mean)*(y-mean)/(sd*sd) - math.Log(sd) - .5*math.Log(2*math.Pi)
}

func normalBelow(z float64) float64 { return .5 * math.Erfc(-z/math.Sqrt2) }

func poissonLog(y, mean float64) float64 { return y*math.Log(mean) - mean - lgamma(y+1) }

func negativeLog(y, mean, shape float64) float64 {
	return lgamma(y+shape) - lgamma(shape) - lgamma(y+1) +
		shape*math.Log(shape/(shape+mean)) + y*math.Log(mean/(shape+mean))
}

func choices(n, y float64) float64 {
	return lgamma(n+1) - lgamma(y+1) - lgamma(n-y+1)
}

func binomialLog(y, n, p float64) float64 {
	return choices(n, y) + y*math.Log(p) + (n-y)*math.Log1p(-p)
}

func betaLog(y, mean, phi float64) float64 {
	a, b := mean*phi, (1-mean)*phi
	return (a-1)*math.Log(y) + (b-1)*math.Log1p(-y) - lbeta(a, b)
}

func gammaLog(y, mean, shape float64) float64 {
	rate := shape / mean
	return shape*math.Log(rate) - lgamma(shape) + (shape-1)*math.Log(y) - rate*y
}

func lognormalLog(y, mean, sd float64) float64 { return normalLog(math.Log(y), mean, sd) - math.Log(y) }

// mixed returns the log density of an outcome that is 0 with probability share, and otherwise has
// the log density other. Under the latter, the log probability of 0 is zero.
func mixed(y, share, zero, other float64) float64 {
	if y == 0 {
		return math.Log(share + (1-share)*math.Exp(zero))
	}
	return math.Log1p(-share) + other
}

// past returns the log density of y in a hurdle model. y is 0 with probability share, and otherwise
// positive with log density other.
func past(y, share, other float64) float64 {
	if y == 0 {
		return math.Log(share)
	}
	return math.Log1p(-share) + other
}

// classLog returns the log probability of an ordered class. eta is the predictor, and below the
// distribution function.
func classLog(class, eta float64, below func(float64) float64, cuts ...float64) float64 {
	low, high := 0., 1.
	if k := int(class); k > 0 {
		low = below(cuts[k-1] - eta)
	}
	if k := int(class); k < len(cuts) {
		high = below(cuts[k] - eta)
	}
	return math.Log(high - low)
}

// correlatedRows returns the Cholesky factor of the correlation matrix of three effects, whose
// partial correlations are z.
func correlatedRows(z [3]float64) [3][3]float64 {
	return [3][3]float64{
		{1, 0, 0},
		{z[0], math.Sqrt(1 - z[0]*z[0]), 0},
		{z[1], z[2] * math.Sqrt(1-z[1]*z[1]), math.Sqrt((1 - z[1]*z[1]) * (1 - z[2]*z[2]))},
	}
}

// naive has the log density of a record for each formula in pvi/formula/testdata/cases.json,
// written by hand.
var naive = map[string]func(r record, p given) float64{
	"gaussian": func(r record, p given) float64 { return normalLog(r["score"], p.smoking(r), p["sigma"]) },
	"product": func(r record, p given) float64 {
		eta := p.smoking(r) + p["b_bmi"]*(r["bmi"]-32.5) + p["b_age_x_smoking_yes"]*r["age"]*r["smoking"]
		return normalLog(r["score"], eta, p["sigma"])
	},
	"no-intercept": func(r record, p given) float64 {
		eta := p["b_grade_"+[]string{"I", "II", "III", "IV"}[int(r["grade"])]] + p["b_age"]*r["age"]
		return normalLog(r["score"], eta, p["sigma"])
	},
	"degree": func(r record, p given) float64 {
		eta := p.smoking(r) + p["b_bmi"]*(r["bmi"]-32.5) + r["smoking"]*(p["b_age_x_smoking_yes"]*r["age"]+p["b_bmi_x_smoking_yes"]*r["bmi"])
		return normalLog(r["score"], eta, p["sigma"])
	},
	"nested": func(r record, p given) float64 {
		eta := p["Intercept"] + p["b_region_south"]*r["region"] +
			r["smoking"]*(p["b_region_north_x_smoking_yes"]*(1-r["region"])+p["b_region_south_x_smoking_yes"]*r["region"])
		return normalLog(r["score"], eta, p["sigma"])
	},
	"functions": func(r record, p given) float64 {
		old := 0.
		if r["age"] > 65 {
			old = r["dose"]
		}
		eta := p["Intercept"] + p["b_log_bmi"]*(math.Log(r["bmi"])-3.43035) + p["b_I_age_2"]*(r["age"]*r["age"]-4055.14) +
			p["b_sqrt_dose"]*(math.Sqrt(r["dose"])-6.69279) + p["b_I_age_65_dose"]*(old-21.4125) + p["b_I_grade_IV"]*r.is("grade", 3)
		return normalLog(r["score"], eta, p["sigma"])
	},
	"polynomial": func(r record, p given) float64 {
		t := (r["age"] - 59) / 41
		eta := p["Intercept"] + p["b_poly_age_1"]*math.Sqrt(3)*t + p["b_poly_age_2"]*math.Sqrt(5)*(3*t*t-1)/2 +
			p["b_poly_age_3"]*math.Sqrt(7)*(5*t*t*t-3*t)/2 + p["b_scale_pressure"]*(r["pressure"]-130)/20 + p["b_dead_1"]*r["dead"]
		return normalLog(r["score"], eta, p["sigma"])
	},
	"curve": func(r record, p given) float64 {
		eta := p["Intercept"] + p["b_s_age"]*(r["age"]-59) + p["b_smoking_yes"]*r["smoking"]
		for j := range 5 {
			k := float64(j + 1)
			eta += p.level("s_age", float64(j)) * math.Sqrt2 * math.Cos(math.Pi*k*(r["age"]-18)/82) / (k * k)
		}
		return normalLog(r["score"], eta, p["sigma"])
	},
	"student": func(r record, p given) float64 {
		sigma, nu := math.Exp(p["Intercept_sigma"]+p["b_sigma_smoking_yes"]*r["smoking"]), p["nu"]
		z := (r["score"] - p.age(r)) / sigma
		return lgamma((nu+1)/2) - lgamma(nu/2) - .5*math.Log(nu*math.Pi) - math.Log(sigma) - (nu+1)/2*math.Log1p(z*z/nu)
	},
	"logit": func(r record, p given) float64 {
		eta := p.smoking(r) + p.level("r_practice_Intercept", r["practice"])
		return r["sick"]*eta - math.Log1p(math.Exp(eta))
	},
	"probit": func(r record, p given) float64 { return math.Log(normalBelow((2*r["sick"] - 1) * p.age(r))) },
	"cloglog": func(r record, p given) float64 {
		none := math.Exp(-math.Exp(p.age(r)))
		if r["dose"] >= 10 {
			return math.Log(1 - none)
		}
		return math.Log(none)
	},
	"binomial": func(r record, p given) float64 {
		return binomialLog(r["hits"], r["trials"], special.InvLogit(p.age(r)))
	},
	"binomial-probit": func(r record, p given) float64 {
		return binomialLog(r["hits"], 20, normalBelow(p["Intercept"]+p["b_smoking_yes"]*r["smoking"]))
	},
	"beta-binomial": func(r record, p given) float64 {
		mean := special.InvLogit(p.age(r))
		a, b := mean*p["phi"], (1-mean)*p["phi"]
		return choices(r["trials"], r["hits"]) + lbeta(r["hits"]+a, r["trials"]-r["hits"]+b) - lbeta(a, b)
	},
	"poisson": func(r record, p given) float64 {
		return poissonLog(r["visits"], r["years"]*math.Exp(p.smoking(r)))
	},
	"rate": func(r record, p given) float64 {
		k, z := r["practice"], p["L_practice"]
		first, second := p.level("z_practice_Intercept", k), p.level("z_practice_age", k)
		eta := p["Intercept"] + p["b_smoking_yes"]*r["smoking"] + p["sd_practice_Intercept"]*first +
			r["age"]*p["sd_practice_age"]*(z*first+math.Sqrt(1-z*z)*second)
		return poissonLog(r["visits"], r["years"]*math.Exp(eta))
	},
	"negbinomial": func(r record, p given) float64 {
		eta := p.age(r) + p.level("r_region_Intercept", r["region"]) +
			p.level("r_region_practice_Intercept", 4*r["region"]+r["practice"])
		return negativeLog(r["visits"], math.Exp(eta), math.Exp(p["Intercept_shape"]+p["b_shape_region_south"]*r["region"]))
	},
	"negbinomial-rate": func(r record, p given) float64 {
		return negativeLog(r["visits"], r["years"]*math.Exp(p.age(r)), r["years"]*p["shape"])
	},
	"categorical": func(r record, p given) float64 {
		logits := []float64{0}
		total := 1.
		for _, class := range []string{"II", "III", "IV"} {
			eta := p["Intercept_"+class] + p["b_"+class+"_age"]*(r["age"]-59)
			logits, total = append(logits, eta), total+math.Exp(eta)
		}
		return logits[int(r["grade"])] - math.Log(total)
	},
	"cumulative": func(r record, p given) float64 {
		return classLog(r["grade"], p.smoking(r), special.InvLogit, p["Intercept[1]"], p["Intercept[2]"], p["Intercept[3]"])
	},
	"cumulative-probit": func(r record, p given) float64 {
		eta := p.age(r) + p.level("r_region_Intercept", r["region"])
		return classLog(r["grade"], eta, normalBelow, p["Intercept[1]"], p["Intercept[2]"], p["Intercept[3]"])
	},
	"gamma": func(r record, p given) float64 {
		steps := []float64{0, p["simo_grade[1]"], p["simo_grade[1]"] + p["simo_grade[2]"], 1}
		return gammaLog(r["cost"], math.Exp(p.age(r)+p["b_mo_grade"]*3*steps[int(r["grade"])]), p["shape"])
	},
	"weibull": func(r record, p given) float64 {
		k := p["shape"]
		scale := math.Exp(p.smoking(r)) / math.Gamma(1+1/k)
		survival := -math.Pow(r["time"]/scale, k)
		if r["dead"] == 0 {
			return survival
		}
		return survival + math.Log(k/scale) + (k-1)*math.Log(r["time"]/scale)
	},
	"lognormal": func(r record, p given) float64 {
		below := func(y float64) float64 { return normalBelow((math.Log(y) - p.age(r)) / p["sigma"]) }
		switch r["status"] {
		case 1:
			return math.Log(1 - below(r["time"]))
		case 2:
			return math.Log(below(r["time"]))
		case 3:
			return math.Log(below(r["upper"]) - below(r["time"]))
		}
		return lognormalLog(r["time"], p.age(r), p["sigma"])
	},
	"exponential": func(r record, p given) float64 {
		rate := math.Exp(-p.age(r))
		log := -rate * r["time"]
		if r["smoking"] == 0 {
			log += math.Log(rate)
		}
		return r["w"] * log
	},
	"piecewise": func(r record, p given) float64 {
		eta := p["b_age"]*(r["age"]-59) + p["b_smoking_yes"]*r["smoking"]
		cuts := []float64{0, 30, 90, 365, math.Inf(1)}
		total, now := 0., 0.
		for j := range 4 {
			hazard := math.Exp(p.level("log_hazard", float64(j)) + eta)
			if spent := min(r["time"], cuts[j+1]) - cuts[j]; spent > 0 {
				total, now = total+hazard*spent, hazard
			}
		}
		return r["dead"]*math.Log(now) - total
	},
	"beta": func(r record, p given) float64 {
		return betaLog(r["share"], special.InvLogit(p.age(r)), math.Exp(p["Intercept_phi"]+p["b_phi_smoking_yes"]*r["smoking"]))
	},
	"zero-inflated-poisson": func(r record, p given) float64 {
		mean := math.Exp(p.age(r))
		return mixed(r["visits"], special.InvLogit(p["Intercept_zi"]+p["b_zi_smoking_yes"]*r["smoking"]), -mean, poissonLog(r["visits"], mean))
	},
	"zero-inflated-negbinomial": func(r record, p given) float64 {
		mean := math.Exp(p.age(r))
		return mixed(r["visits"], p["zi"], negativeLog(0, mean, p["shape"]), negativeLog(r["visits"], mean, p["shape"]))
	},
	"zero-inflated-binomial": func(r record, p given) float64 {
		share := special.InvLogit(p.age(r))
		return mixed(r["hits"], p["zi"], binomialLog(0, r["trials"], share), binomialLog(r["hits"], r["trials"], share))
	},
	"zero-inflated-beta": func(r record, p given) float64 {
		return past(r["part"], p["zi"], betaLog(r["part"], special.InvLogit(p.age(r)), p["phi"]))
	},
	"hurdle-poisson": func(r record, p given) float64 {
		mean := math.Exp(p.age(r))
		return past(r["visits"], p["hu"], poissonLog(r["visits"], mean)-math.Log(1-math.Exp(-mean)))
	},
	"hurdle-negbinomial": func(r record, p given) float64 {
		mean, shape := math.Exp(p.age(r)), p["shape"]
		none := math.Exp(negativeLog(0, mean, shape))
		return past(r["visits"], special.InvLogit(p["Intercept_hu"]+p["b_hu_age"]*(r["age"]-59)), negativeLog(r["visits"], mean, shape)-math.Log(1-none))
	},
	"hurdle-gamma": func(r record, p given) float64 {
		return past(r["paid"], p["hu"], gammaLog(r["paid"], math.Exp(p.age(r)), p["shape"]))
	},
	"hurdle-lognormal": func(r record, p given) float64 {
		return past(r["paid"], p["hu"], lognormalLog(r["paid"], p.age(r), p["sigma"]))
	},
	"weights": func(r record, p given) float64 { return r["w"] * normalLog(r["score"], p.age(r), p["sigma"]) },
	"truncated": func(r record, p given) float64 {
		below := func(y float64) float64 { return normalBelow((y - p.age(r)) / p["sigma"]) }
		return normalLog(r["score"], p.age(r), p["sigma"]) - math.Log(below(60)-below(-60))
	},
	"zero-truncated": func(r record, p given) float64 {
		mean := math.Exp(p.age(r))
		return poissonLog(r["calls"], mean) - math.Log(1-math.Exp(-mean))
	},
	"error": func(r record, p given) float64 { return normalLog(r["score"], p.age(r), r["error"]) },
	"slopes": func(r record, p given) float64 {
		k := r["practice"]
		eta := p.age(r) + p.level("r_practice_Intercept", k) + r["age"]*p.level("r_practice_age", k)
		return normalLog(r["score"], eta, p["sigma"])
	},
	"correlated": func(r record, p given) float64 {
		k := r["practice"]
		rows := correlatedRows([3]float64{p["L_practice[1]"], p["L_practice[2]"], p["L_practice[3]"]})
		z := [3]float64{p.level("z_practice_Intercept", k), p.level("z_practice_age", k), p.level("z_practice_bmi", k)}
		eta := p.age(r) + p["b_bmi"]*(r["bmi"]-32.5) + p.level("r_region_grade_Intercept", 4*r["region"]+r["grade"])
		for e, effect := range []struct {
			sd string
			x  float64
		}{{"Intercept", 1}, {"age", r["age"]}, {"bmi", r["bmi"]}} {
			for m, x := range z {
				eta += effect.x * p["sd_practice_"+effect.sd] * rows[e][m] * x
			}
		}
		return normalLog(r["score"], eta, p["sigma"])
	},
}

// formulas returns the formulas of the tests. It leaves out those for other versions of the study
// language, which differ only in their default priors.
func formulas(t testing.TB) map[string]formula.Request {
	t.Helper()
	source, err := os.ReadFile("../formula/testdata/cases.json")
	check(t, err)
	var all struct {
		Columns []formula.Column
		Cases   []struct {
			Name string
			formula.Request
		}
	}
	check(t, json.Unmarshal(source, &all))
	out := map[string]formula.Request{}
	for _, c := range all.Cases {
		if c.Columns = all.Columns; c.Version == 0 {
			out[c.Name] = c.Request
		}
	}
	return out
}

// translated is a compiled formula together with made-up records.
type translated struct {
	*loaded
	rows []record
}

const madeUpRows = 24

// translate compiles a formula and makes up records with uniform numbers. If the model has extra
// zeros, a third of the outcomes are zero.
func translate(t *testing.T, name string, request formula.Request) *translated {
	t.Helper()
	w, err := formula.Write(request)
	check(t, err)
	c, err := compileFormula(w, request.Columns)
	if err != nil {
		t.Fatalf("%v\n%s", err, w.Text)
	}
	random := rand.New(rand.NewPCG(1, uint64(len(name))))
	out := &translated{loaded: &loaded{model: c.Model}}
	for range madeUpRows {
		r := record{}
		for _, c := range request.Columns {
			switch x := c.Low + (c.High-c.Low)*random.Float64(); {
			case len(c.Levels) > 0:
				r[c.Name] = float64(random.IntN(len(c.Levels)))
			case c.Whole:
				r[c.Name] = math.Floor(x + .5)
			default:
				r[c.Name] = x
			}
		}
		if random.IntN(3) == 0 {
			for _, outcome := range []string{"visits", "hits", "part", "paid"} {
				r[outcome] = 0
			}
		}
		out.rows = append(out.rows, r)
	}
	var columns [][]float64
	for _, v := range w.Variables {
		var column []float64
		for _, r := range out.rows {
			column = append(column, valueOf(request.Columns, v, r[v.Column]))
		}
		columns = append(columns, column)
	}
	out.table, err = c.Model.Load(madeUpRows, columns)
	check(t, err)
	out.records, err = (gpu.CPU{}).Compile(c.Model, out.table)
	check(t, err)
	return out
}

func compileFormula(w *formula.Written, columns []formula.Column) (*program.Compiled, error) {
	tree, err := syntax.Parse(w.Text)
	if err != nil {
		return nil, err
	}
	data := program.Data{Name: "formula", Records: "N", Columns: map[string]ir.Column{}}
	for _, v := range w.Variables {
		c := ir.Column{Name: v.Name, Lower: 0, Upper: 1, Integer: v.Whole}
		for _, of := range columns {
			switch {
			case of.Name != v.Column || v.Is != "":
			case len(of.Levels) > 0:
				c.Lower, c.Upper = 1, float64(len(of.Levels))
			default:
				c.Lower, c.Upper = of.Low, of.High
			}
		}
		data.Columns[v.Name] = c
	}
	return program.Compile(tree, data)
}

// valueOf returns the value of variable v for a record in which the variable's column has the value
// x.
func valueOf(columns []formula.Column, v formula.Variable, x float64) float64 {
	for _, c := range columns {
		switch {
		case c.Name != v.Column:
		case v.Is == ">= 10":
			if x >= 10 {
				return 1
			}
			return 0
		case v.Is != "":
			if c.Levels[int(x)] == v.Is {
				return 1
			}
			return 0
		case len(c.Levels) > 0:
			return x + 1
		}
	}
	return x
}

// Each compiled formula has the same density as its function in naive, and its gradient agrees with
// finite differences.
func TestFormulasHaveTheDensityOfTheirFamily(t *testing.T) {
	all := formulas(t)
	if len(all) < 25 || len(all) != len(naive) {
		t.Fatalf("%d formulas and %d densities", len(all), len(naive))
	}
	for name, request := range all {
		t.Run(name, func(t *testing.T) {
			f := translate(t, name, request)
			random := rand.New(rand.NewPCG(7, uint64(len(name))))
			for range 4 {
				theta := make([]float64, f.model.Dim())
				for i, coordinate := range f.model.Names() {
					if theta[i] = .4 * random.NormFloat64(); strings.HasPrefix(coordinate, "b_") {
						theta[i] *= .05 // small coefficients, because regressors are large
					}
					if strings.HasPrefix(coordinate, "log sd_") && !strings.HasSuffix(coordinate, "Intercept") {
						theta[i] -= 4
					}
					if strings.HasPrefix(coordinate, "r_practice_age") {
						theta[i] *= .02
					}
				}
				f.compare(t, naive[name], theta)
			}
		})
	}
}

func (f *translated) parameters(theta []float64) given {
	names := f.model.ConstrainedNames()
	values := make([]float64, len(names))
	f.model.Constrain(values, theta)
	p := given{}
	for i, name := range names {
		p[name] = values[i]
	}
	return p
}

func (f *translated) compare(t *testing.T, density func(record, given) float64, theta []float64) {
	t.Helper()
	got := make([]float64, madeUpRows)
	f.model.LogDensities(got, theta, f.table)
	sum := func(theta []float64) (total float64) {
		p := f.parameters(theta)
		for _, r := range f.rows {
			total += density(r, p)
		}
		return total
	}
	p := f.parameters(theta)
	for n, r := range f.rows {
		want := density(r, p)
		if math.Abs(want) > 600 || math.IsNaN(want) {
			continue // the naive density loses all its digits in the tails
		}
		if math.Abs(got[n]-want) > 1e-9*math.Max(1, math.Abs(want)) {
			t.Errorf("record %d: log density %.15g, by hand %.15g", n, got[n], want)
		}
	}
	gradient := make([]float64, len(theta))
	if total, err := f.records.Sum(gradient, &gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)}); err != nil || total.Refused > 0 {
		t.Fatal(err, total.Refused)
	}
	for i := range theta {
		const h = 1e-5
		x := theta[i]
		theta[i] = x + h
		up := sum(theta)
		theta[i] = x - h
		down := sum(theta)
		theta[i] = x
		if want := (up - down) / (2 * h); !math.IsInf(up-down, 0) && math.Abs(gradient[i]-want) > 1e-5*math.Max(10, math.Abs(want)) {
			t.Errorf("%s: derivative %.10g, by differences %.10g", f.model.Names()[i], gradient[i], want)
		}
	}
}

// Even formulas with nearly the maximum number of coefficients compile and run.
func TestLongFormulas(t *testing.T) {
	request := formulas(t)["gaussian"]
	for _, text := range []string{
		"score ~ practice*grade*status*region",
		"score ~ (age + bmi + dose + years + time + w + cost)^7",
		"score ~ s(age, k = 60) + s(bmi, k = 60) + s(dose, k = 60) + (age + bmi + dose | practice:grade:status)",
	} {
		request.Formula = text
		translate(t, text, request)
	}
}
