// Command dist builds the files of a release into dist/. These are programs for Linux without a
// C library, an archive of them for each processor with the units of systemd, a container image
// for each daemon, a bill of materials for each program, and the SHA-256 of all files. The same
// commit and version of Go yield the same bytes on every machine. Neither a container daemon nor
// a registry is needed.
//
// Dist writes images and bills itself, because the usual Go tools cannot do this. ko v0.19.1
// fetches its base image, even an empty one, from a registry. It cannot add a folder for the
// state that belongs to the image's user, a volume or a stop signal, and it adds 137 modules to
// go.mod. cyclonedx-gomod v1.10.0 works offline and can omit time and serial number. But it
// writes the hash of its own executable into each bill, so that the bytes depend on the build of
// the tool, and it adds 42 modules. Both were tried in November 2026.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// programs are the programs that are built for every processor. Each daemon also gets an image.
var (
	programs = []string{"client", "coordinator", "sim"}
	daemons  = []string{"client", "coordinator"}
	machines = []string{"amd64", "arm64"}
)

// A release contains the version and date of the commit that is built.
type release struct {
	version string
	date    time.Time // date of the commit, and of every file in the release
	out     string
}

func main() {
	out := flag.String("out", "dist", "output folder; replaced if it exists")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	r, err := describe(ctx, out)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	for _, machine := range machines {
		if err := r.build(ctx, machine); err != nil {
			return fmt.Errorf("linux/%s: %w", machine, err)
		}
	}
	return sums(out)
}

// describe reads version and date from git.
func describe(ctx context.Context, out string) (release, error) {
	version, err := output(ctx, "git", "describe", "--always", "--dirty", "--tags")
	if err != nil {
		return release{}, err
	}
	date, err := output(ctx, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return release{}, err
	}
	at, err := time.Parse(time.RFC3339, date)
	return release{version, at.UTC(), out}, err
}

func output(ctx context.Context, program string, args ...string) (string, error) {
	b, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// build makes all files of the release for one processor.
func (r release) build(ctx context.Context, machine string) error {
	bin, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", bin + "/"}
	for _, p := range programs {
		args = append(args, "./cmd/"+p)
	}
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+machine, "GOFLAGS=")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	if err := r.archive(bin, machine); err != nil {
		return err
	}
	for _, p := range programs {
		if err := r.bill(filepath.Join(bin, p), p, machine); err != nil {
			return err
		}
	}
	for _, d := range daemons {
		if err := r.image(filepath.Join(bin, d), d, machine); err != nil {
			return err
		}
	}
	return nil
}

// path returns the path of the file with the given name and ending for a processor.
func (r release) path(name, machine, end string) string {
	return filepath.Join(r.out, fmt.Sprintf("fedpvi-%s-%s-linux-%s%s", name, r.version, machine, end))
}
