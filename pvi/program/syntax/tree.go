package syntax

// A Program is the tree of a program. A block that the text does not have has no statements.
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
	Declare StatementKind = iota + 1 // declaration of Name, with the value Value if it is not nil
	Assign                           // Target is set to Value, or, with an operator Name, to Target Name Value
	Tilde                            // Target has the density Name with arguments Args
	Add                              // Value is added to the log density
	For                              // Body for each Name from Low to High
	If                               // Body if Value, else Else
	Block                            // Body
	Call                             // a statement that prints or rejects; it is read and ignored
	Return                           // the value of the function is Value
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
	// Low and High are the bounds of a loop. Truncated is the part of the text with the bounds of
	// a truncated density, which are Low and High; they may be nil.
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
	// Bounds has the expressions of lower, upper, offset and multiplier.
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
	Range                         // subscript from Args[0] to Args[1], of which either may be nil
	Unary                         // operator Text of one argument
	Binary                        // operator Text of two arguments
	Choice                        // Args[1] if Args[0], else Args[2]
	Transpose                     // transpose of Args[0]
	List                          // array or row vector of Args; Text is "{" or "["
)

// An Expr is an expression.
type Expr struct {
	Kind  ExprKind
	At    Span
	Text  string
	Value float64
	Whole bool // whether a number is written as a whole number
	Args  []*Expr
}
