package syntax

// A Program is the syntax tree of a program. Blocks that do not occur in the text are empty.
type Program struct {
	Text                  string
	Functions             []*Function
	Data, TransformedData []*Statement
	Parameters            []*Statement
	TransformedParameters []*Statement
	Model                 []*Statement
	Generated             []*Statement
}

// A Function is a function that the program defines. Parameters has the names of its arguments.
type Function struct {
	At         Span // place in the text where the function is named
	Name       string
	Parameters []string
	Body       []*Statement
}

// StatementKind says what kind of statement a statement is.
type StatementKind byte

// These are the kinds of statements.
const (
	Declare StatementKind = iota + 1 // declares Name, and sets it to Value unless that is nil
	Assign                           // assigns Value to Target; Name is "+" for x += 1
	Tilde                            // gives Target the density Name with the arguments Args
	Add                              // adds Value to the log density
	For                              // runs Body with Name = Low, Low + 1, …, High
	If                               // runs Body if Value is not 0, and Else if it is
	Block                            // runs Body
	Call                             // prints or rejects; ignored
	Return                           // returns Value from the function
)

// A Statement is a statement of a program.
type Statement struct {
	Kind   StatementKind
	At     Span
	Name   string
	Type   *Type
	Target *Expr
	Value  *Expr
	Args   []*Expr
	// Low and High are the bounds of a loop or of a truncation. In a truncation, one of them may be
	// nil. Truncated is the place of the truncation, or nil if there is none.
	Low, High  *Expr
	Truncated  *Span
	Body, Else []*Statement
}

// A Type is the type of a variable in a declaration.
type Type struct {
	At    Span
	Base  string  // name of the type, such as "real"
	Array []*Expr // sizes of the array
	Sizes []*Expr // sizes of a vector or a matrix
	// Bounds has the expressions for the keywords lower, upper, offset and multiplier.
	Bounds map[string]*Expr
}

// ExprKind says what kind of expression an expression is.
type ExprKind byte

// These are the kinds of expressions.
const (
	Number    ExprKind = iota + 1 // the number Value
	Name                          // the variable Text
	Apply                         // the function Text, called with the arguments Args
	Index                         // Args[0] with the subscripts Args[1:]
	Range                         // range Args[0]:Args[1] of subscripts, where a missing end is nil
	Unary                         // operator Text applied to Args[0]
	Binary                        // operator Text applied to Args[0] and Args[1]
	Choice                        // Args[1] if Args[0] is not 0, and Args[2] if it is
	Transpose                     // transpose of Args[0]
	List                          // array or row vector with the elements Args; Text is "{" or "["
)

// An Expr is an expression.
type Expr struct {
	Kind  ExprKind
	At    Span
	Text  string
	Value float64
	Whole bool // whether the number is written as an integer
	Args  []*Expr
}
