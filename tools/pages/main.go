//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := record(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// record runs the commands of all pages, and writes their outputs into the pages.
func record(ctx context.Context) (err error) {
	programs, err := os.MkdirTemp("", "fedpvi-programs-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	if err := build(".", programs); err != nil {
		return err
	}
	pages, err := withCommands(".")
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := p.record(ctx, programs); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		fmt.Println(p.path)
	}
	return nil
}

func build(root, folder string) error {
	command := exec.Command("go", "build", "-ldflags=-s -w", "-o", folder+string(filepath.Separator), "./cmd/...")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// A page is a documentation page with commands.
type page struct {
	root, path, text string
	commands         []*command
}

// withCommands returns the pages of a repository that have commands.
func withCommands(root string) ([]page, error) {
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil {
		return nil, err
	}
	var pages []page
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if commands := parse(string(b)); len(commands) > 0 {
			pages = append(pages, page{root, path, string(b), commands})
		}
	}
	return pages, nil
}

// record runs the commands of a page, and writes their outputs into the page.
func (p page) record(ctx context.Context, programs string) (err error) {
	dir, err := os.MkdirTemp("", "fedpvi-page-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	outputs, err := p.play(ctx, dir, programs)
	if err != nil {
		return err
	}
	return os.WriteFile(p.path, []byte(write(p.text, p.commands, outputs)), 0o644)
}

// play runs the commands of a page in the folder dir, which has links to the programs and the
// experiments. It returns the lines that they print.
func (p page) play(ctx context.Context, dir, programs string) ([][]string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	experiments, err := filepath.Abs(filepath.Join(p.root, "experiments"))
	if err != nil {
		return nil, err
	}
	for name, target := range map[string]string{"bin": programs, "experiments": experiments} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return place{dir: dir, environment: []string{"HOME=" + dir, "TZ=UTC"}, port: port}.play(ctx, p.commands)
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}
