package cli

import (
	"io"
	"os"
	"strings"
	"testing"
)

// screen returns the visible line of a terminal after text was printed.
func screen(text string) string {
	var line []rune
	at := 0
	for _, r := range text {
		switch {
		case r == '\r':
			at = 0
		case at < len(line):
			line[at] = r
			at++
		default:
			line, at = append(line, r), at+1
		}
	}
	return strings.TrimRight(string(line), " ")
}

func TestLineReplacesItsText(t *testing.T) {
	var out strings.Builder
	l := NewLine(&out)
	l.width = 12
	for _, c := range []struct{ text, want string }{
		{"round 9/10", "round 9/10"}, {"ε 1", "ε 1"}, {"a text that is too long", "a text that"}, {"", ""},
	} {
		l.Draw(c.text)
		if got := screen(out.String()); got != c.want {
			t.Errorf("the terminal shows %q, want %q", got, c.want)
		}
	}
	l.End()
	if strings.Contains(out.String(), "\n") {
		t.Error("an empty line was ended")
	}
	l.Draw("done")
	l.Clear()
	if got := screen(out.String()); got != "" {
		t.Errorf("after Clear the terminal shows %q", got)
	}
	l.Draw("done")
	l.End()
	if !strings.HasSuffix(out.String(), "done\n") {
		t.Errorf("the output ends with %q", out.String())
	}
}

func TestFilesAreNotReflowed(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	long := strings.Repeat("word ", 60) + "\n"
	if err := Print(f, func(w io.Writer) error { _, err := io.WriteString(w, long); return err }); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != long {
		t.Errorf("the file has %q, %v", got, err)
	}
	if Terminal(f) || columns(f) != 0 {
		t.Error("a file counts as a terminal")
	}
}
