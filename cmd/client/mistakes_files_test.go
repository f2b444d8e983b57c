//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// patients is the table that all test files have.
const patients = "age,sex,visits\n30,f,2\n41,m,3\n52,f,0\n"

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	must(t, os.WriteFile(name, content, 0o600))
}

// wide encodes text in UTF-16, low byte first.
func wide(text string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// compressed compresses content with the writer that open returns.
func compressed[W io.WriteCloser](t *testing.T, open func(io.Writer) W, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	_, err := w.Write(content)
	must(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	return compressed(t, gzip.NewWriter, content)
}

// workbook returns a ZIP archive that looks like a workbook.
func workbook(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	_, err := z.Create(name)
	must(t, errors.Join(err, z.Close()))
	return b.Bytes()
}

func parquets[T any](t *testing.T, rows ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	_, err := w.Write(rows)
	must(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

// These are rows of Parquet files. Only in fitting does the column visits have numbers.
type (
	fitting struct {
		Age    float64 `parquet:"age"`
		Sex    string  `parquet:"sex"`
		Visits int64   `parquet:"visits"`
	}
	nested struct {
		Age    float64   `parquet:"age"`
		Sex    string    `parquet:"sex"`
		Visits []float64 `parquet:"visits"`
	}
	timed struct {
		Age    float64   `parquet:"age"`
		Sex    string    `parquet:"sex"`
		Visits time.Time `parquet:"visits,timestamp"`
	}
	identified struct {
		Age    float64  `parquet:"age"`
		Sex    string   `parquet:"sex"`
		Visits [16]byte `parquet:"visits,uuid"`
	}
)

// pipe makes a named pipe. It writes content to the first program that opens the pipe.
func pipe(t *testing.T, name string, content []byte) string {
	t.Helper()
	must(t, syscall.Mkfifo(name, 0o600))
	go func() { _ = os.WriteFile(name, content, 0o600) }() // the program may stop reading early
	return name
}

func unreadable(t *testing.T) (all []mistake) {
	add := func(name, what, has string, content []byte) {
		write(t, name, content)
		all = append(all, mistake{what, name, has})
	}
	replace := func(pairs ...string) []byte { return []byte(strings.NewReplacer(pairs...).Replace(patients)) }
	squeezed := gzipped(t, []byte(strings.Repeat(patients, 100)))
	zst := compressed(t, func(w io.Writer) *zstd.Encoder {
		z, err := zstd.NewWriter(w)
		must(t, err)
		return z
	}, []byte(patients))
	whole := parquets(t, fitting{30, "f", 2})

	add("utf16.csv", "text in UTF-16, as some exports of Excel", "iconv -f UTF-16", append([]byte("\xff\xfe"), wide(patients)...))
	add("utf16-bare.csv", "text in UTF-16 without a byte order mark", "iconv -f UTF-16", wide(patients))
	add("latin1.csv", "a header in Latin-1", "iconv -f WINDOWS-1252", replace("visits", "Bes\xfcche"))
	add("macintosh.csv", "lines that end with a carriage return alone", "tr '\\r' '\\n'", replace("\n", "\r"))
	add("zeros.csv", "a file of zero bytes, from a failed disk or download", "contains zero bytes", make([]byte, 100))
	add("records.xlsx", "an Excel workbook", "save the sheet as CSV", workbook(t, "xl/workbook.xml"))
	add("records.ods", "a LibreOffice workbook", "save the sheet as CSV", workbook(t, "mimetype"))
	add("records.pdf", "a PDF file", "ask for the table itself", []byte("%PDF-1.7\n"))
	add("book.csv.gz", "an Excel workbook compressed by gzip", "save the sheet as CSV", gzipped(t, workbook(t, "xl/workbook.xml")))
	add("twice.csv.gz", "a file compressed twice", "unpack it once", gzipped(t, squeezed))
	add("cut.csv.gz", "a gzip file whose end is missing", "copy the file again", squeezed[:len(squeezed)/2])
	add("cut.csv.zst", "a zstd file whose end is missing", "copy the file again", zst[:len(zst)-6])
	add("records.sqlite", "an SQLite database without a query", "--query cohort.sql", []byte("SQLite format 3\x00"))
	add("cut.arrow", "an Arrow file whose end is missing", "copy the file again", []byte("ARROW1\x00\x00"))
	add("cut.arrows", "an Arrow stream whose end is missing", "copy the file again", []byte("\xff\xff\xff\xff\x78\x00\x00\x00"))
	add("base.sqlite.gz", "a compressed SQLite database", "unpack it", gzipped(t, []byte("SQLite format 3\x00")))
	add("cut.parquet", "a Parquet file whose end is missing", "copy the file again", whole[:len(whole)/2])
	add("nested.parquet", "a Parquet file with a column of lists", "a column of numbers or text", parquets(t, nested{30, "f", []float64{2}}))
	add("times.parquet", "a Parquet file with a column of times", "write numbers or text", parquets(t, timed{30, "f", time.Unix(0, 0)}))
	add("uuids.parquet", "a Parquet file with a column of identifiers (UUID)", "write numbers or text", parquets(t, identified{Age: 30, Sex: "f"}))
	add("empty.csv", "an empty file", "first line must name the columns", nil)
	add("missing.csv", "a column is missing", "add the column", replace(",visits", "", ",2", "", ",3", "", ",0", ""))
	add("twice.csv", "a column is there twice", "remove or rename", replace("sex", "age"))
	add("blanks.csv", "blanks around a name in the header", "remove the blanks", replace("visits", " visits "))
	add("capitals.csv", "a name in the header with other capitals", "as the study does", replace("visits", "Visits"))
	add("misspelt.csv", "a misspelt name in the header", "did you mean \"vistis\"", replace("visits", "vistis"))
	add("semicolons.csv", "another separator", "--separator", replace(",", ";"))
	add("noheader.csv", "no header", "check that this is the right file", replace("age,sex,visits\n", ""))
	add("quote.csv", "a header with a quote that does not end", "does not end on the line", replace("visits", "\"visits"))
	all = append(all, []mistake{
		{"a file that does not exist", "nothing.csv", "no such file"},
		{"a directory", "folder", "name one file in it"},
		{"a device", "/dev/zero", "name a file of records"},
		{"a Parquet file in a pipe", pipe(t, "pipe.parquet", whole), "from a pipe"},
		{"a pipe to which a program has written nothing", pipe(t, "pipe.csv", nil), "the file is empty"},
		{"a symbolic link to itself", "loop.csv", "too many levels of symbolic links"},
	}...)
	must(t, errors.Join(os.Mkdir("folder", 0o700), os.Symlink("loop.csv", "loop.csv")))
	return all
}

// A mistake is a fault, the name of a file that has it, and text that the message must contain.
type mistake struct{ what, file, has string }

// misfit writes files whose rows or values do not fit the study.
func misfit(t *testing.T) (all []mistake) {
	add := func(name, what, has, row string) {
		write(t, name, []byte(patients+row))
		all = append(all, mistake{what, name, has})
	}
	add("comma.csv", "a decimal comma without the flag for it", "--decimal-comma", "\"50,5\",f,1\n")
	add("thousands.csv", "a number with a separator of thousands", "a number such as 3.5", "1 000,f,1\n")
	add("words.csv", "words in place of a number", "table.missing", "unknown,f,1\n")
	add("large.csv", "a number too large for floating-point arithmetic", "bounds", "1e400,f,1\n")
	add("nan.csv", "NaN in place of a number", "not a number", "NaN,f,1\n")
	add("hexadecimal.csv", "a number in hexadecimal notation", "not a number", "0x20,f,1\n")
	add("date.csv", "a date in place of a number", "not a number", "31.12.1980,f,1\n")
	add("negative.csv", "a number outside the bounds", "widen the bounds", "-3,f,1\n")
	add("half.csv", "a fraction in place of a count", "counts whole events", "30,f,1.5\n")
	add("level.csv", "a level that the study does not declare", "add the levels", "30,x,1\n")
	add("capital.csv", "a level with another capital letter", "capitals", "30,F,1\n")
	add("encoding.csv", "a level that is not in UTF-8", "xfc", "30,\xfc,1\n")
	add("gap.csv", "a value is missing", "fill in", "30,f,\n")
	add("short.csv", "a row with too few fields", "a missing or an additional ','", "30,f\n")
	add("long.csv", "a row with too many fields", "a missing or an additional ','", "30,f,1,9\n")
	add("open.csv", "a quote that does not end on its line", "quotes that do not end on", "30,\"f,1\n")
	add("inside.csv", "quotes within a field", "quotes", "30,f\"f\",1\n")
	add("endless.csv", "a line of 17 MB", "a missing or an additional ','", strings.Repeat("9", 17<<20)+",f,1\n")
	return all
}
