package autoencoder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/vae"
	"fedpvi/sim"
)

// Write writes result.json, losses.csv, images.png, the weights of every layer as NumPy arrays, and
// the experiment file to a new folder.
func (r *Run) Write(path string, result *Result) error {
	if err := sim.CheckFolder(path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	result.Folder = path
	files := map[string]func(io.Writer) error{
		"result.json": func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(result)
		},
		"losses.csv": result.writeLosses,
		"images.png": func(w io.Writer) error { return png.Encode(w, r.picture()) },
		"autoencoder.toml": func(w io.Writer) error {
			_, err := w.Write(r.Spec.source)
			return err
		},
	}
	for l, layer := range r.network.Layers() {
		files[vae.LayerNames[l]+".npy"] = func(w io.Writer) error {
			return writeArray(w, layer.Inputs, layer.Outputs, r.network.Layer(l))
		}
	}
	for name, write := range files {
		if err := writeFile(filepath.Join(path, name), write); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}

func (r *Result) writeLosses(w io.Writer) error {
	text := "epoch,test_loss\n"
	for _, e := range r.Epochs {
		text += strconv.Itoa(e.Epoch) + "," + strconv.FormatFloat(e.TestLoss, 'g', -1, 64) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// writeArray writes a matrix in NumPy's format, version 1.0.
func writeArray(w io.Writer, rows, columns int, values []float32) error {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, columns)
	const before = 10 // an NPY file begins with a magic string, a version, and the length of the header
	pad := (64 - (before+len(head)+1)%64) % 64
	head += strings.Repeat(" ", pad) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	if _, err := w.Write(append(b, head...)); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, values)
}

// The picture has columns images in a row. The first row has images of the test set, the second
// their reconstructions, and the other rows images drawn from the network.
const (
	columns   = 10
	made      = 4 // number of rows of drawn images
	magnified = 3
	gap       = 2 // width of a gap in pixels
)

func (r *Run) picture() image.Image {
	shown := r.test.Pixels[:min(columns, len(r.test.Pixels))]
	src := seeded.Stream(r.seed, purposePictures)
	var rows [][]byte
	rows = append(rows, shown...)
	for len(rows) < columns {
		rows = append(rows, make([]byte, len(shown[0])))
	}
	for _, probabilities := range [][][]float32{r.network.Reconstruct(rows[:columns], src), r.network.Generate(made*columns, src)} {
		for _, p := range probabilities {
			rows = append(rows, greys(p))
		}
	}
	return tableau(rows, r.test.Height, r.test.Width)
}

func greys(probabilities []float32) []byte {
	image := make([]byte, len(probabilities))
	for j, p := range probabilities {
		image[j] = byte(255*p + 0.5)
	}
	return image
}

// tableau arranges images in rows of ten, with a wider gap after the first two rows.
func tableau(images [][]byte, height, width int) image.Image {
	cellHeight, cellWidth := height*magnified+gap, width*magnified+gap
	rows := (len(images) + columns - 1) / columns
	picture := image.NewGray(image.Rect(0, 0, columns*cellWidth+gap, rows*cellHeight+4*gap))
	for i := range picture.Pix {
		picture.Pix[i] = 96
	}
	for n, pixels := range images {
		top, left := n/columns*cellHeight+gap, n%columns*cellWidth+gap
		if n/columns >= 2 {
			top += 3 * gap
		}
		for y := range height * magnified {
			for x := range width * magnified {
				picture.SetGray(left+x, top+y, color.Gray{Y: pixels[y/magnified*width+x/magnified]})
			}
		}
	}
	return picture
}
