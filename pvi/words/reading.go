package words

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"fedpvi/pvi/shard"
)

// Reading writes how records were changed while they were read and scaled, if they were. The text
// is for the data holder only.
func Reading(w io.Writer, r shard.Report) error {
	var b strings.Builder
	for _, did := range []struct {
		what   string
		counts map[string]int
	}{
		{"records were dropped", r.Dropped},
		{"values were clamped to their bounds", r.Clamped},
		{"missing values were imputed", r.Imputed},
		{"values lay beyond the scale that was found and count as its nearest end", r.Beyond},
	} {
		var parts []string
		total := 0
		for _, column := range slices.Sorted(maps.Keys(did.counts)) {
			parts = append(parts, fmt.Sprintf("%s %d", column, did.counts[column]))
			total += did.counts[column]
		}
		if total > 0 {
			b.WriteString(Wrap(fmt.Sprintf("In reading the records, %d %s: %s.", total, did.what, strings.Join(parts, ", "))))
		}
	}
	if r.Malformed > 0 {
		b.WriteString(Wrap(fmt.Sprintf("In reading the records, %d lines were left out: they cannot be split into the fields of a record.", r.Malformed)))
	}
	if r.First != nil {
		b.WriteString(Wrap(fmt.Sprintf("The study has no rule for %s of what was left out. The first is %s.", Plural(r.Refused, "record"), r.First)))
	}
	if r.Surplus > 0 {
		b.WriteString(Wrap(fmt.Sprintf("In reading the records, %d rows were left out by lot: their persons have more rows than the study uses.", r.Surplus)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
