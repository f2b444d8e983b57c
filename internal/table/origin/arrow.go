package origin

import (
	"bytes"
	"context"
	"errors"
	"io"

	"fedpvi/internal/table"
)

// First bytes of Arrow files and of Arrow streams.
var (
	arrowMagic  = []byte("ARROW1")
	streamMagic = []byte("\xff\xff\xff\xff")
)

// isArrow reports whether a file begins as an Arrow file or an Arrow stream.
func isArrow(start []byte) (file, stream bool) {
	return bytes.HasPrefix(start, arrowMagic), bytes.HasPrefix(start, streamMagic)
}

// An ArrowDecoder reads Arrow data, as the function Read of package arrowdata does.
type ArrowDecoder func(ctx context.Context, data io.Reader, size int64, wanted []table.Wanted, show func(read, all int64), use func(table.Reader) error) error

// decodeArrow is the decoder of Arrow data in this program, or noArrow.
var decodeArrow ArrowDecoder = noArrow

// RegisterArrow sets the decoder of Arrow data. A program that reads Arrow data calls it before it reads
// any table. The package does not import the decoder, which takes long to compile.
func RegisterArrow(d ArrowDecoder) { decodeArrow = d }

// noArrow refuses Arrow data.
func noArrow(context.Context, io.Reader, int64, []table.Wanted, func(read, all int64), func(table.Reader) error) error {
	return errors.New("this program reads no Arrow data, as client does: write the rows to a CSV or Parquet file")
}
