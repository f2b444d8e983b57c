package words

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/study"
)

// If the distance between a column's bounds is less than narrow times the larger of their absolute
// values, they select few records, and the text warns of this. For dates, narrow is in years.
const narrow = 0.1

// recordsKept says, for each column, which values a record must have to be used in the study. Data
// holders need to know this, because the results are about these records only, and they may belong
// to few people.
func recordsKept(st *study.Study) []string {
	reads := st.Reads()
	var out []string
	for i := range st.Columns {
		c := &st.Columns[i]
		text := c.Name + ": " + within(c) + policies(c) + "."
		if !slices.Contains(reads, i) {
			text += " The model does not use this column: it only selects records."
		}
		if slice := sliceOf(c); slice != "" {
			text += " A NARROW SLICE: the study keeps only records with " + slice + "."
		}
		out = append(out, text)
	}
	if name := st.Table.Person; name != "" {
		out = append(out, fmt.Sprintf("%s: any text; at most %s of a person, chosen by lot; records without one are left out.", name, Plural(st.Privacy.Rows(), "record")))
	}
	most := "A file may have any number of records."
	if st.Privacy.Unit.OfRecords() {
		most += fmt.Sprintf(" A sum over more than federation.max_records = %d records is clipped to the largest sum that this many records can have.", st.Federation.MaxRecords)
	}
	return append(out, most+" Only the holder learns how many records were left out: from client check --data before the study, and from records.json in the state directory.")
}

func within(c *study.Column) string {
	if c.Type == study.Numeric {
		return span(c)
	}
	return "one of " + strings.Join(c.Levels, ", ")
}

func span(c *study.Column) string {
	if c.Dated {
		return fmt.Sprintf("a date from %s to %s", c.Text(c.Low), c.Text(c.High))
	}
	return strings.TrimSpace(fmt.Sprintf("a number in [%s, %s] %s", Number(c.Low), Number(c.High), c.Unit))
}

// sliceOf describes the bounds of a column if they are narrow and records outside them are left
// out. If not, it returns "".
func sliceOf(c *study.Column) string {
	if c.Type != study.Numeric || c.Outside == study.Clamp {
		return ""
	}
	size, text := math.Max(math.Abs(c.Low), math.Abs(c.High)), Number
	if c.Dated {
		size, text = 1, c.Text
	}
	if c.High-c.Low >= narrow*size {
		return ""
	}
	return fmt.Sprintf("%s from %s to %s", c.Name, text(c.Low), text(c.High))
}

// policies says how a record is treated if its value in the column is missing or not allowed.
func policies(c *study.Column) string {
	others := "; records with other values are left out"
	if c.Outside == study.Clamp {
		others = "; other values count as the nearest bound"
	}
	switch {
	case c.Missing == study.Impute:
		return others + "; a missing value counts as " + c.Imputed
	case c.Outside == study.Clamp:
		return others + "; records without a value are left out"
	}
	return "; other records are left out"
}
