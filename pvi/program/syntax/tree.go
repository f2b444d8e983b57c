package syntax

// A Program is the syntax tree of a program. Blocks that the text lacks are empty.
type Program struct {
	Text                  string
	Functions             []*Function
	Data, TransformedData []*Statement
	Parameters            []*Statement
	TransformedParameters []*Statement
	Model                 []*Statement
	Generated             []*Statement
}

// A Function is a function of the program. Parameters has the names of its arguments.
type Function struct {
	At         Span // place of the function's name in the text
	Name       string
	Parameters []string
	Body       []*Statement
}

// StatementKind is the kind of a statement.
type StatementKind byte

// These are the kinds of statements.
const (
	Declare StatementKind = iota + 1 // declares Name, with the initial value Value unless Value is nil
	Assign                           // assigns Value to Target; Name is "+" for x += 1
	Tilde                            // Target has the density Name with the arguments Args
	Add                              // adds Value to the log density
	For                              // runs Body with Name = Low, Low + 1, …, High
	If                               // runs Body if Value is not 0, and otherwise Else
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
	// Low and High are the bounds of a loop or of a truncation, where one can be nil. Truncated is
	// the place of the truncation, or nil.
	Low, High  *Expr
	Truncated  *Span
	Body, Else []*Statement
}

// A Type is the type in a declaration.
type Type struct {
	At    Span
	Base  string  // name of the type, such as "real"
	Array []*Expr // sizes of the array
	Sizes []*Expr // sizes of a vector or a matrix
	// Bounds has the expressions for lower, upper, offset and multiplier.
	Bounds map[string]*Expr
}

// ExprKind is the kind of an expression.
type ExprKind byte

// These are the kinds of expressions.
const (
	Number    ExprKind = iota + 1 // the number Value
	Name                          // the variable Text
	Apply                         // call of the function Text with the arguments Args
	Index                         // Args[0] with the subscripts Args[1:]
	Range                         // range Args[0]:Args[1] of subscripts; a missing end is nil
	Unary                         // operator Text applied to Args[0]
	Binary                        // operator Text applied to Args[0] and Args[1]
	Choice                        // Args[1] if Args[0] is not 0, otherwise Args[2]
	Transpose                     // transpose of Args[0]
	List                          // array or row vector with the elements Args; Text is "{" or "["
)

// An Expr is an expression.
type Expr struct {
	Kind  ExprKind
	At    Span
	Text  string
	Value float64
	Whole bool // whether a number is written as an integer
	Args  []*Expr
}
