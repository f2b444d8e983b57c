package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" help:"Shell." enum:"bash,zsh"`

	model *kong.Application
}

func (completionCommand) Help() string {
	return `Examples:

  source <(client completion bash)
  source <(client completion zsh)`
}

// script completes commands and flags; after a flag that takes a value, files.
const script = `_fedpvi_client() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="" w
  for w in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$w" in -*) ;; *) command="$w"; break;; esac
  done
  case "$command" in
%s  esac
  COMPREPLY+=($(compgen -f -- "$word"))
}
complete -o filenames -F _fedpvi_client client
`

func (c *completionCommand) Run(root *commands) error {
	model := root.Completion.model
	if c.Shell == "zsh" {
		fmt.Println("autoload -U +X bashcompinit && bashcompinit")
	}
	var cases strings.Builder
	words := []string{}
	for _, child := range model.Children {
		words = append(words, child.Name)
		own := append(flagsOf(child), flagsOf(model.Node)...)
		for _, inner := range child.Children {
			own = append(own, inner.Name)
		}
		fmt.Fprintf(&cases, "    %s) COMPREPLY=($(compgen -W %q -- \"$word\"));;\n", child.Name, strings.Join(own, " "))
	}
	first := append(words, flagsOf(model.Node)...)
	fmt.Fprintf(&cases, "    \"\") COMPREPLY=($(compgen -W %q -- \"$word\"));;\n", strings.Join(first, " "))
	_, err := fmt.Printf(script, cases.String())
	return err
}

func flagsOf(n *kong.Node) []string {
	var all []string
	for _, f := range n.Flags {
		all = append(all, "--"+f.Name)
	}
	return all
}
