package truth

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fedpvi/pvi/study"
)

// A Cell is a combination of properties of a study and its records. It is simulated several times.
type Cell struct {
	Number int    `json:"number"` // from 1
	Set    string `json:"set"`    // name of a public data set or a kind of records; empty in a design

	Family       string `json:"family"`
	Records      int    `json:"records"`      // number of records of all clients together
	Coefficients int    `json:"coefficients"` // number of coefficients in one predictor, including the intercept
	Clients      int    `json:"clients"`
	Split        string `json:"split"`
	// ε of a client's releases; 0 for almost no noise. δ is 1e-5, or 1e-6 for 200,000 records
	Epsilon float64    `json:"epsilon"`
	Unit    study.Unit `json:"unit"`
	Columns string     `json:"columns"`
	Bounds  string     `json:"bounds"`
	Scale   string     `json:"scale"`

	Groups int `json:"groups,omitempty"` // number of groups that have their own effects; 0 for none
	// "intercepts" if groups differ only in the intercept; "slopes" if they also differ in the
	// slope of the first column
	Varies string `json:"varies,omitempty"`
	// "prior" if the sd of the group effects is drawn from its prior; "none" if all effects are 0
	Spread string `json:"spread,omitempty"`
}

// A factor is a property of a cell with its possible levels, as in experimental design.
type factor struct {
	name   string
	levels []string
}

// factors are the properties that the covering design combines for models without groups.
var factors = []factor{
	{"family", []string{"linear", "linear-learned", "robust", "logistic", "probit", "softmax", "poisson", "poisson-overdispersed", "negative-binomial", "negative-binomial-poisson"}},
	{"records", []string{"400", "2000", "20000", "200000"}},
	{"coefficients", []string{"3", "10", "30", "100"}},
	{"clients", []string{"1", "3", "10", "100"}},
	{"split", []string{"balanced", "one-large", "labels", "heterogeneous"}},
	{"epsilon", []string{"0.3", "1", "3", "10", "off"}},
	{"unit", []string{"record", "client"}},
	{"columns", []string{"independent", "correlated", "heavy", "rare", "levels"}},
	{"bounds", []string{"tight", "wide"}},
	{"scale", []string{"scaled", "raw"}},
}

// groupFactors are the properties that the covering design combines for models with groups. The
// probability of group k, from 1, is proportional to 1/k. With the split "groups", each group has
// all its records at one client.
var groupFactors = []factor{
	{"family", []string{"linear", "linear-learned", "logistic", "poisson", "negative-binomial"}},
	{"records", []string{"400", "2000", "20000"}},
	{"coefficients", []string{"3", "10"}},
	{"clients", []string{"1", "3", "10"}},
	{"split", []string{"balanced", "groups"}},
	{"epsilon", []string{"0.3", "1", "3", "10", "off"}},
	{"unit", []string{"record"}},
	{"columns", []string{"independent", "correlated"}},
	{"bounds", []string{"tight", "wide"}},
	{"scale", []string{"scaled", "raw"}},
	{"groups", []string{"5", "20", "60"}},
	{"varies", []string{"intercepts", "slopes"}},
	{"spread", []string{"prior", "none"}},
}

// Names returns the names of a cell's properties.
func Names() []string {
	names := []string{"set"}
	for _, f := range groupFactors { // groupFactors include all properties that cells without groups have
		names = append(names, f.name)
	}
	return names
}

// Level returns the level of a property. A cell with a set only has levels for set, epsilon, unit
// and, if its records are made up, records. A cell without groups has no levels for the properties
// of groups.
func (c *Cell) Level(name string) string {
	if c.Set != "" && !slices.Contains([]string{"set", "epsilon", "unit"}, name) && (name != "records" || c.Records == 0) {
		return ""
	}
	switch name {
	case "set":
		return c.Set
	case "family":
		return c.Family
	case "records":
		return strconv.Itoa(c.Records)
	case "coefficients":
		return strconv.Itoa(c.Coefficients)
	case "clients":
		return strconv.Itoa(c.Clients)
	case "split":
		return c.Split
	case "epsilon":
		if c.Epsilon == 0 {
			return "off"
		}
		return fmt.Sprint(c.Epsilon)
	case "unit":
		return string(c.Unit)
	case "columns":
		return c.Columns
	case "bounds":
		return c.Bounds
	case "scale":
		return c.Scale
	case "varies":
		return c.Varies
	case "spread":
		return c.Spread
	default:
		if c.Groups == 0 {
			return ""
		}
		return strconv.Itoa(c.Groups)
	}
}

// String returns the levels of the cell on one line.
func (c *Cell) String() string {
	if c.Set != "" {
		text := c.Set
		if c.Records > 0 {
			text += fmt.Sprintf(", %d records", c.Records)
		}
		return fmt.Sprintf("%s, ε = %s", text, c.Level("epsilon"))
	}
	var levels []string
	for _, f := range factors {
		levels = append(levels, c.Level(f.name))
	}
	if c.Groups > 0 {
		levels = append(levels, c.Level("groups")+" groups", c.Varies, c.Spread)
	}
	return strings.Join(levels, " ")
}

// A row is a combination of levels. It has the index of one level for each factor.
type row []int

// cell returns the cell that has the levels of a row.
func (r row) cell(factors []factor) Cell {
	at := func(name string) string {
		i := slices.IndexFunc(factors, func(f factor) bool { return f.name == name })
		if i < 0 {
			return ""
		}
		return factors[i].levels[r[i]]
	}
	count := func(name string) int {
		n, _ := strconv.Atoi(at(name))
		return n
	}
	epsilon, _ := strconv.ParseFloat(at("epsilon"), 64)
	return Cell{
		Family: at("family"), Records: count("records"), Coefficients: count("coefficients"), Clients: count("clients"),
		Split: at("split"), Epsilon: epsilon, Unit: study.Unit(at("unit")), Columns: at("columns"), Bounds: at("bounds"), Scale: at("scale"),
		Groups: count("groups"), Varies: at("varies"), Spread: at("spread"),
	}
}

// These limits exclude cells that are not valid studies or take too long to simulate.
const (
	// maximum of records × (coefficients of all predictors)²; the time for a pooled fit is
	// proportional to this product
	mostWork  = 2.5e9
	leastMany = 10 // minimum number of clients if the privacy unit is the client
	// maximum number of coefficients if the privacy unit is the client, because the time grows with
	// their sixth power
	mostOfClient = 10
	mostEffects  = 60 // maximum number of group effects of all kinds
)

func (c *Cell) possible() bool {
	effects := c.Groups
	if c.Varies == "slopes" {
		effects *= 2
	}
	d := c.Coefficients*c.model().predictors + effects
	switch {
	case effects > mostEffects:
		return false
	case c.Clients == 1 && c.Split != "balanced":
		return false
	case c.Unit == study.Client && (c.Clients < leastMany || d > mostOfClient):
		return false
	case c.Columns == "rare" && c.model().measured():
		return false
	}
	return float64(c.Records)*float64(d)*float64(d) <= mostWork
}

// The designs have size cells without groups and groupSize cells with groups.
const size, groupSize = 400, 60

// nothing is a cell whose groups have no effect on the outcome.
var nothing = Cell{
	Family: "logistic", Records: 6400, Coefficients: 9, Clients: 5, Split: "balanced", Epsilon: 1, Unit: study.Record,
	Columns: "independent", Bounds: "tight", Scale: "scaled", Groups: 20, Varies: "intercepts", Spread: "none",
}

// named returns the cells that have a name. They resemble the studies in which the defaults of
// version 1 of the study language first failed.
func named() (cells []Cell) {
	for _, one := range []struct {
		Cell
		epsilons []float64
	}{
		{Cell{Family: "logistic", Records: 6400, Coefficients: 9, Clients: 5, Columns: "independent"}, []float64{.3, 1, 3}},
		{Cell{Family: "logistic", Records: 570, Coefficients: 31, Clients: 5, Columns: "correlated"}, []float64{.3, 1}},
		{Cell{Family: "linear-learned", Records: 420, Coefficients: 11, Clients: 4, Columns: "independent"}, []float64{1, 3}},
		{Cell{Family: "poisson-overdispersed", Records: 6000, Coefficients: 10, Clients: 4, Columns: "independent"}, []float64{1}},
		{Cell{Family: "linear", Records: 3342, Coefficients: 9, Clients: 5, Columns: "correlated"}, []float64{.3, 1, 3}},
		{Cell{Family: "linear", Records: 10_000, Coefficients: 2, Clients: 1000, Columns: "independent", Split: "heterogeneous", Unit: study.Client}, []float64{10}},
	} {
		one.Bounds, one.Scale = "tight", "scaled"
		one.Split, one.Unit = cmp.Or(one.Split, "balanced"), cmp.Or(one.Unit, study.Record)
		for _, one.Epsilon = range one.epsilons {
			cells = append(cells, one.Cell)
		}
	}
	return cells
}

// Cells returns all cells: the covering design, the public data sets, the covering design of models
// with groups, the cell whose groups have no effect, the named cells, and the kinds of records.
func Cells() []Cell { return slices.Clone(bank()) }

var bank = sync.OnceValue(func() []Cell {
	cells := design(factors, size)
	for _, set := range sets {
		for _, epsilon := range []float64{1, 3} {
			cells = append(cells, Cell{Set: set, Epsilon: epsilon, Unit: study.Record})
		}
	}
	cells = append(append(append(append(cells, design(groupFactors, groupSize)...), nothing), named()...), ofKinds()...)
	for i := range cells {
		cells[i].Number = i + 1
	}
	return cells
})

// design chooses a small set of cells in which every possible pair of levels occurs. In each step
// it draws random valid cells and takes the one with the most new pairs. Between cells with equally
// many, the number of new triples decides.
func design(factors []factor, size int) []Cell {
	var rows []row
	open := map[string]bool{} // possible pairs of levels that no chosen cell has yet
	each(factors, make(row, 0, len(factors)), func(r row) {
		rows = append(rows, slices.Clone(r))
		r.combinations(2, func(key string) { open[key] = true })
	})
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	seen := map[string]bool{} // triples of levels that occur in the chosen cells
	var cells []Cell
	for next := 0; len(cells) < size; {
		best, pairs, triples := row(nil), -1, -1
		for tried := 0; tried < candidates || len(open) > 0 && pairs == 0 && tried < len(rows); tried++ {
			one := rows[next%len(rows)]
			next++
			news, more := 0, 0
			one.combinations(2, func(key string) { news += count(open[key]) })
			if news < pairs {
				continue
			}
			one.combinations(3, func(key string) { more += count(!seen[key]) })
			if news > pairs || more > triples {
				best, pairs, triples = one, news, more
			}
		}
		best.combinations(2, func(key string) { delete(open, key) })
		best.combinations(3, func(key string) { seen[key] = true })
		cells = append(cells, best.cell(factors))
	}
	return cells
}

// candidates is the number of random cells from which design chooses the next cell. It draws more
// if none of them has a new pair.
const candidates = 100

// each calls do with every combination of levels that begins with r and is a possible cell.
func each(factors []factor, r row, do func(row)) {
	if len(r) == len(factors) {
		if c := r.cell(factors); c.possible() {
			do(r)
		}
		return
	}
	for i := range factors[len(r)].levels {
		each(factors, append(r, i), do)
	}
}

// combinations calls do for every choice of n factors. key identifies the factors and their levels
// in r.
func (r row) combinations(n int, do func(key string)) {
	key := make([]byte, 0, 2*n)
	var from func(first, n int)
	from = func(first, n int) {
		if n == 0 {
			do(string(key))
			return
		}
		for f := first; f+n <= len(r); f++ {
			key = append(key, byte(f), byte(r[f]))
			from(f+1, n-1)
			key = key[:len(key)-2]
		}
	}
	from(0, n)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Select returns the cells that match a selection: a list of numbers, ranges ("1-40") and
// conditions ("records<=20000", "set!="), separated by commas. A cell must meet all conditions. If
// the list has numbers, it must also be one of them.
func Select(cells []Cell, selection string) ([]Cell, error) {
	var ranges [][2]int
	var conditions []func(*Cell) bool
	for part := range strings.SplitSeq(selection, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if condition, err := parseCondition(part); err != nil {
			return nil, err
		} else if condition != nil {
			conditions = append(conditions, condition)
			continue
		}
		first, last, found := strings.Cut(part, "-")
		if !found {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || a < 1 || b < a || b > len(cells) {
			return nil, fmt.Errorf(`--cells %s: write numbers from 1 to %d, ranges as in 1-40, and conditions as in "records<=20000"`, part, len(cells))
		}
		ranges = append(ranges, [2]int{a, b})
	}
	var chosen []Cell
	for _, c := range cells {
		in := len(ranges) == 0 || slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= c.Number && c.Number <= r[1] })
		for _, holds := range conditions {
			in = in && holds(&c)
		}
		if in {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--cells %s: no cell is like that", selection)
	}
	return chosen, nil
}

// parseCondition parses text as a condition on a property. It returns nil if text is not a
// condition.
func parseCondition(text string) (func(*Cell) bool, error) {
	for _, op := range []string{"<=", ">=", "!=", "="} {
		name, level, found := strings.Cut(text, op)
		if !found {
			continue
		}
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("--cells %s: %q is none of %s", text, name, strings.Join(Names(), ", "))
		}
		limit, err := strconv.ParseFloat(level, 64)
		switch op {
		case "=":
			return func(c *Cell) bool { return c.Level(name) == level }, nil
		case "!=":
			return func(c *Cell) bool { return c.Level(name) != level }, nil
		}
		if err != nil {
			return nil, fmt.Errorf("--cells %s: %q is no number", text, level)
		}
		return func(c *Cell) bool {
			x, err := strconv.ParseFloat(c.Level(name), 64)
			return err == nil && (op == "<=" && x <= limit || op == ">=" && x >= limit)
		}, nil
	}
	return nil, nil
}
