package words

import (
	"fmt"
	"math"
	"strings"

	"fedpvi/pvi/study"
)

// narrow is the width of the bounds of a column, relative to the larger of them in absolute value,
// below which the records within the bounds are called a narrow slice.
const narrow = 0.1

// recordsKept says in words which records of a file count. A study that leaves out records by
// their values is about the rest, and its answers are about few people if few are left.
func recordsKept(st *study.Study) []string {
	read := map[int]bool{}
	for _, i := range st.Reads() {
		read[i] = true
	}
	var out []string
	for i := range st.Columns {
		c := &st.Columns[i]
		text := c.Name + ": " + within(c) + policies(c) + "."
		if !read[i] {
			text += " The model does not use this column: it is there to choose records."
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
		most += fmt.Sprintf(" A sum of more than federation.max_records = %d is cut off at what that many can add up to.", st.Federation.MaxRecords)
	}
	return append(out, most+" Only the holder learns how many records were left out: from client doctor --data before the study, and from records.json in the state directory.")
}

// within describes the values that a column may have.
func within(c *study.Column) string {
	if c.Type == study.Numeric {
		return strings.TrimSpace(fmt.Sprintf("a number in [%s, %s] %s", Number(c.Low), Number(c.High), c.Unit))
	}
	return "one of " + strings.Join(c.Levels, ", ")
}

// sliceOf describes the values that a record must have if they are few, and returns "" otherwise.
func sliceOf(c *study.Column) string {
	if c.Type != study.Numeric || c.Outside == study.Clamp || c.High-c.Low >= narrow*math.Max(math.Abs(c.Low), math.Abs(c.High)) {
		return ""
	}
	return fmt.Sprintf("%s from %s to %s", c.Name, Number(c.Low), Number(c.High))
}

// policies says what happens to a record with another value in the column, or with none.
func policies(c *study.Column) string {
	others := "; records with others are left out"
	if c.Outside == study.Clamp {
		others = "; others count as the nearest bound"
	}
	switch {
	case c.Missing == study.Impute:
		return others + "; a missing one counts as " + c.Imputed
	case c.Outside == study.Clamp:
		return others + "; records without one are left out"
	}
	return "; other records are left out"
}
