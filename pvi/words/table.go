package words

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table writes rows, each after the given indent. The first leftAligned columns are aligned on the
// left, the others on the right. There are two blanks between columns.
func Table(w io.Writer, indent string, leftAligned int, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < leftAligned {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
