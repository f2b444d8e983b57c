package bundle_test

import (
	"os"
	"path/filepath"
	"testing"

	"fedpvi/coordinator/bundle"
)

// The programs of commit 41056b1 played the study of experiments/demo/hospitals.toml, and wrote its
// bundle. This build verifies the bundle: it computes every plan and the posterior again, to the
// last bit. A build that adds in another order would refuse the bundle. It would also disagree with
// earlier builds in a study that both play.
func TestBundleOfAnEarlierBuildIsValid(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "readmission-41056b1.bundle"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := bundle.Verify(f)
	if err != nil {
		t.Fatal(err)
	}
	if r.Answers != 39 {
		t.Errorf("the bundle has %d answers", r.Answers)
	}
}
