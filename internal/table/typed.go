package table

import (
	"fmt"
	"strconv"
)

// exact is the limit up to which a float64 is exact: it can represent every whole number with a
// smaller absolute value.
const exact = 1 << 53

// Whole returns a cell for the whole number x. If a float64 might not represent x exactly, the cell
// has the kind Text.
func Whole(x int64) Cell {
	if -exact < x && x < exact {
		return Cell{Kind: Number, Number: float64(x)}
	}
	return Cell{Text: strconv.FormatInt(x, 10)}
}

// Again is advice for a damaged file, with which an error message can end.
const Again = "copy the file again, or write it again with the program that made it"

// Unreadable returns the error for a column whose type cannot be read.
func Unreadable(column, kind string) error {
	return fmt.Errorf("column %s: values of the type %s cannot be read: write numbers or text, and write a time as the number of days or years that the study asks for", column, kind)
}

// NoDates returns the error for a column that the study declares as dates although it has another
// type.
func NoDates(column, kind string) error {
	return fmt.Errorf("column %s: the study reads dates, but these values have the type %s: write dates, times or text such as 2020-12-31", column, kind)
}
