package report

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"gonum.org/v1/plot/vg"
)

// If an image has few colours, none may change. If it has many, large areas must stay exact, and
// other pixels must stay close to their colour.
func TestPaletted(t *testing.T) {
	few, many := image.NewRGBA(image.Rect(0, 0, 40, 25)), image.NewRGBA(image.Rect(0, 0, 200, 100))
	for i := range 1000 {
		few.Set(i%40, i/40, color.RGBA{byte(i % 16 * 17), byte(i % 13), 255, 255})
	}
	for y := range 100 {
		for x := range 200 {
			c := color.RGBA{255, 255, 255, 255}
			if y >= 50 {
				c = color.RGBA{byte(x), byte(2 * y), byte(x + y), 255}
			}
			many.Set(x, y, c)
		}
	}
	for _, c := range []struct {
		name  string
		image *image.RGBA
		exact int // number of rows that must not change
		most  int // largest allowed change of a shade in the other rows
	}{{"few colours", few, 25, 0}, {"many colours", many, 50, 31}} {
		got := paletted(c.image)
		if len(got.Palette) > 256 {
			t.Errorf("%s: %d colours", c.name, len(got.Palette))
		}
		for y := range c.image.Rect.Dy() {
			for x := range c.image.Rect.Dx() {
				a, b := c.image.RGBAAt(x, y), color.RGBAModel.Convert(got.At(x, y)).(color.RGBA)
				most := c.most
				if y < c.exact {
					most = 0
				}
				for _, pair := range [][2]byte{{a.R, b.R}, {a.G, b.G}, {a.B, b.B}, {255, b.A}} {
					if off := int(pair[0]) - int(pair[1]); max(off, -off) > most {
						t.Fatalf("%s: pixel (%d, %d) was %v and is %v", c.name, x, y, a, b)
					}
				}
			}
		}
	}
}

func TestPNGHasTheSizeOfTheFigure(t *testing.T) {
	file, err := Figure{Panels: nil, Width: 4 * vg.Inch, Height: 2 * vg.Inch}.Encode("png")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := picture.Bounds(), image.Rect(0, 0, 640, 320); got != want {
		t.Errorf("the picture has the size %v, want %v", got, want)
	}
	if r, g, b, a := picture.At(0, 0).RGBA(); r != 0xFFFF || g != 0xFFFF || b != 0xFFFF || a != 0xFFFF {
		t.Errorf("the background is %v", picture.At(0, 0))
	}
}
