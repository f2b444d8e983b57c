package document_test

import (
	"strconv"
	"strings"
	"testing"

	"fedpvi/internal/document"
	"fedpvi/internal/testing/memory"
)

func parse(t *testing.T, source string) *document.Document {
	t.Helper()
	d, err := document.Parse("f.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPlaces(t *testing.T) {
	d := parse(t, `top = 1
[a]
x = { y = 1, z = { w = 2 } }
b.c = 3
[[list]]
name = "first"
[[list]]
  name = "second"
  [list.inner]
  v = 1
`)
	root := d.Root()
	root.Errorf("top", "T")
	a := root.Table("a")
	a.Table("x").Errorf("y", "Y")
	a.Table("x").Table("z").Errorf("w", "W")
	a.Table("b").Errorf("c", "C")
	a.Errorf("absent", "A")
	lists := root.Tables("list")
	lists[1].Errorf("name", "N")
	lists[1].Table("inner").Errorf("v", "V")
	root.Errorf("nowhere", "Z")
	err := d.Err().Error()
	for _, want := range []string{
		"f.toml:1:1: top: T",
		"f.toml:2:2: a.absent: A",
		"f.toml:3:7: a.x.y: Y",
		"f.toml:3:20: a.x.z.w: W",
		"f.toml:4:3: a.b.c: C",
		"f.toml:8:3: list.2.name: N",
		"f.toml:10:3: list.2.inner.v: V",
		"f.toml: nowhere: Z",
	} {
		if !strings.Contains(err, want+"\n") && !strings.HasSuffix(err, want) {
			t.Errorf("%q is not among\n%s", want, err)
		}
	}
}

func TestTypes(t *testing.T) {
	d := parse(t, `
text = "a"
whole = 3
fraction = 3.5
truth = true
texts = ["a", "b"]
mixed = ["a", 1]
numbers = [1, 2.5]
table.x = 1
infinite = inf
`)
	root := d.Root()
	if v, ok := root.String("text"); v != "a" || !ok {
		t.Errorf("text: %q, %v", v, ok)
	}
	if v, ok := root.Float("whole"); v != 3 || !ok {
		t.Errorf("whole as a number: %v, %v", v, ok)
	}
	if v, ok := root.Floats("numbers"); len(v) != 2 || v[1] != 2.5 || !ok {
		t.Errorf("numbers: %v, %v", v, ok)
	}
	if v, ok := root.Strings("texts"); len(v) != 2 || v[1] != "b" || !ok {
		t.Errorf("texts: %v, %v", v, ok)
	}
	if v, ok := root.Bool("truth"); !v || !ok {
		t.Errorf("truth: %v, %v", v, ok)
	}
	if err := d.Err(); err == nil || strings.Count(err.Error(), "unknown key") != 4 {
		t.Errorf("four unknown keys: %v", err)
	}
	for _, bad := range []func() bool{
		func() bool { _, ok := root.Int("fraction"); return ok },
		func() bool { _, ok := root.String("whole"); return ok },
		func() bool { _, ok := root.Strings("mixed"); return ok },
		func() bool { _, ok := root.Float("infinite"); return ok },
		func() bool { _, ok := root.Float("text"); return ok },
		func() bool { _, ok := root.Bool("table"); return ok },
		func() bool { _, ok := root.Float("absent"); return ok },
	} {
		if bad() {
			t.Error("a value of the wrong type is accepted")
		}
	}
}

func TestChoice(t *testing.T) {
	d := parse(t, `how = "sinchronous"`)
	if _, ok := d.Root().Choice("how", "synchronous", "sequential"); ok {
		t.Error("an unknown choice is accepted")
	}
	want := `f.toml:1:1: how: "sinchronous" is unknown (did you mean "synchronous"?): use "synchronous" or "sequential"`
	if err := d.Err(); err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}

func TestSet(t *testing.T) {
	d := parse(t, "[a]\nx = 1\ny = 2\n")
	for key, value := range map[string]string{"a.x": "5", "b.c.d": `"text"`, "b.word": "bare", "a.y": ""} {
		if err := d.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again := parse(t, string(encoded)).Root()
	x, _ := again.Table("a").Int("x")
	c, _ := again.Table("b").Table("c").String("d")
	word, _ := again.Table("b").String("word")
	if x != 5 || c != "text" || word != "bare" || again.Table("a").Has("y") {
		t.Errorf("after setting, the document is\n%s", encoded)
	}
	if err := d.Set("a.x.z", "1"); err == nil {
		t.Error("a key below a number is accepted")
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := document.Parse("f.toml", make([]byte, document.MaxSize+1)); err == nil {
		t.Error("a document of any size is accepted")
	}
}

func TestMemory(t *testing.T) {
	const most = document.MaxSize - 64
	keys := 9_000 // the decoder compares each key with all keys before it
	if testing.Short() {
		keys = 1_000
	}
	some := func(n int, format string) string {
		var b strings.Builder
		for i := 0; i < n && b.Len() < most-len(format)-10; i++ {
			b.WriteString(strings.ReplaceAll(format, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	filled := func(format string) string { return some(most, format) }
	for name, source := range map[string]string{
		"comments":      filled("# about nothing at all\n"),
		"a value":       "x = \"" + strings.Repeat("x", most-10) + "\"",
		"values":        "x = [" + filled("1,") + "]",
		"some values":   "x = [" + strings.Repeat("1,", 1<<15-10) + "]",
		"keys":          filled("k# = 1\n"),
		"some keys":     some(keys, "k# = 1\n"),
		"tables":        some(15_000, "[[t]]\n"),
		"named tables":  some(keys, "[t#]\n"),
		"deep values":   "x = " + strings.Repeat("[", most),
		"deep values 2": "x = " + strings.Repeat("[", 9_900) + strings.Repeat("]", 9_900),
		"deep tables":   "[" + strings.Repeat("k.", 30_000) + "k]",
		"deep keys":     strings.Repeat("k.", 30_000) + "k = 1",
		"deep inline":   "x = " + strings.Repeat("{k=", 9_000) + "1" + strings.Repeat("}", 9_000),
		"a long key":    strings.Repeat("k", most-10) + " = 1",
		"a long table":  "[" + strings.Repeat("k", most/2) + "]\n" + some(keys, "k# = 1\n"),
		"long keys":     some(1_500, strings.Repeat("k", 500)+"# = 1\n"),
		"in long keys":  "[" + strings.Repeat("k", 500) + "]\n" + some(keys, "k# = 1\n"),
	} {
		if len(source) > document.MaxSize {
			t.Fatal(name)
		}
		before := t.Failed()
		memory.Document(t, len(source), func() { document.Parse("hostile.toml", []byte(source)) })
		if t.Failed() && !before {
			t.Error(name)
		}
	}
}

func TestErrorsShowNoHiddenCharacters(t *testing.T) {
	d := parse(t, "\"a\\u001b[2J\\u202e\" = 1\n")
	err := d.Err()
	if err == nil || strings.ContainsFunc(err.Error(), document.Hidden) || !strings.Contains(err.Error(), "a?[2J?") {
		t.Errorf("%q", err)
	}
}

func TestHidden(t *testing.T) {
	for r, want := range map[rune]bool{
		'\t': false, 'ß': false, '漢': false, ' ': false, '\u00a0': false, 'é': false, '\u0301': false,
		'\u200c': false, '\u200d': false, '\u0600': false, // joiners of Persian and Hindi, and an Arabic number sign
		'\n': true, '\x1b': true, '\u0085': true, // characters that control terminals
		'\u200e': true, '\u061c': true, '\u202e': true, '\u2066': true, // characters that change the direction of text
		'\u200b': true, '\u00ad': true, '\u2060': true, '\ufeff': true, '\u2028': true, '\U000e0041': true, // invisible characters
	} {
		if got := document.Hidden(r); got != want {
			t.Errorf("%U: hidden %v, want %v", r, got, want)
		}
	}
}

func TestMisspeltKey(t *testing.T) {
	for source, want := range map[string]string{
		"[a]\nepsilom = 1":   `f.toml:2:1: a.epsilom: unknown key (did you mean "epsilon"?)`,
		"[a]\nsomething = 1": "f.toml:1:2: a.epsilon: is missing: write it\nf.toml:2:1: a.something: unknown key",
	} {
		d := parse(t, source)
		d.Root().Table("a").Require("epsilon", "write it")
		if err := d.Err(); err == nil || err.Error() != want {
			t.Errorf("error\n%v\nwant\n%s", err, want)
		}
	}
}
