package page

import (
	"html/template"
	"io"

	"fedpvi/pvi/words"
)

// A Check is the page that shows a data holder, before a study, how its records fit.
type Check struct {
	*words.Examined
	Program string // name and version of the program
	Date    string // day on which the page was written
}

// Warned says which people may see the page.
func (c *Check) Warned() string { return words.Warned }

// WriteCheck writes the page.
func WriteCheck(w io.Writer, c *Check) error { return pages.ExecuteTemplate(w, "check.html", c) }

// Body returns the content of the page, as [Report.Body] does.
func (c *Check) Body() (template.HTML, error) { return body("check", c) }
