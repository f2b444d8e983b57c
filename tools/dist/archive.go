package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An entry is a file in an archive, or a folder if its name ends in a slash.
type entry struct {
	name  string
	mode  int64
	body  []byte
	owner int // user ID and group ID of the owner
}

// pack returns a tar archive whose bytes do not depend on the machine, the clock or the user.
func pack(date time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.body)), ModTime: date.Truncate(time.Second), Format: tar.FormatPAX, Typeflag: tar.TypeReg, Uid: e.owner, Gid: e.owner}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := t.Write(e.body); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	err := t.Close()
	return out.Bytes(), err
}

// squeeze compresses b with gzip. The header has no file name and no time.
func squeeze(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(b); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}

// In addition to the programs, each archive has these files of the commit, and manual pages made
// from it.
var alongside = []string{"LICENSE", "SECURITY.md", "man/*.1", "docs/use/operations.md", "docs/use/exit-codes.md"}

// units matches the systemd unit files, which only the archives for Linux have.
const units = "deploy/systemd/*"

func (r release) archive(bin string, t target) error {
	top := fmt.Sprintf("fedpvi-%s-%s/", r.version, t)
	entries := []entry{{name: top, mode: 0o755}}
	for _, p := range t.programs {
		p = t.executable(p)
		b, err := os.ReadFile(filepath.Join(bin, p))
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: top + "bin/" + p, mode: 0o755, body: b})
	}
	entries = append(entries, entry{name: top + "LICENCES", mode: 0o644, body: r.licences()})
	patterns := alongside
	if t.system == "linux" {
		patterns = append(slices.Clone(patterns), units)
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(r.source, pattern))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s: the commit has no such file", pattern)
		}
		slices.Sort(files)
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(r.source, f)
			if err != nil {
				return err
			}
			entries = append(entries, entry{name: top + filepath.ToSlash(name), mode: 0o644, body: b})
		}
	}
	packed, err := pack(r.date, entries)
	if err != nil {
		return err
	}
	b, err := squeeze(packed)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, strings.TrimSuffix(top, "/")+".tar.gz"), b, 0o644)
}

// hashed returns the files in a folder with their SHA-256, in alphabetical order.
func hashed(folder string) (all []resource, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, resource{Name: f.Name(), Digest: map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(b))}})
	}
	return all, nil
}

// sums writes the SHA-256 of each file in a folder, in the format of sha256sum --check.
func sums(folder string) error {
	files, err := hashed(folder)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", f.Digest["sha256"], f.Name)
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()), 0o644)
}
