package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"fedpvi/client"
	"fedpvi/internal/cli"
	"fedpvi/internal/table/arrowdata"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/table/sqldata"
)

func init() { origin.Register(arrowdata.Read, sqldata.Read) }

type recordFlags struct {
	Query        string `help:"With a database: file with one SELECT statement that returns the columns of the study." type:"existingfile" placeholder:"FILE"`
	Separator    string `help:"Separator of the fields of this CSV file. Default: the study's separator." placeholder:"CHARACTER"`
	DecimalComma bool   `help:"Numbers in this CSV file have a decimal comma."`
}

func (r *recordFlags) source(c *commands, data string) (origin.Source, error) {
	s := origin.Source{From: data, Query: r.Query, Comma: r.DecimalComma}
	if r.Separator != "" {
		char, size := utf8.DecodeRuneInString(r.Separator)
		if r.Separator == `\t` {
			char, size = '\t', len(r.Separator)
		}
		if size != len(r.Separator) || char == utf8.RuneError {
			return s, &client.UsageError{Err: errors.New(`--separator: give one character, such as ';', or '\t' for a tab`)}
		}
		s.Separator = char
	}
	if c.chatty() {
		unit := "bytes"
		if r.Query != "" {
			unit = "rows"
		}
		s.Progress = progress(cli.NewLine(os.Stderr), time.Now(), unit)
		s.Wait = waiting(os.Stderr, data)
	}
	return s, nil
}

// waiting returns a function that the client calls when it begins to wait for another program to
// write records to the pipe. The function prints a message unless over is called within the time
// quick.
func waiting(to io.Writer, pipe string) func() (over func()) {
	return func() func() {
		message := time.AfterFunc(quick, func() {
			fmt.Fprintf(to, "client: %s is a pipe: waiting for another program to write the records to it\n", pipe)
		})
		return func() { message.Stop() }
	}
}

// quick is how long the client reads records before it first shows its progress.
const quick = 2 * time.Second

// progress returns a function that shows on the terminal how much has been read, at most once a
// second. If all is known, it shows a percentage.
func progress(line *cli.Line, began time.Time, unit string) func(read, all int64) {
	shown := began.Add(quick - time.Second)
	return func(read, all int64) {
		now := time.Now()
		switch {
		case all > 0 && read == all && shown.After(began.Add(quick)):
			line.Clear()
			return
		case now.Sub(shown) < time.Second:
			return
		}
		shown = now
		line.Draw(progressLine(read, all, now.Sub(began), unit))
	}
}

// progressLine describes how far reading has come. all is 0 if it is unknown.
func progressLine(read, all int64, took time.Duration, unit string) string {
	line := fmt.Sprintf("reading records: %d %s", read, unit)
	if all > 0 {
		left := time.Duration(float64(took) * (float64(all)/float64(read) - 1))
		line = fmt.Sprintf("reading records: %d %%, %s left", 100*read/all, left.Round(time.Second))
	}
	return line
}
