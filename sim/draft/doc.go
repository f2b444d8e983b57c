// Package draft writes a first study file from a public description of columns: a data dictionary,
// or made-up records. It reads no private records.
package draft

import (
	"errors"
	"fmt"
	"strings"
)

// A Column is a column of a data dictionary.
type Column struct {
	Name   string
	Label  string // description for people; empty if the dictionary gives none
	Kind   Kind
	Low    *float64 // minimum of a number; nil if the dictionary gives none
	High   *float64 // maximum of a number; nil if the dictionary gives none
	First  string   // earliest possible day of a date, such as 2015-01-01; empty if unknown
	Last   string   // latest possible day of a date; empty if unknown
	Levels []string // levels of a choice, at least two
	Labels []string // meaning of each level; nil if the dictionary gives none
	Note   string   // reason why the column cannot be used; only for the kind Unusable
}

// A Kind is the kind of a column's values.
type Kind int

const (
	Unusable Kind = iota // can be neither a regressor nor an outcome, for example free text
	Number               // a number
	Whole                // a whole number
	Date                 // a day, with or without the time of day
	Choice               // one level from a list
	Ordered              // one level from an ordered list, which begins with the lowest
)

// A Dictionary describes the columns of a table.
type Dictionary struct {
	Source  string // kind of the dictionary, such as "REDCap data dictionary"
	MadeUp  bool   // whether bounds and levels were derived from made-up records
	Columns []Column
	Missing []string // strings that stand for a missing value; nil if unknown

	Separator string // field separator of the made-up records; "" if it is a comma or there are no records
}

func (d *Dictionary) column(name string) (*Column, error) {
	for i := range d.Columns {
		c := &d.Columns[i]
		switch {
		case c.Name != name:
		case c.Kind == Unusable:
			return nil, fmt.Errorf("column %s cannot be used: %s", name, c.Note)
		default:
			return c, nil
		}
	}
	return nil, fmt.Errorf("the %s has no column %s: it has %s", d.Source, name, list(d.names()))
}

// names returns the names of the usable columns.
func (d *Dictionary) names() (names []string) {
	for _, c := range d.Columns {
		if c.Kind != Unusable {
			names = append(names, c.Name)
		}
	}
	return names
}

// list joins names, but at most ten of them.
func list(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

var errNoDictionary = errors.New("this is not a data dictionary: give a Frictionless table schema or data package (JSON), a CSVW description (JSON), " +
	"a REDCap data dictionary (CSV), or made-up records (CSV) with --made-up")
