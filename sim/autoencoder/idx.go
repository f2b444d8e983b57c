package autoencoder

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fedpvi/gpu/vae"
)

// Images are greyscale images of one size, with one byte per pixel, row by row.
type Images struct {
	Height, Width int
	Pixels        [][]byte
}

// idxImages is the first word of a file of images in the IDX format of the MNIST data: an array of
// bytes with three dimensions.
const idxImages = 0x00000803

// readImages reads at most most images from an IDX file, which is compressed if its name ends in
// .gz.
func readImages(path string, most int) (*Images, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("file of images: %w", err)
	}
	defer file.Close()
	var r io.Reader = bufio.NewReader(file)
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("file of images %s: %w", path, err)
		}
	}
	images, err := readIdx(r, most)
	if err != nil {
		return nil, fmt.Errorf("file of images %s: %w", path, err)
	}
	return images, nil
}

func readIdx(r io.Reader, most int) (*Images, error) {
	var head struct{ Magic, Count, Height, Width uint32 }
	if err := binary.Read(r, binary.BigEndian, &head); err != nil {
		return nil, fmt.Errorf("its head: %w", err)
	}
	switch {
	case head.Magic != idxImages:
		return nil, fmt.Errorf("begins with %#08x; a file of images in the idx format begins with %#08x", head.Magic, uint32(idxImages))
	case head.Count < 1 || int64(head.Count) > int64(most):
		return nil, fmt.Errorf("has %d images; from 1 to %d are possible", head.Count, most)
	case head.Height < 1 || head.Width < 1 || head.Height > vae.MaxSide || head.Width > vae.MaxSide || head.Height*head.Width > vae.MaxSide:
		return nil, fmt.Errorf("has images of %d by %d pixels; at most %d pixels are possible", head.Height, head.Width, vae.MaxSide)
	}
	images := &Images{Height: int(head.Height), Width: int(head.Width)}
	for i := range head.Count { // the count in the header may be wrong, so the slice grows with the data that is really there
		image := make([]byte, head.Height*head.Width)
		if _, err := io.ReadFull(r, image); err != nil {
			return nil, fmt.Errorf("ends within image %d of %d: %w", i+1, head.Count, err)
		}
		images.Pixels = append(images.Pixels, image)
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("has more bytes after its %d images", head.Count)
	}
	return images, nil
}
