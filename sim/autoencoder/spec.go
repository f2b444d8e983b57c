package autoencoder

import (
	"fmt"
	"math"
	"os"
	"strings"

	"fedpvi/gpu/vae"
	"fedpvi/internal/document"
)

// Version is the version of the file format.
const Version = 1

// A Spec is an experiment file whose settings have been checked.
type Spec struct {
	Name, Title    string
	Hidden, Latent int
	Train, Test    string // paths of the image files
	Records        int    // public number of training images
	Batch          int    // expected batch size
	Epochs         int
	StepSize       float64
	Seed           uint64
	Privacy        *Privacy // nil without privacy

	path   string
	source []byte
}

// Privacy holds the parameters of the noise that protects every image.
type Privacy struct {
	NoiseMultiplier, Clip, Delta float64
}

// NonPrivate is the setting that turns privacy off.
const NonPrivate = `privacy={unit = "none"}`

// Load reads an experiment file. Settings of the form key=value replace values in the file.
func Load(path string, settings []string) (*Spec, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("autoencoder: %w", err)
	}
	doc, err := document.Parse(path, source)
	if err != nil {
		return nil, err
	}
	for _, setting := range settings {
		key, value, ok := strings.Cut(setting, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--set %s: write --set key=value, such as --set training.epochs=2", setting)
		}
		if err := doc.Set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	s := &Spec{path: path}
	root := doc.Root()
	s.readNetwork(root.Table("autoencoder"))
	data := root.Table("data")
	data.Require("train", `write the file of images to learn from, train = "mnist/train-images-idx3-ubyte.gz"`)
	data.Require("test", `write the file of the public test images, test = "mnist/t10k-images-idx3-ubyte.gz"`)
	s.Train, _ = data.String("train")
	s.Test, _ = data.String("test")
	s.readTraining(root.Table("training"))
	s.readPrivacy(root.Table("privacy"))
	if err := doc.Err(); err != nil {
		return nil, err
	}
	s.source, err = doc.Encode()
	return s, err
}

func (s *Spec) readNetwork(t *document.Table) {
	t.Require("version", "write version = 1, the version of the language")
	if v, ok := t.Int("version"); ok && v != Version {
		t.Errorf("version", "version %d is unknown; this program reads version %d", v, Version)
	}
	t.Require("name", `write name = "mnist", a name for the folder of results`)
	s.Name, _ = t.String("name")
	if t.Has("name") && (s.Name == "" || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "") {
		t.Errorf("name", "%q must be lower-case letters, digits and dashes", s.Name)
	}
	s.Title = s.Name
	if title, ok := t.String("title"); ok {
		s.Title = title
	}
	s.Hidden = number(t, "hidden", 400, vae.MaxSide)
	s.Latent = number(t, "latent", 50, vae.MaxSide)
}

const (
	maxRecords = 1 << 24
	maxEpochs  = 100_000
)

func (s *Spec) readTraining(t *document.Table) {
	t.Require("records", "write the public number of images, records = 60000: rate and number of steps follow from it")
	s.Records = number(t, "records", 1, maxRecords)
	s.Batch = number(t, "batch", min(128, s.Records), s.Records)
	s.Epochs = number(t, "epochs", 20, maxEpochs)
	s.StepSize = positive(t, "step_size", 1e-3)
	if seed, ok := t.Int("seed"); ok {
		if seed < 0 {
			t.Errorf("seed", "must not be negative, got %d", seed)
		}
		s.Seed = uint64(seed)
	}
}

func (s *Spec) readPrivacy(t *document.Table) {
	t.Require("unit", `write unit = "record", or "none" for no promise`)
	unit, _ := t.Choice("unit", "record", "none")
	if unit != "record" {
		return
	}
	t.Require("noise_multiplier", "write the noise over the sensitivity, noise_multiplier = 1.5")
	t.Require("clip", "write the bound on the norm of an image's gradient, clip = 10.0")
	t.Require("delta", "write delta = 1e-5: below one over the number of images")
	s.Privacy = &Privacy{NoiseMultiplier: positive(t, "noise_multiplier", 1), Clip: positive(t, "clip", 1), Delta: positive(t, "delta", 0.5)}
	if s.Privacy.Delta >= 1 {
		t.Errorf("delta", "must lie in (0, 1), got %g", s.Privacy.Delta)
	}
}

// number returns the integer at key, which must be between 1 and most, or byDefault.
func number(t *document.Table, key string, byDefault, most int) int {
	n, ok := t.Int(key)
	if !ok {
		return byDefault
	}
	if n < 1 || n > most {
		t.Errorf(key, "must lie between 1 and %d, got %d", most, n)
		return byDefault
	}
	return n
}

// positive returns the number at key, which must be positive, or byDefault.
func positive(t *document.Table, key string, byDefault float64) float64 {
	x, ok := t.Float(key)
	if !ok {
		return byDefault
	}
	if !(x > 0) {
		t.Errorf(key, "must be positive, got %g", x)
		return byDefault
	}
	return x
}

// stepsPerEpoch returns the number of records divided by the expected batch size, rounded down.
func (s *Spec) stepsPerEpoch() int { return s.Records / s.Batch }

// Steps returns the number of steps of the whole run.
func (s *Spec) Steps() int { return s.Epochs * s.stepsPerEpoch() }

// Rate returns the probability with which an image is drawn for a batch.
func (s *Spec) Rate() float64 { return float64(s.Batch) / float64(s.Records) }

// together returns the maximum number of gradients in one floating-point sum. It is the mean batch
// size plus six standard deviations plus twelve, rounded up to a multiple of 16, but at most 4096.
// Further gradients are added one by one.
func (s *Spec) together() int {
	mean := float64(s.Batch)
	return min(int(math.Ceil((mean+6*math.Sqrt(mean)+12)/16))*16, 1<<12)
}
