package origin

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// These are the first bytes of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// foreign lists formats that the program cannot read: the first bytes of a file, the name of the
// format, and advice.
var foreign = []struct{ magic, is, do string }{
	{"PK\x03\x04", "a workbook of Excel or LibreOffice, or another ZIP archive", "save the sheet as CSV, or unpack the archive"},
	{"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV"},
	{"%PDF-", "a PDF file", "ask for the table itself, as CSV or Parquet"},
	{"\xff\xfe", "text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"},
	{"\xfe\xff", "text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"},
	{"SQLite format 3\x00", "an SQLite database", "unpack it, or name its file"},
	{"ARROW1", "an Arrow file", "unpack it"},
	{"\xff\xff\xff\xff", "an Arrow stream", "unpack it"},
	{"$FL2", "an SPSS file", "export the table as CSV or Parquet"},
	{"<stata_dta>", "a Stata file", "export the table: export delimited"},
	{"RDX2\n", "a file of R objects", "write the table in R: write.csv(table, \"records.csv\", row.names = FALSE)"},
	{"RDX3\n", "a file of R objects", "write the table in R: write.csv(table, \"records.csv\", row.names = FALSE)"},
	{"BZh", "a file compressed by bzip2", "use gzip or zstd, or no compression"},
	{"\xfd7zXZ\x00", "a file compressed by xz", "use gzip or zstd, or no compression"},
}

// known returns an error with advice if a file begins like one in a foreign format.
func known(start []byte) error {
	for _, other := range foreign {
		if bytes.HasPrefix(start, []byte(other.magic)) {
			return fmt.Errorf("this is %s, which cannot be read: %s", other.is, other.do)
		}
	}
	return nil
}

// text returns a reader of a file's text, which it decompresses if necessary. start has the first
// bytes of the file, and r reads the whole file.
func text(start []byte, r io.Reader) (io.Reader, error) {
	if err := known(start); err != nil {
		return nil, err
	}
	inside, err := decompress(start, r)
	if err != nil || inside == nil {
		return r, err
	}
	buffered := bufio.NewReader(inside)
	start, err = beginning(buffered)
	if err != nil {
		return nil, err
	}
	if err := known(start); err != nil {
		return nil, fmt.Errorf("uncompressed, %w", err)
	}
	if isParquet(start) || bytes.HasPrefix(start, gzipMagic) || bytes.HasPrefix(start, zstdMagic) {
		return nil, errors.New("this is a compressed file inside a compressed file: unpack it once, with gunzip or unzstd")
	}
	return buffered, nil
}

// decompress returns a reader that decompresses a file, or nil if the file is not compressed.
func decompress(start []byte, r io.Reader) (io.Reader, error) {
	switch {
	case bytes.HasPrefix(start, gzipMagic):
		d, err := gzip.NewReader(r)
		return unpacked{d, "gzip"}, told(err, "gzip")
	case bytes.HasPrefix(start, zstdMagic):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return unpacked{d.IOReadCloser(), "zstd"}, nil
	}
	return nil, nil
}

// unpacked reads the text of a compressed file and explains errors (see told).
type unpacked struct {
	io.Reader
	by string // program that compressed the file
}

func (u unpacked) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	return n, told(err, u.by)
}

// told explains an error from a decompressor. by is the program that compressed the file.
func told(err error, by string) error {
	if err == nil || err == io.EOF { //nolint:errorlint // a reader of the standard library returns io.EOF itself
		return err
	}
	return fmt.Errorf("the %s data end early or are damaged (%w): copy the file again, and test it with %s -t", by, err, by)
}
