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
	"path/filepath"
	"runtime/debug"
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
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		heads[h.Name] = h
	}
}

// The test checks that an image follows the specification. Every blob is named by its hash, and
// the index leads to the program through hashes and sizes.
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

// The test checks that the bill of a program has the program's hash and lists every linked
// module.
func TestBillListsModules(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("the test does not say how it was built")
	}
	info.Deps = []*debug.Module{{Path: "example.org/module", Version: "v1.2.3", Sum: "h1:AAECAw=="}}
	b := made.billOf(info, "client", []byte("a program"))
	if b.Metadata.Component.Hashes[0].Content != fmt.Sprintf("%x", sha256.Sum256([]byte("a program"))) {
		t.Error("the bill is of another program")
	}
	last := b.Components[len(b.Components)-1]
	if len(b.Components) != 2 || last.PURL != "pkg:golang/example.org/module@v1.2.3" || last.Properties[0].Value != "00010203" || b.Components[0].Name != "std" {
		t.Errorf("components %+v", b.Components)
	}
}

func TestSums(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "b"), []byte("abc"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	check(t, sums(dir))
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	check(t, err)
	// These are the hashes of the empty string and of "abc" in FIPS 180-4.
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
	if string(got) != want {
		t.Errorf("%s", got)
	}
}
