package autoencoder

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tiny is the experiment file of a run with 200 images of 6 by 5 pixels.
const tiny = `
autoencoder = { version = 1, name = "tiny", hidden = 7, latent = 2 }
data = { train = "train.idx.gz", test = "test.idx" }
training = { records = 200, batch = 20, epochs = 3, step_size = 0.01, seed = 4 }
privacy = { unit = "record", noise_multiplier = 1.5, clip = 2.0, delta = 1e-3 }
`

// idx returns an IDX file with n images of 6 by 5 pixels, each with a vertical or horizontal bar.
func idx(n int) []byte {
	b := binary.BigEndian.AppendUint32(nil, idxImages)
	for _, x := range []int{n, 6, 5} {
		b = binary.BigEndian.AppendUint32(b, uint32(x))
	}
	for i := range n {
		for j := range 30 {
			if i%2 == 0 && j%5 == 2 || i%2 == 1 && j/5 == 3 {
				b = append(b, 250)
			} else {
				b = append(b, 3)
			}
		}
	}
	return b
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if strings.HasSuffix(path, ".gz") {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(content)
		w.Close()
		content = b.Bytes()
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tiny.toml"), []byte(tiny))
	write(t, filepath.Join(dir, "train.idx.gz"), idx(200))
	write(t, filepath.Join(dir, "test.idx"), idx(30))
	return dir
}

func play(t *testing.T, dir string, workers int, settings ...string) (*Run, *Result) {
	t.Helper()
	spec, err := Load(filepath.Join(dir, "tiny.toml"), settings)
	if err != nil {
		t.Fatal(err)
	}
	run, err := New(spec, spec.Seed, workers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	steps := 0
	result, err := run.Train(context.Background(), func(step int, _ *Epoch) { steps = step })
	if err != nil {
		t.Fatal(err)
	}
	if steps != 30 || result.Steps != 30 || len(result.Epochs) != 3 {
		t.Fatalf("%d steps, %d claimed, %d epochs", steps, result.Steps, len(result.Epochs))
	}
	return run, result
}

// The results must not depend on the number of workers, and the loss must be larger with privacy.
func TestRun(t *testing.T) {
	dir := folder(t)
	run, private := play(t, dir, 1)
	if _, again := play(t, dir, 3); again.TestLoss != private.TestLoss {
		t.Errorf("loss %v with three workers, %v with one", again.TestLoss, private.TestLoss)
	}
	_, plain := play(t, dir, 2, NonPrivate)
	if plain.Privacy != nil || !(plain.TestLoss < private.TestLoss) || private.TestLoss > 25 {
		t.Errorf("loss %v with privacy, %v without", private.TestLoss, plain.TestLoss)
	}
	out := filepath.Join(dir, "out")
	if err := run.Write(out, private); err != nil {
		t.Fatal(err)
	}
	if err := run.Write(out, private); err == nil {
		t.Error("a folder was written over")
	}
	array, err := os.ReadFile(filepath.Join(out, "decoder-output.npy"))
	if err != nil || len(array) != 128+4*8*30 || !bytes.Contains(array[:128], []byte("'shape': (8, 30)")) {
		t.Errorf("the array has %d bytes: %v", len(array), err)
	}
	first := math.Float32frombits(binary.LittleEndian.Uint32(array[128:]))
	if want := run.network.Layer(3)[0]; first != want {
		t.Errorf("the array begins with %v, the weights with %v", first, want)
	}
	f, err := os.Open(filepath.Join(out, "images.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil || picture.Bounds().Dx() != 10*(5*3+2)+2 {
		t.Errorf("the picture: %v", err)
	}
	// The experiment file in the results folder must describe the same experiment as the original.
	spec, err := Load(filepath.Join(out, "autoencoder.toml"), nil)
	if err != nil || spec.Privacy == nil || *spec.Privacy != *run.Spec.Privacy {
		t.Errorf("the saved file: %v", err)
	}
}

// The first values are from the d3p paper and from d3p's function. The last is the proved value for
// batches of fixed size. Two independent accountants give 0.535, 1.012 and 1.983.
func TestAccountingOfD3P(t *testing.T) {
	spec, err := Load(filepath.Join("..", "..", "experiments", "d3p", "vae-mnist.toml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := spec.Account(784)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Steps() != 9360 || spec.together() != 208 {
		t.Errorf("%d steps, %d images together", spec.Steps(), spec.together())
	}
	for _, of := range []struct {
		name      string
		got, want float64
	}{{"own", a.Epsilon, 0.5351}, {"published", a.Published, 0.5351}, {"replace-one", a.PublishedReplace, 1.0117}, {"proved", a.Proved, 1.983}} {
		if math.Abs(of.got-of.want) > 6e-4 {
			t.Errorf("%s ε = %.4f, want %.4f", of.name, of.got, of.want)
		}
	}
	if a.Numeric != "bounded-float" || !(a.Sensitivity > 10.05 && a.Sensitivity < 10.08) || a.Sigma < 1.5*a.Sensitivity {
		t.Errorf("%s, sensitivity %v, noise %v", a.Numeric, a.Sensitivity, a.Sigma)
	}
}

// The data file has one image fewer than the public number.
func TestNoiseFollowsFromThePublicNumberOfImages(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "train.idx.gz"), idx(199))
	run, result := play(t, dir, 1)
	if a := run.Accounting; result.Records != 200 || a.Epsilon == 0 {
		t.Errorf("the result states %d images, want the public number 200", result.Records)
	}
	spec, err := Load(filepath.Join(dir, "tiny.toml"), []string{NonPrivate})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(spec, 1, 1); err == nil || !strings.Contains(err.Error(), "199 images") {
		t.Errorf("without privacy the number is wrong: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := folder(t)
	for setting, want := range map[string]string{
		"autoencoder.version=2":       "version 2 is unknown",
		"autoencoder.hidden=0":        "must lie between 1",
		"autoencoder.layers=3":        "unknown key",
		"training.batch=201":          "must lie between 1 and 200",
		"training.step_size=-1":       "must be positive",
		"training.records=":           "public number of images",
		"privacy.clip=0.0":            "must be positive",
		"privacy.delta=1.0":           "must lie in (0, 1)",
		"privacy.noise_multiplier=":   "noise_multiplier",
		"privacy.unit=client":         "record",
		"data.train=":                 "file of images",
		`autoencoder.name="../other"`: "lower-case",
		"nonsense":                    "write --set key=value",
	} {
		if _, err := Load(filepath.Join(dir, "tiny.toml"), []string{setting}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestReadImagesRefuses(t *testing.T) {
	good := idx(3)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for want, file := range map[string][]byte{
		"its head":            good[:9],
		"begins with":         change(3, 1),
		"has 0 images":        change(7, 0),
		"has 259 images":      change(6, 1),
		"images of 6 by 0":    change(15, 0),
		"ends within image 3": good[:len(good)-1],
		"has more bytes":      append(bytes.Clone(good), 0),
		"images of 16":        change(8, 255),
	} {
		if want == "images of 16" {
			want = "pixels are possible"
		}
		if _, err := readIdx(bytes.NewReader(file), 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := readImages(filepath.Join(t.TempDir(), "none.gz"), 1); err == nil {
		t.Error("a file that is not there was read")
	}
	path := filepath.Join(t.TempDir(), "plain.gz")
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readImages(path, 3); err == nil {
		t.Error("a file that is not compressed was read as a compressed file")
	}
}

func FuzzReadImages(f *testing.F) {
	f.Add(idx(2))
	f.Fuzz(func(t *testing.T, b []byte) {
		if images, err := readIdx(bytes.NewReader(b), 1000); err == nil && len(images.Pixels)*images.Height*images.Width+16 != len(b) {
			t.Errorf("%d bytes make %d images of %d by %d", len(b), len(images.Pixels), images.Height, images.Width)
		}
	})
}
