package shard

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/internal/calendar"
	"fedpvi/internal/table"
	"fedpvi/pvi/study"
)

// textOf returns the text of a cell. It is "" if the value is missing. A number gets the fewest
// digits that distinguish it from all others.
func textOf(cell table.Cell) string {
	switch cell.Kind {
	case table.Number:
		return strconv.FormatFloat(cell.Number, 'f', -1, 64)
	case table.Missing:
		return ""
	}
	return cell.Text
}

// value decodes a cell according to the study's policies. If the record must be left out, it
// returns Drop or an error.
func (d *decoder) value(column int, cell table.Cell) (float64, study.Policy, error) {
	x, problem := d.judge(column, cell)
	if problem == fits {
		return x, "", nil
	}
	return d.settle(column, x, problem, cell)
}

// settle applies the study's rule for a problem. It returns a replacement for the value, Drop, or
// an error.
func (d *decoder) settle(column int, x float64, problem Problem, cell table.Cell) (float64, study.Policy, error) {
	c := &d.study.Columns[column]
	rule := ruleFor(c, problem)
	d.note(d.rows.Row(), c.Name, problem, rule, cell)
	switch rule {
	case study.Drop:
		return 0, study.Drop, nil
	case study.Clamp:
		d.report.Clamped[c.Name]++
		return min(max(x, c.Low), c.High), "", nil
	case study.Impute:
		d.report.Imputed[c.Name]++
		if d.missing != nil {
			d.missing = append(d.missing, column)
		}
		x, problem = d.spelled(column, c.Imputed, false) // in a study, numbers always have a decimal point
		if problem == fits {
			return x, "", nil
		}
		return d.settle(column, x, problem, cell)
	}
	return 0, study.Refuse, d.errorf(c.Name, "%s", d.describe(c, problem))
}

// ruleFor returns the study's rule for values of a column that have the given problem.
func ruleFor(c *study.Column, problem Problem) study.Policy {
	rule := study.Refuse
	switch problem {
	case Missing:
		rule = c.Missing
	case Outside, NoLevel:
		rule = c.Outside
	}
	if rule == "" {
		return study.Refuse
	}
	return rule
}

// describe describes the problem that a value has, without quoting the value.
func (d *decoder) describe(c *study.Column, problem Problem) string {
	switch problem {
	case Missing:
		return "the value is missing"
	case NoLevel:
		return fmt.Sprintf("the value is not among the %d levels that the study declares (blanks count unless the study says table.trim = true)", len(c.Levels))
	case NoNumber:
		return "the value is not a number, nor one of the texts for a missing value in the study's table.missing (blanks count unless the study says table.trim = true)"
	case NoDate:
		return "the value is not a date such as 2020-12-31, nor one of the texts for a missing value in the study's table.missing (blanks count unless the study says table.trim = true)"
	case NotWhole:
		return fmt.Sprintf("the value is not a whole number, and the %s model counts", d.study.Model.Family)
	}
	return fmt.Sprintf("the value is outside the bounds [%s, %s] that the study declares", c.Text(c.Low), c.Text(c.High))
}

// judge decodes a cell without applying policies. The value can be used if the reason is fits or
// Outside.
func (d *decoder) judge(column int, cell table.Cell) (float64, Problem) {
	c := &d.study.Columns[column]
	if cell.Kind == table.Number && c.Type == study.Numeric && !c.Dated && !math.IsNaN(cell.Number) {
		return d.bounded(column, cell.Number)
	}
	field := d.trim(textOf(cell))
	if cell.Kind == table.Missing || slices.Contains(d.study.Table.Missing, field) && !slices.Contains(c.Levels, field) {
		return 0, Missing
	}
	return d.spelled(column, field, cell.Kind == table.CommaText)
}

// spelled decodes the text of a value that is not missing.
func (d *decoder) spelled(column int, field string, comma bool) (float64, Problem) {
	c := &d.study.Columns[column]
	switch {
	case c.Dated:
		day, ok := calendar.ParseTime(field)
		if !ok {
			return 0, NoDate
		}
		return d.bounded(column, c.Years(day))
	case c.Type == study.Numeric:
		return d.bounded(column, parse(field, comma))
	}
	if level := slices.Index(c.Levels, field); level >= 0 {
		return float64(level), fits
	}
	return 0, NoLevel
}

// parse returns the number that text stands for, or NaN. If comma is true, it has a decimal comma.
func parse(text string, comma bool) float64 {
	if comma {
		if strings.Contains(text, ".") {
			return math.NaN()
		}
		text = strings.Replace(text, ",", ".", 1)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return math.NaN()
	}
	return x
}

// bounded checks a number. It returns x, together with NoNumber, NotWhole, Outside or fits.
func (d *decoder) bounded(column int, x float64) (float64, Problem) {
	c := &d.study.Columns[column]
	switch {
	case math.IsNaN(x):
		return x, NoNumber
	case d.counted[column] && x != math.Trunc(x):
		return x, NotWhole
	case c.Low <= x && x <= c.High:
		return x, fits
	}
	return x, Outside
}
