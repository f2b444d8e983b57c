package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Manual is the command that prints the program's manual page in man's format. The page has the
// same text as --help, and the examples and exit codes.
type Manual struct{}

// Run prints the page.
func (Manual) Run(command *kong.Context, program Program) error {
	_, err := io.WriteString(command.Stdout, page(command.Model, program))
	return err
}

func page(model *kong.Application, program Program) string {
	p := new(roff)
	summary, rest, _ := strings.Cut(program.Description, "\n")
	p.request("TH", strings.ToUpper(program.Name), "1", "", "fedpvi", "fedpvi manual")
	p.request("SH", "NAME")
	p.text(program.Name + " - " + strings.ToLower(summary[:1]) + strings.TrimSuffix(summary[1:], "."))
	p.request("SH", "SYNOPSIS")
	p.line(bold(program.Name) + ` \fIcommand\fR [\fIflags\fR]`)
	p.request("SH", "DESCRIPTION")
	p.text(rest)
	p.request("SH", "FLAGS OF EVERY COMMAND")
	p.flags(model.Node)
	p.request("SH", "COMMANDS")
	for _, leaf := range leaves(model.Node) {
		p.command(program.Name, leaf)
	}
	p.request("SH", "EXIT STATUS")
	for _, e := range program.Exits {
		p.item(bold(fmt.Sprint(e.Code)))
		p.text(e.Meaning)
	}
	if used := variables(model.Node); len(used) > 0 {
		p.request("SH", "ENVIRONMENT")
		for _, v := range used {
			p.item(bold(v[0]))
			p.text("Default of --" + v[1] + ".")
		}
	}
	return p.String()
}

// leaves returns the runnable commands below a node, except hidden ones.
func leaves(n *kong.Node) (all []*kong.Node) {
	for _, child := range commandsOf(n) {
		if len(child.Children) == 0 {
			all = append(all, child)
		}
		all = append(all, leaves(child)...)
	}
	return all
}

// variables returns the environment variables that set flags below a node, together with the flags.
func variables(n *kong.Node) (all [][2]string) {
	for _, f := range n.Flags {
		for _, e := range f.Envs {
			all = append(all, [2]string{e, f.Name})
		}
	}
	for _, child := range commandsOf(n) {
		all = append(all, variables(child)...)
	}
	return all
}

// roff is a page written in the macros of man(7).
type roff struct{ strings.Builder }

// request writes a macro with quoted arguments.
func (p *roff) request(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

func (p *roff) line(s string) { p.WriteString(s + "\n") }

// item begins an indented paragraph with a label, such as the name of a flag.
func (p *roff) item(label string) {
	p.request("TP")
	p.line(label)
}

// text writes plain text. Lines that begin with a space keep their line breaks.
func (p *roff) text(s string) {
	if s = strings.Trim(s, "\n"); s == "" {
		return
	}
	verbatim := false
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if l == "" {
			next := strings.HasPrefix(lines[i+1], " ") // in range, because the last line is not empty
			if verbatim && next {
				p.line("")
			} else if !verbatim && !next {
				p.request("PP")
			}
			continue
		}
		if as := strings.HasPrefix(l, " "); as != verbatim {
			if verbatim = as; verbatim {
				p.request("PP")
				p.request("EX")
			} else {
				p.request("EE")
				p.request("PP")
			}
		}
		p.line(plain(l))
	}
	if verbatim {
		p.request("EE")
	}
}

func (p *roff) command(program string, n *kong.Node) {
	p.request("SS", strings.Join(strings.Fields(n.FullPath()), " "))
	p.line(bold(program) + " " + plain(strings.Join(strings.Fields(n.Summary()), " ")))
	p.request("PP")
	p.text(n.Help)
	for _, a := range n.Positional {
		p.item(`\fI` + escape(a.Summary()) + `\fR`)
		p.text(a.Help)
	}
	p.flags(n)
	if n.Detail != "" {
		p.request("PP")
		p.text(n.Detail)
	}
}

// flags describes the flags of the command n. It leaves out flags that the commands above n have
// too.
func (p *roff) flags(n *kong.Node) {
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		label := "--" + f.Name
		if f.IsBool() && f.Tag.Negatable != "" {
			label = "--[no-]" + f.Name
		}
		if f.Short != 0 {
			label = "-" + string(f.Short) + ", " + label
		}
		label = bold(label)
		if !f.IsBool() {
			label += `=\fI` + escape(strings.Trim(f.FormatPlaceHolder(), `"`)) + `\fR`
		}
		p.item(label)
		p.text(f.Help)
		if f.Required {
			p.text("Required.")
		}
		if f.Enum != "" && !strings.Contains(f.Help, f.Enum) {
			p.text("One of: " + strings.ReplaceAll(f.Enum, ",", ", ") + ".")
		}
		if f.HasDefault && !f.IsBool() && !strings.Contains(f.Help, "Default:") {
			p.text("Default: " + f.Default + ".")
		}
	}
}

func bold(s string) string { return `\fB` + escape(s) + `\fR` }

// escape turns plain text into roff that prints this text within a line.
var escape = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace

// plain escapes a whole line. If a line began with a period, roff would take it for a request.
func plain(s string) string {
	if s = escape(s); strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}
