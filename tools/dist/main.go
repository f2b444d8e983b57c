// Command dist builds the files of a release into dist/:
//
//   - for each processor, an archive of the programs for Linux, which need no C library, with the systemd units;
//   - an archive of the client for macOS and one for Windows;
//   - a container image for each daemon;
//   - a bill of materials for each program;
//   - a statement of provenance;
//   - the SHA-256 of all files, signed if --sign names a key.
//
// Dist builds the newest commit in a clone, so a release contains only committed files. The same
// commit and version of Go yield the same bytes on every machine. Neither a container daemon nor a
// registry is needed.
//
// Dist writes images and bills itself, because the usual Go tools cannot do this. Both were tried
// in November 2026. ko v0.19.1 fetches its base image, even an empty one, from a registry. It
// cannot add a volume, a stop signal, or a folder that belongs to the image's user, and it adds 137
// modules to go.mod. cyclonedx-gomod v1.10.0 writes the hash of its own executable into each bill,
// so the bytes depend on the build of the tool, and it adds 42 modules.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A target is an operating system and a processor, with the programs that are built for them.
type target struct {
	system, processor string
	programs          []string
}

func (t target) String() string { return t.system + "-" + t.processor }

func (t target) executable(program string) string {
	if t.system == "windows" {
		return program + ".exe"
	}
	return program
}

var (
	programs = []string{"client", "coordinator", "sim"}
	daemons  = []string{"client", "coordinator"} // programs that get an image, for each Linux target
	targets  = []target{
		{"linux", "amd64", programs},
		{"linux", "arm64", programs},
		{"darwin", "amd64", programs[:1]},
		{"darwin", "arm64", programs[:1]},
		{"windows", "amd64", programs[:1]},
	}
)

// A release holds the data about a commit from which its files are built.
type release struct {
	version string
	commit  string
	date    time.Time // date of the commit, and of every file in the release
	source  string    // folder with the files of the commit and nothing else
	modules map[string]module
	out     string
}

func main() {
	out := flag.String("out", "dist", "output folder; replaced if it exists")
	key := flag.String("sign", "", "private SSH key that signs SHA256SUMS, with ssh-keygen; default: no signature")
	flag.Parse()
	if err := run(context.Background(), *out, *key); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, key string) error {
	source, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(source)
	if err := clone(ctx, source); err != nil {
		return err
	}
	r, err := describe(ctx, source, out)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	if err := r.manuals(ctx); err != nil {
		return err
	}
	for _, t := range targets {
		if err := r.build(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.provenance(); err != nil {
		return err
	}
	if err := sums(out); err != nil {
		return err
	}
	return sign(ctx, filepath.Join(out, "SHA256SUMS"), key)
}

// clone writes the files of the repository's newest commit to an empty folder. The repository is
// that of the working directory. If files there differ from the commit, clone prints a note.
func clone(ctx context.Context, folder string) error {
	changed, err := output(ctx, ".", "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		fmt.Fprintf(os.Stderr, "dist: the release is of the newest commit. It does not contain these files, or their changes:\n%s\n", changed)
	}
	top, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	_, err = output(ctx, ".", "git", "clone", "--quiet", "--shared", top, folder)
	return err
}

// describe reads the version and the date of the newest commit, and the licences of all modules.
func describe(ctx context.Context, source, out string) (release, error) {
	r := release{source: source, out: out}
	var err error
	if r.version, err = output(ctx, source, "git", "describe", "--always", "--tags", "--abbrev=12"); err != nil {
		return r, err
	}
	if r.commit, err = output(ctx, source, "git", "rev-parse", "HEAD"); err != nil {
		return r, err
	}
	date, err := output(ctx, source, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return r, err
	}
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return r, err
	}
	r.date = at.UTC()
	r.modules, err = modules(ctx, source)
	return r, err
}

// output returns the standard output of a program, without surrounding space.
func output(ctx context.Context, folder, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env, c.Stderr = folder, environment(), os.Stderr
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	return strings.TrimSpace(string(b)), nil
}

// environment returns the environment variables of this process. It leaves out those that point git
// at another repository, and fixes those that change the bytes of a program.
func environment() []string {
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	return append(kept, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0")
}

// compile builds a target's programs into a folder. Without an operating system in the target, it
// builds them for this machine. The programs contain the hash and the date of the commit.
func (r release) compile(ctx context.Context, folder string, t target) error {
	args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w", "-o", folder + "/"}
	for _, p := range t.programs {
		args = append(args, "./cmd/"+p)
	}
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env, c.Stderr = r.source, environment(), os.Stderr
	if t.system != "" {
		c.Env = append(c.Env, "GOOS="+t.system, "GOARCH="+t.processor)
	}
	if err := c.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

// manuals writes the manual pages of the programs into the folder man of the source.
func (r release) manuals(ctx context.Context) error {
	bin, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	if err := r.compile(ctx, bin, target{programs: programs}); err != nil {
		return err
	}
	pages := filepath.Join(r.source, "man")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	for _, p := range programs {
		page, err := output(ctx, r.source, filepath.Join(bin, p), "man")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(pages, p+".1"), []byte(page+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r release) build(ctx context.Context, t target) error {
	bin, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	if err := r.compile(ctx, bin, t); err != nil {
		return err
	}
	if err := r.archive(bin, t); err != nil {
		return err
	}
	for _, p := range t.programs {
		if err := r.bill(filepath.Join(bin, t.executable(p)), p, t); err != nil {
			return err
		}
	}
	if t.system != "linux" {
		return nil
	}
	for _, d := range daemons {
		if err := r.image(filepath.Join(bin, d), d, t); err != nil {
			return err
		}
	}
	return nil
}

func (r release) path(name string, t target, end string) string {
	return filepath.Join(r.out, fmt.Sprintf("fedpvi-%s-%s-%s%s", name, r.version, t, end))
}
