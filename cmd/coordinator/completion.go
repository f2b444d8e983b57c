package main

import (
	"fmt"
	"os"
	"strings"
)

type completionCommand struct {
	Shell string `arg:"" help:"Shell: bash, zsh or fish." enum:"bash,zsh,fish"`
}

func (completionCommand) Help() string {
	return `Examples:

  source <(coordinator completion bash)
  coordinator completion fish > ~/.config/fish/completions/coordinator.fish`
}

// Run prints a script that completes commands and their flags.
func (c *completionCommand) Run(e *environment) error {
	model := e.parser.Model
	var names []string
	flags := map[string][]string{}
	for _, command := range model.Leaves(true) {
		names = append(names, command.Name)
		for _, group := range command.AllFlags(true) {
			for _, flag := range group {
				flags[command.Name] = append(flags[command.Name], "--"+flag.Name)
			}
		}
	}
	var b strings.Builder
	switch c.Shell {
	case "bash", "zsh":
		if c.Shell == "zsh" {
			b.WriteString("autoload -U +X bashcompinit && bashcompinit\n")
		}
		fmt.Fprintf(&b, "_coordinator() {\n  local words=%q\n  case \"${COMP_WORDS[1]}\" in\n", strings.Join(names, " "))
		for _, name := range names {
			fmt.Fprintf(&b, "    %s) words=%q;;\n", name, strings.Join(flags[name], " "))
		}
		b.WriteString("  esac\n  [ \"$COMP_CWORD\" = 1 ] && words=\"" + strings.Join(names, " ") + "\"\n")
		b.WriteString("  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n")
		b.WriteString("complete -o default -F _coordinator coordinator\n")
	case "fish":
		for _, name := range names {
			fmt.Fprintf(&b, "complete -c coordinator -n __fish_use_subcommand -a %s\n", name)
			for _, flag := range flags[name] {
				fmt.Fprintf(&b, "complete -c coordinator -n '__fish_seen_subcommand_from %s' -l %s\n", name, strings.TrimPrefix(flag, "--"))
			}
		}
	}
	_, err := os.Stdout.WriteString(b.String())
	return err
}
