package abuse

import (
	"fmt"
	"strings"
)

// between returns a page in which table replaces the text between the two marks with the given
// name.
func between(text, name, table string) (string, error) {
	begin, end := "<!-- "+name+": made from the tests -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", fmt.Errorf("%s has no place for the table %q", page, name)
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}
