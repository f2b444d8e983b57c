package syntax

// A Program is the syntax tree of a program. A block that the text lacks has no statements.
type Program struct {
	Text                  string
	Functions             []*Function
	Data, TransformedData []*Statement
	Parameters            []*Statement
	TransformedParameters []*Statement
	Model                 []*Statement
	Generated             []*Statement
}

// A Function is a function that the program defines.
type Function struct {
	At         Span // place of its name
	Name       string
	Parameters []string
	Body       []*Statement
}

// StatementKind is the kind of a statement.
type StatementKind byte

// These are the kinds of statements.
const (
	Declare StatementKind = iota + 1 // declares Name; the initial value is Value, or none if Value is nil
	Assign                           // assigns Value, or Target Name Value if Name is an operator, to Target
	Tilde                            // gives Target the density Name with the arguments Args
	Add                              // adds Value to the log density
	For                              // runs Body for each Name from Low to High
	If                               // Body if Value, else Else
	Block                            // Body
	Call                             // prints or rejects; the statement is parsed and ignored
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
	// Low and High are the bounds of a loop or of a truncated density. The bounds of a truncated
	// density may be nil, and Truncated is the part of the text that has them.
	Low, High  *Expr
	Truncated  *Span
	Body, Else []*Statement
}

// A Type is the type in a declaration.
type Type struct {
	At    Span
	Base  string  // such as "real"
	Array []*Expr // sizes of the array
	Sizes []*Expr // sizes of the vector or matrix
	// Bounds has the expressions for lower, upper, offset and multiplier.
	Bounds map[string]*Expr
}

// ExprKind is the kind of an expression.
type ExprKind byte

// These are the kinds of expressions.
const (
	Number    ExprKind = iota + 1 // number Value
	Name                          // variable Text
	Apply                         // function Text of Args
	Index                         // Args[0] with the subscripts Args[1:]
	Range                         // range of subscripts from Args[0] to Args[1]; either may be nil
	Unary                         // operator Text of one argument
	Binary                        // operator Text of two arguments
	Choice                        // Args[1] if Args[0], else Args[2]
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
