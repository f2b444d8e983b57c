package prose

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// bullet formats text as a list item, in the style of this project's output.
func bullet(text string, width int) string {
	return "  - " + strings.ReplaceAll(strings.TrimSuffix(Wrap(text, width), "\n"), "\n", "\n    ") + "\n"
}

// Reflowing text must give the same result as wrapping it to the smaller width in the first place.
func TestReflowIsWrappingToTheOtherWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(narrowest+4, Width-1).Draw(t, "width")
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zε]{1,12}[.,]?`), 1, 80)
		var text, want strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "paragraphs") {
			p := strings.Join(words.Draw(t, "words"), " ")
			text.WriteString(Wrap(p, Width) + "\n" + bullet(p, Width) + bullet("x", Width) + "\n")
			want.WriteString(Wrap(p, width) + "\n" + bullet(p, width-4) + bullet("x", width-4) + "\n")
		}
		if got := Reflow(text.String(), width); got != want.String() {
			t.Fatalf("width %d:\n%s\nnot\n%s", width, got, want.String())
		}
	})
}

func TestReflowKeepsTablesAndBreaksLongLines(t *testing.T) {
	row := "  age   pressure [mmHg] per age [years]   0.4573   0.005848   0.4459"
	title := strings.TrimSpace(strings.Repeat("title ", 10))
	got := Reflow(row+"\n"+row+"\n\n"+title+"\n", 40)
	if !strings.HasPrefix(got, row+"\n"+row+"\n\n") {
		t.Errorf("the rows were changed:\n%s", got)
	}
	for _, line := range strings.Split(got, "\n")[3:] {
		if utf8.RuneCountInString(line) > 40 {
			t.Errorf("%q is wider than the terminal", line)
		}
	}
}
