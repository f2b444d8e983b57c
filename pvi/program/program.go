package program

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// Data says what the names in a program's data block mean.
type Data struct {
	Name      string // name of the model
	Records   string // name of the variable that holds the number of records
	Columns   map[string]ir.Column
	Constants map[string]Constant // public constants, by name or by text such as "mean(age)"
	Complete  map[string]string   // priors that the program does not give, by parameter
	// Predict adds quantities of records to a program that generates none. log_lik is the log density
	// of the record. If the density is a single statement about one outcome y, and nothing is
	// integrated out, y_expected is its mean and y_rep a new outcome. The compiler leaves out those
	// that it cannot compute.
	Predict bool
}

// A Constant is a public constant. Dims has its sizes, and is empty for a single number.
type Constant struct {
	Dims   []int
	Values []float64 // values, row by row
}

// Compiled is a compiled program.
type Compiled struct {
	Model *model.Model
	// Quantities holds the generated quantities, or is nil if there are none.
	Quantities *model.Quantities
	// Notes are remarks about the program.
	Notes []syntax.Message
}

// Compile compiles a program. Errors in the program are returned as [*syntax.Errors]. Compile never
// panics.
func Compile(p *syntax.Program, data Data) (*Compiled, error) {
	s := &stager{
		text: p.Text, data: data, b: model.NewBuilder(data.Name), variables: map[string]*variable{},
		given: map[string]bool{}, forms: map[model.Expr]form{}, functions: map[string]*syntax.Function{},
	}
	for _, stage := range []func(*syntax.Program){s.readData, s.run, s.complete, s.cover, s.placeLatents} {
		if stage(p); len(s.messages) > 0 {
			return nil, s.errors()
		}
	}
	likelihood := s.likelihood
	if !likelihood.known || s.phase(likelihood) != ir.Record {
		s.report("E305", syntax.Span{}, "no term of the model joins a record with the parameters.")
		return nil, s.errors()
	}
	var record model.Expr
	if !s.attempt(func() { record = s.integrated(likelihood) }) {
		return nil, s.errors()
	}
	s.likelihood.node = record
	m, err := s.b.Build(record)
	if errors.Is(err, model.ErrCircle) {
		s.report("E302", syntax.Span{}, "%v: write one of them without the others.", err)
		return nil, s.errors()
	}
	if err != nil {
		s.report("E412", syntax.Span{}, "the program cannot run: %v%s", err, s.advice())
		return nil, s.errors()
	}
	if !slices.Contains(m.Depends(), true) {
		s.report("E305", syntax.Span{}, "no term of the model joins a record with the parameters.")
		return nil, s.errors()
	}
	generated := s.generate(p, record)
	if len(s.messages) > 0 {
		return nil, s.errors()
	}
	return &Compiled{m, generated, s.notes}, nil
}

func (s *stager) errors() error {
	slices.SortStableFunc(s.messages, func(a, b syntax.Message) int { return a.At.From - b.At.From })
	return &syntax.Errors{Text: s.text, Messages: s.messages}
}

const (
	mostMessages = 10
	mostSteps    = 250_000 // largest number of expressions and statements that are evaluated
	mostNumbers  = 1 << 20 // largest number of elements in all values together
	partCost     = 8       // cost of a separately stored element, counted in elements
)

// errStop is the value with which [stager.fail] panics. It ends the evaluation of a statement that
// is refused.
var errStop = errors.New("a statement was refused")

// report adds a message, unless there is one with the same code and place, or there are
// mostMessages already.
func (s *stager) report(code string, at syntax.Span, format string, args ...any) {
	m := syntax.Message{Code: code, At: at, Text: fmt.Sprintf(format, args...)}
	if len(s.messages) < mostMessages && !slices.ContainsFunc(s.messages, func(o syntax.Message) bool { return o.At == at && o.Code == code }) {
		s.messages = append(s.messages, m)
	}
}

// fail reports a message and stops evaluating the statement.
func (s *stager) fail(code string, at syntax.Span, format string, args ...any) {
	s.report(code, at, format, args...)
	panic(errStop)
}

func (s *stager) note(code string, at syntax.Span, format string, args ...any) {
	m := syntax.Message{Code: code, At: at, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(s.notes, m) && len(s.notes) < mostMessages {
		s.notes = append(s.notes, m)
	}
}

// attempt calls do. It returns false if do refuses a statement.
func (s *stager) attempt(do func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil && r != error(errStop) {
			panic(r)
		}
	}()
	do()
	return true
}

// A stager evaluates a program symbolically. It builds the model's expressions for a single record.
type stager struct {
	text      string
	data      Data
	b         *model.Builder
	variables map[string]*variable
	given     map[string]bool // names that the data block declares
	messages  []syntax.Message
	notes     []syntax.Message

	forms      map[model.Expr]form // form of each number of the record, by node
	parameters []*parameter
	hidden     []*parameter // parameters whose elements are latents
	latents    []*latent    // the latents in hidden
	units      []model.Expr // new latents with a scale of about 1, which replace the original ones
	freed      []placed     // the original latents as functions of units
	dim        int          // number of coordinates of all parameters declared so far
	likelihood value        // sum of the terms in the log density of one record
	terms      int          // number of terms in likelihood
	variates   []value      // variates that are data and not under a condition
	outcome    outcome
	loop       int   // number of blocks around the statements of the current loop over the records; 0 outside such loops
	mask       value // condition on the record under which the current statement applies; if there is none, mask.known is false
	functions  map[string]*syntax.Function
	returns    *[]returned // results of the current function; nil outside functions
	depth      int         // how deeply function calls are nested
	masks      int         // number of conditions that the current statement is under
	level      int         // number of blocks that the current statement is in
	steps      int
	numbers    int
	exhausted  bool // whether the program has exceeded a limit on steps or elements
	block      blockKind
	generating bool // whether generated quantities are being evaluated
}

type blockKind byte

const (
	dataBlock blockKind = iota
	parameterBlock
	modelBlock
)

type variable struct {
	value value
	// shape is the shape of the value. role is rows if each record has its own value.
	shape shape
	role  role
	whole bool
	level int  // number of blocks that the declaration is in
	masks int  // number of conditions that the declaration is under
	input bool // whether the variable is data or a parameter, so that it cannot be assigned
	bad   bool // whether a statement that declares or assigns the variable was refused
}

// spend counts a step of the compiler and the n elements of a new value. It refuses a program that
// exceeds a limit.
func (s *stager) spend(at syntax.Span, n int) {
	s.steps++
	s.numbers += n
	if s.exhausted {
		panic(errStop)
	}
	if s.steps > mostSteps || s.numbers > mostNumbers || s.b.Len() > ir.MaxNodes {
		s.exhausted = true
		s.fail("E410", at, "the program needs too many operations up to this point. Write it with vectors, or shorten a loop.")
	}
}

func (s *stager) readData(p *syntax.Program) {
	for _, f := range p.Functions {
		if s.functions[f.Name] != nil {
			s.report("E400", f.At, "%s is defined twice.", f.Name)
		}
		s.functions[f.Name] = f
	}
	for _, d := range p.Data {
		s.attempt(func() { s.datum(d) })
	}
	for _, name := range slices.Sorted(maps.Keys(s.data.Columns)) {
		if !s.given[name] {
			s.report("E303", syntax.Span{}, "the study gives a column for %s, but the data block does not declare it.", name)
		}
	}
}

func (s *stager) datum(d *syntax.Statement) {
	if d.Kind != syntax.Declare || d.Value != nil {
		s.fail("E400", d.At, "the data block may contain only declarations without values.")
	}
	s.declared(d)
	s.given[d.Name] = true
	v := &variable{input: true, whole: d.Type.Base == "int", bad: true}
	s.variables[d.Name] = v
	if d.Name == s.data.Records {
		if !v.whole || len(d.Type.Array) > 0 {
			s.fail("E303", d.At, "%s counts the records: declare int<lower=0> %s.", d.Name, d.Name)
		}
		v.value = value{role: count, known: true, whole: true}
	} else if sizes, each := s.sizes(d.Type); each {
		v.shape, v.role, v.value = sizes, rows, s.column(d, sizes)
	} else {
		v.shape, v.value = sizes, s.publicConstant(d, sizes)
	}
	v.bad = false
}

// column returns the value of a data variable that has one element per record.
func (s *stager) column(d *syntax.Statement, sh shape) value {
	c, ok := s.data.Columns[d.Name]
	if !ok {
		s.fail("E303", d.At, "the study has no column for %s. Add  data.%s = \"column\"", d.Name, d.Name)
	}
	if n := sh.size(); n != c.Width() {
		s.fail("E304", d.At, "%s has %d numbers for each record, and the study gives %d.", d.Name, n, c.Width())
	}
	if d.Type.Base == "int" && !c.Integer {
		s.fail("E304", d.At, "%s is declared int, but the bounds of the study's column are not whole numbers.", d.Name)
	}
	s.checkBounds(d, c.Lower, c.Upper, "the study's column")
	node := s.b.Column(c)
	if rows, cols := sh.table(); cols > 1 {
		node = s.b.Slice(node, 0, rows, cols)
	}
	return value{
		role: rows, shape: sh, node: node, known: true, whole: d.Type.Base == "int",
		above: c.Lower > 0, in: ir.Interval{Low: c.Lower, High: c.Upper, Whole: c.Integer},
	}
}

// checkBounds refuses a declaration if a value between low and high could lie outside the declared
// bounds. description is used in the message.
func (s *stager) checkBounds(d *syntax.Statement, low, high float64, description string) {
	for _, key := range slices.Sorted(maps.Keys(d.Type.Bounds)) {
		e := d.Type.Bounds[key]
		bound := s.eval(e)
		if !bound.fixed() || !bound.shape.single() {
			s.fail("E302", e.At, "the bound of %s must be a public constant.", d.Name)
		}
		switch x := bound.number(); {
		case key == "lower" && low < x:
			s.fail("E304", d.At, "%s is declared with lower=%g, and %s may have %g.", d.Name, x, description, low)
		case key == "upper" && high > x:
			s.fail("E304", d.At, "%s is declared with upper=%g, and %s may have %g.", d.Name, x, description, high)
		}
	}
}

func (s *stager) publicConstant(d *syntax.Statement, sh shape) value {
	c, ok := s.data.Constants[d.Name]
	if !ok {
		s.fail("E303", d.At, "the study gives no value for %s. Add  data.%s = …", d.Name, d.Name)
	}
	if !slices.Equal(sh.dims, c.Dims) {
		s.fail("E304", d.At, "%s has the sizes %v, and the study's value %v.", d.Name, sh.dims, c.Dims)
	}
	v := constants(sh, c.Values)
	if v.whole = d.Type.Base == "int"; v.whole && !v.in.Whole {
		s.fail("E304", d.At, "%s is declared int, but the study's value is not a whole number.", d.Name)
	}
	s.checkBounds(d, v.in.Low, v.in.High, "the study's value")
	return v
}

func (s *stager) declared(d *syntax.Statement) {
	if _, ok := s.variables[d.Name]; ok {
		s.fail("E400", d.At, "%s is declared twice.", d.Name)
	}
}

// sizes evaluates a declared type and returns its shape. each is true if the first size is the
// number of records. The shape then leaves out this size.
func (s *stager) sizes(t *syntax.Type) (sh shape, each bool) {
	all := append(slices.Clone(t.Array), t.Sizes...)
	bases := map[string]base{
		"int": scalar, "real": scalar, "vector": vector, "simplex": vector, "ordered": vector,
		"row_vector": rowVector, "matrix": matrix,
	}
	b, ok := bases[t.Base]
	if !ok {
		s.fail("E403", t.At, "the type %s is not in the language yet.", t.Base)
	}
	if len(t.Sizes) != inner[b] {
		s.fail("E400", t.At, "a %s has %d sizes.", t.Base, inner[b])
	}
	sh.base = b
	for k, e := range all {
		v := s.eval(e)
		switch {
		case v.role == count && k == 0:
			each = true
		case v.role == count:
			s.fail("E404", e.At, "the number of records must be the first size.")
		default:
			sh.dims = append(sh.dims, s.size(&v, e.At))
			if sh.size() > mostNumbers {
				s.fail("E410", t.At, "it has more than %d elements.", mostNumbers)
			}
		}
	}
	if n := len(t.Array); each && n == 0 {
		sh.base = shape{b, make([]int, inner[b])}.first().base
	}
	return sh, each
}

// size returns v as the size of a container, which is a public whole number from 1 to mostNumbers.
func (s *stager) size(v *value, at syntax.Span) int {
	if !v.fixed() || !v.shape.single() || !v.in.Whole || v.number() < 1 || v.number() > mostNumbers {
		s.fail("E209", at, "a size must be a public whole number between 1 and %d.", mostNumbers)
	}
	return int(v.number())
}
