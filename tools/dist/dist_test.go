package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var made = release{version: "v1", date: time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC)}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unpack returns the contents and the headers of the files in an archive.
func unpack(t *testing.T, b []byte) (files map[string][]byte, heads map[string]*tar.Header) {
	t.Helper()
	files, heads = map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, heads
		}
		check(t, err)
		files[h.Name], err = io.ReadAll(r)
		check(t, err)
		heads[h.Name] = h
	}
}

// The name of every blob must be its hash, and the hashes and sizes must lead from the index to the
// program.
func TestImageIsConsistent(t *testing.T) {
	packed, err := made.oci([]byte("a program"), "client", "arm64")
	check(t, err)
	again, err := made.oci([]byte("a program"), "client", "arm64")
	check(t, err)
	if !bytes.Equal(packed, again) {
		t.Error("the same program makes two images")
	}
	files, heads := unpack(t, packed)
	for name, h := range heads {
		if !h.ModTime.Equal(made.date.Truncate(time.Second)) {
			t.Errorf("%s is of %v", name, h.ModTime)
		}
	}
	blob := func(d descriptor, kind string) []byte {
		t.Helper()
		b := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if d.MediaType != kind || len(b) != d.Size || fmt.Sprintf("sha256:%x", sha256.Sum256(b)) != d.Digest {
			t.Fatalf("%+v is not the description of its blob of %d bytes", d, len(b))
		}
		return b
	}
	var index, image manifest
	check(t, json.Unmarshal(files["index.json"], &index))
	check(t, json.Unmarshal(blob(index.Manifests[0], typeManifest), &image))
	var c config
	check(t, json.Unmarshal(blob(*image.Config, typeConfig), &c))
	z, err := gzip.NewReader(bytes.NewReader(blob(image.Layers[0], typeLayer)))
	check(t, err)
	layer, err := io.ReadAll(z)
	check(t, err)
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); c.RootFS.DiffIDs[0] != got || c.Architecture != "arm64" || c.Config.User != "65532:65532" {
		t.Errorf("the layer is %s, and the configuration %+v", got, c)
	}
	inside, modes := unpack(t, layer)
	if string(inside["usr/bin/client"]) != "a program" || modes["usr/bin/client"].Mode != 0o755 {
		t.Error("the program is not in the layer")
	}
	if h := modes["var/lib/fedpvi/"]; h == nil || h.Mode != 0o700 || h.Uid != nobody {
		t.Errorf("the folder for state is %+v", h)
	}
}

// The bill must also have the hash of the program.
func TestBillListsModules(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("the test program has no build information")
	}
	info.Deps = []*debug.Module{{Path: "example.org/module", Version: "v1.2.3", Sum: "h1:AAECAw=="}}
	r := made
	r.modules = map[string]module{"example.org/module": {licence: "MIT"}}
	b := r.billOf(info, "client", []byte("a program"))
	if b.Metadata.Component.Hashes[0].Content != fmt.Sprintf("%x", sha256.Sum256([]byte("a program"))) {
		t.Error("the bill is of another program")
	}
	last := b.Components[len(b.Components)-1]
	if len(b.Components) != 2 || last.PURL != "pkg:golang/example.org/module@v1.2.3" || last.Hashes[0].Content != "00010203" || last.Licences[0].Expression != "MIT" || b.Components[0].Name != "std" {
		t.Errorf("components %+v", b.Components)
	}
}

func TestProgramsOfARelease(t *testing.T) {
	got := fmt.Sprint(daemons)
	for _, one := range targets {
		got += fmt.Sprint(" ", one, one.programs)
	}
	if got != "[client coordinator] linux-amd64 [client coordinator sim] linux-arm64 [client coordinator sim] darwin-amd64 [client] darwin-arm64 [client] windows-amd64 [client]" {
		t.Errorf("a release has %s", got)
	}
	if name := targets[len(targets)-1].executable("client"); name != "client.exe" {
		t.Errorf("the client of Windows is called %s", name)
	}
	if !slices.Contains(environment(), "CGO_ENABLED=0") {
		t.Error("the programs are not linked statically")
	}
}

// The statement must have each file with its hash, the commit, and the type.
func TestProvenance(t *testing.T) {
	r := made
	r.out, r.commit = t.TempDir(), "0123"
	check(t, os.WriteFile(filepath.Join(r.out, "a"), []byte("abc"), 0o600))
	check(t, r.provenance())
	text, err := os.ReadFile(filepath.Join(r.out, "fedpvi-v1.intoto.json"))
	check(t, err)
	var s struct {
		Type    string `json:"_type"`
		Kind    string `json:"predicateType"`
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	check(t, json.Unmarshal(text, &s))
	if s.Type != "https://in-toto.io/Statement/v1" || s.Kind != "https://slsa.dev/provenance/v1" ||
		len(s.Subject) != 1 || s.Subject[0].Name != "a" || !strings.HasPrefix(s.Subject[0].Digest["sha256"], "ba7816bf") ||
		s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != "0123" {
		t.Errorf("%s", text)
	}
}

// Between the two releases, the test adds a file without committing it.
func TestTwoReleasesAreTheSame(t *testing.T) {
	if os.Getenv("FEDPVI_LONG") == "" {
		t.Skip("builds all programs of two releases: set FEDPVI_LONG=1")
	}
	dir := t.TempDir()
	var sums [2]string
	t.Chdir(filepath.Join("..", ".."))
	for i := range sums {
		out := filepath.Join(dir, fmt.Sprint(i))
		check(t, run(t.Context(), out, ""))
		text, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		check(t, err)
		if sums[i] = string(text); strings.Count(sums[i], "\n") < 10 {
			t.Errorf("a release has the files\n%s", text)
		}
		added := "untracked-by-a-test"
		check(t, os.WriteFile(added, []byte("package x"), 0o600))
		defer os.Remove(added)
	}
	if sums[0] != sums[1] {
		t.Errorf("the releases are\n%s\nand\n%s", sums[0], sums[1])
	}
}

func TestSums(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "b"), []byte("abc"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	check(t, sums(dir))
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	check(t, err)
	// FIPS 180-4 gives these hashes for the empty string and for "abc".
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
	if string(got) != want {
		t.Errorf("%s", got)
	}
}

// The clone must have only the files of the commit, even if the environment points git at another
// repository.
func TestCloneHasOnlyTheCommit(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	check(t, os.WriteFile("kept", []byte("as committed"), 0o600))
	git("init", "--quiet")
	git("add", "kept")
	git("commit", "--quiet", "-m", "One file")
	check(t, os.WriteFile("kept", []byte("as changed"), 0o600))
	check(t, os.WriteFile("untracked", nil, 0o600))
	t.Setenv("GIT_DIR", filepath.Join(dir, "elsewhere"))
	check(t, clone(t.Context(), other))
	if got, err := os.ReadFile(filepath.Join(other, "kept")); err != nil || string(got) != "as committed" {
		t.Errorf("the clone has %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(other, "untracked")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the clone has the untracked file: %v", err)
	}
}

// Dist makes a release only if it recognises the licence of every module in the programs.
func TestLicences(t *testing.T) {
	all, err := modules(t.Context(), "../..")
	check(t, err)
	for path, want := range map[string]string{
		"github.com/alecthomas/kong":       "MIT",
		"github.com/google/btree":          "Apache-2.0",
		"github.com/hashicorp/memberlist":  "MPL-2.0",
		"codeberg.org/go-fonts/liberation": "BSD-3-Clause AND OFL-1.1",
		"go.opentelemetry.io/otel":         "Apache-2.0 AND BSD-3-Clause",
		"github.com/ajstarks/svgo":         "CC-BY-4.0",
		"golang.org/x/crypto":              "BSD-3-Clause",
	} {
		if got := all[path]; got.licence != want || len(got.texts) < 500 {
			t.Errorf("%s has licence %q and %d bytes of texts, want %s", path, got.licence, len(got.texts), want)
		}
	}
	r := made
	r.modules = all
	if text := string(r.licences()); strings.Count(text, "Mozilla Public License") < 2 || !strings.HasPrefix(text, "codeberg.org/") {
		t.Errorf("LICENCES begins %.100q", text)
	}
}

func TestSignature(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("there is no ssh-keygen on this machine")
	}
	dir := t.TempDir()
	key, file := filepath.Join(dir, "key"), filepath.Join(dir, "SHA256SUMS")
	check(t, exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).Run())
	check(t, os.WriteFile(file, []byte("sums"), 0o600))
	check(t, sign(t.Context(), file, key))
	public, err := os.ReadFile(key + ".pub")
	check(t, err)
	allowed := filepath.Join(dir, "maintainers.keys")
	check(t, os.WriteFile(allowed, append([]byte("releases "), public...), 0o600))
	verify := func(text string) error {
		c := exec.Command(keygen, "-Y", "verify", "-f", allowed, "-I", "releases", "-n", "fedpvi-release", "-s", file+".sig")
		c.Stdin = strings.NewReader(text)
		return c.Run()
	}
	check(t, verify("sums"))
	if verify("other sums") == nil {
		t.Error("the signature is also valid for another file")
	}
}
