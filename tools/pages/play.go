//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sync/errgroup"
)

// A place is the folder and the environment in which the commands of a page run.
type place struct {
	dir         string   // working directory
	environment []string // environment variables
	port        string   // port that replaces 7443, the coordinator's port on pages
}

// shown stands for the working directory on pages.
const shown = "/home/ann/fedpvi"

// play runs commands and returns the lines that they print. A command starts when two things have
// happened: the commands before it at the same terminal or without a terminal have ended, and those
// at other terminals have printed something. play answers the prompt "Type yes: " with yes.
func (p place) play(ctx context.Context, commands []*command) ([][]string, error) {
	outputs := make([][]string, len(commands))
	group, ctx := errgroup.WithContext(ctx)
	ended := map[string]chan struct{}{}
	for i, c := range commands {
		if before := ended[c.terminal]; before != nil {
			select {
			case <-before:
			case <-ctx.Done():
			}
		}
		done, heard := make(chan struct{}), make(chan struct{})
		ended[c.terminal] = done
		printed := &output{first: sync.OnceFunc(func() {
			if c.terminal != "" {
				close(heard)
			}
		})}
		group.Go(func() error {
			defer close(done)
			err := p.run(ctx, c, printed)
			outputs[i] = p.lines(printed.String())
			if err != nil {
				return fmt.Errorf("%s: %w\n%s", c.line, err, printed)
			}
			return nil
		})
		select {
		case <-heard:
		case <-done:
		case <-ctx.Done():
		}
	}
	return outputs, group.Wait()
}

// output stores the text that a command prints. The first call of Write calls first.
type output struct {
	bytes.Buffer
	first func()
}

func (o *output) Write(b []byte) (int, error) {
	o.first()
	return o.Buffer.Write(b)
}

// run runs a command. If the command belongs to a terminal, it gets a pseudo-terminal.
func (p place) run(ctx context.Context, c *command, printed *output) error {
	process := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", strings.ReplaceAll(c.line, ":7443", ":"+p.port))
	process.Dir, process.Env, process.WaitDelay = p.dir, append(os.Environ(), p.environment...), time.Second
	if c.terminal == "" {
		process.Stdout, process.Stderr = printed, printed
		return process.Run()
	}
	terminal, program, err := pty.Open()
	if err != nil {
		return err
	}
	defer terminal.Close()
	defer program.Close()
	process.Stdin, process.Stdout, process.Stderr = program, program, program
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(pty.Setsize(terminal, &pty.Winsize{Rows: 40, Cols: 100}), process.Start()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := process.Wait()
		_, failed := io.WriteString(program, end)
		ended <- errors.Join(err, failed)
	}()
	if err := converse(terminal, printed); err != nil {
		return errors.Join(err, process.Process.Kill(), <-ended)
	}
	return <-ended
}

// end is written to a terminal after a program's output, so that the reader knows when it has read
// everything. If the terminal were closed instead, bytes not read yet could be lost.
const end = "\x00"

// converse copies the output of a terminal to printed until the output ends. It answers the prompt
// "Type yes: " with yes.
func converse(terminal io.ReadWriter, printed *output) error {
	b := make([]byte, 4096)
	for {
		n, err := terminal.Read(b)
		if err != nil {
			return err
		}
		text, over := bytes.CutSuffix(b[:n], []byte(end))
		printed.Write(text)
		if over {
			return nil
		}
		if bytes.HasSuffix(printed.Bytes(), []byte("Type yes: ")) {
			if _, err := io.WriteString(terminal, "yes\n"); err != nil {
				return err
			}
		}
	}
}

// lines returns the lines of a text as a page shows them. It leaves out lines that only show
// progress, which a program redraws after a carriage return.
func (p place) lines(text string) []string {
	text = strings.NewReplacer(p.dir, shown, ":"+p.port, ":7443").Replace(text)
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if !strings.Contains(line, "\r") {
			lines = append(lines, line)
		}
	}
	return lines
}
