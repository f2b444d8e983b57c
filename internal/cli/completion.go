package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Completion is the command that prints a shell script. With this script, a shell completes the
// names of commands, flags and files.
type Completion struct {
	Shell string `arg:"" help:"Shell: bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Run prints the script.
func (c *Completion) Run(command *kong.Context) error {
	model := command.Model
	var b strings.Builder
	switch c.Shell {
	case "fish":
		fish(&b, model)
	case "zsh":
		b.WriteString("autoload -U +X bashcompinit && bashcompinit\n")
		bash(&b, model)
	default:
		bash(&b, model)
	}
	_, err := io.WriteString(command.Stdout, b.String())
	return err
}

func bash(b *strings.Builder, model *kong.Application) {
	fmt.Fprintf(b, `_fedpvi_%[1]s() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="" w
  for w in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$w" in %[2]s) command="$w"; break;; esac
  done
  case "$command" in
`, model.Name, strings.Join(commandNames(model.Node), "|"))
	for _, child := range commandsOf(model.Node) {
		bashCase(b, child.Name, append(namesOf(child), flagsOf(model.Node)...))
	}
	bashCase(b, `""`, namesOf(model.Node))
	fmt.Fprintf(b, `  esac
  COMPREPLY+=($(compgen -f -- "$word"))
}
complete -o filenames -F _fedpvi_%[1]s %[1]s
`, model.Name)
}

func bashCase(b *strings.Builder, pattern string, words []string) {
	fmt.Fprintf(b, "    %s) COMPREPLY=($(compgen -W %q -- \"$word\"));;\n", pattern, strings.Join(words, " "))
}

func fish(b *strings.Builder, model *kong.Application) {
	line := func(where, what string) { fmt.Fprintf(b, "complete -c %s -n '%s' %s\n", model.Name, where, what) }
	for _, child := range commandsOf(model.Node) {
		seen := "__fish_seen_subcommand_from " + child.Name
		line("__fish_use_subcommand", "-a "+child.Name)
		for _, inner := range commandsOf(child) {
			line(seen, "-a "+inner.Name)
		}
		for _, flag := range append(flagsOf(child), flagsOf(model.Node)...) {
			line(seen, "-l "+strings.TrimPrefix(flag, "--"))
		}
	}
}

// commandsOf returns the commands directly below a node, except hidden commands.
func commandsOf(n *kong.Node) (all []*kong.Node) {
	for _, child := range n.Children {
		if !child.Hidden {
			all = append(all, child)
		}
	}
	return all
}

// namesOf returns the words that can follow a command: first its subcommands, then its flags.
func namesOf(n *kong.Node) []string {
	return append(commandNames(n), flagsOf(n)...)
}

func commandNames(n *kong.Node) (all []string) {
	for _, child := range commandsOf(n) {
		all = append(all, child.Name)
	}
	return all
}

func flagsOf(n *kong.Node) (all []string) {
	for _, f := range n.Flags {
		all = append(all, "--"+f.Name)
	}
	return all
}
