package kernel

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The PTX in the repository must have been compiled from the current sources. The test compares the
// hash in the PTX with the hash of the sources, so it needs no compiler.
func TestPTXIsOfTheSources(t *testing.T) {
	entries, err := Sources.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	// The Makefile hashes *.cu before *.h.
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(fmt.Sprint(strings.HasSuffix(a, ".h"), a), fmt.Sprint(strings.HasSuffix(b, ".h"), b))
	})
	sum := sha256.New()
	for _, name := range names {
		text, err := Sources.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	first, _, _ := strings.Cut(PTX, "\n")
	if want := fmt.Sprintf("%x", sum.Sum(nil)); !strings.HasSuffix(first, want) {
		t.Errorf("the PTX was compiled from other sources (%s): run make ptx and commit the result", first)
	}
}

// The test compiles the sources. The output must equal the PTX in the repository.
func TestPTXIsTheCompilersOutput(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindSubmatch(makefile)
		if found == nil {
			t.Fatalf("the Makefile does not contain %s", name)
		}
		return string(found[1])
	}
	compiler, err := exec.LookPath(setting("CLANG"))
	if err != nil {
		t.Skipf("no %s here to compile the kernels anew: Debian's package has that name", setting("CLANG"))
	}
	got, err := exec.Command(compiler, append(strings.Fields(setting("PTXFLAGS")), "kernels.cu")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(PTX, "\n")
	if !bytes.Equal(got, []byte(want)) {
		t.Error("the compiler makes other PTX from the sources: run make ptx and commit the result")
	}
}

// fuses lists the kernels in which a multiplication and an addition may be fused into one
// instruction, because they multiply matrices. In all other kernels this is a mistake.
var fuses = map[string]bool{"network_forward": true, "network_back": true, "network_update": true, "network_update_plainly": true}

// entries returns the PTX text of every kernel, by name.
func entries() map[string]string {
	all := map[string]string{}
	for _, text := range strings.Split(PTX, ".visible .entry ")[1:] {
		name, body, _ := strings.Cut(text, "(")
		all[name], _, _ = strings.Cut(body, "\n}\n")
	}
	return all
}

// The PTX must call no library and have no instruction that rounds differently on a card than on a
// CPU. The drivers of recent years must accept its version.
func TestPTXIsPlain(t *testing.T) {
	for _, want := range []string{".version 7.0\n", ".target sm_75\n"} {
		if !strings.Contains(PTX, want) {
			t.Errorf("the PTX does not contain %q", want)
		}
	}
	for _, bad := range []string{"fma.rn.f64", "fma.rn.ftz", "mad.rn", ".approx", ".full", ".ftz", ".extern .func"} {
		if strings.Contains(PTX, bad) {
			t.Errorf("the PTX has %q", bad)
		}
	}
	// Only in kernels that multiply matrices may a float32 multiplication and an addition be fused,
	// and the source must ask for it.
	for name, body := range entries() {
		if strings.Contains(body, "fma.rn.f32") != fuses[name] {
			t.Errorf("%s fuses products and sums: %t", name, !fuses[name])
		}
	}
}
