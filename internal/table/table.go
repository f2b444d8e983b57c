// Package table reads tables of records row by row.
package table

import "fmt"

// A Reader reads the rows of a table, one after the other.
type Reader interface {
	// Columns returns the names of the columns in the order of a row's cells, or nil if they have
	// no names.
	Columns() []string

	// Next returns the cells of the next row, one per column. They are valid until the next call.
	// After the last row, Next returns io.EOF. If a row cannot be divided into cells, it returns a
	// [Malformed]. It may then be called again for the next row.
	Next() ([]Cell, error)

	// Row returns the number of the row that Next has returned, from 1. In a text file, this is the
	// line number.
	Row() int

	// Unit returns the word for the unit in which Row counts: "line" or "row".
	Unit() string
}

// A Wanted is a column that a caller wants to read.
type Wanted struct {
	Name string
	Date bool // whether the values must be dates or text
}

// A Cell is one value of a table. Its kind determines which field holds the value.
type Cell struct {
	Kind   Kind
	Text   string
	Number float64
}

// A Kind is the kind of a cell's value.
type Kind uint8

const (
	Text      Kind = iota // the cell has text, which may be a number
	CommaText             // the cell has text, in which a number has a decimal comma
	Number                // the cell has a number
	Missing               // the cell has no value
)

// A Malformed is the error for a row that cannot be divided into cells.
type Malformed struct {
	Row     int // number of the row, from 1
	Message string
}

func (m *Malformed) Error() string { return fmt.Sprintf("%d: %s", m.Row, m.Message) }
