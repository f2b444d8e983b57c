package shard_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const source = `
[study]
version = 1
name = "s"
[table]
separator = ";"
trim = true
missing = ["", "?"]
[[column]]
name = "sex"
type = "categorical"
levels = ["f", "m", "?"]
[[column]]
name = "age"
type = "numeric"
bounds = [20, 100]
outside = "clamp"
missing = "impute"
impute = 60
[[column]]
name = "stage"
type = "ordered"
levels = ["I", "II", "III"]
outside = "drop"
missing = "drop"
[[column]]
name = "y"
type = "numeric"
bounds = [0, 10]
[model]
family = "linear"
outcome = "y"
terms = ["age*sex", "stage"]
noise_sd = 1
[inference]
rounds = 1
[privacy]
unit = "none"
`

func parse(t *testing.T, edits ...string) *study.Study {
	t.Helper()
	return parsed(t, strings.NewReplacer(edits...).Replace(source))
}

func parsed(t testing.TB, source string) *study.Study {
	t.Helper()
	st, err := study.Parse("s.toml", []byte(source))
	check(t, err)
	return st
}

func read(t *testing.T, st *study.Study, file string) (*shard.Records, shard.Report) {
	t.Helper()
	records, report, err := shard.Read("r.csv", strings.NewReader(file), st)
	check(t, err)
	return records, report
}

func TestRead(t *testing.T) {
	st := parse(t)
	records, report := read(t, st, `y ; other; stage ;age; sex
 1;x;I;20;f
"2"; x ;II; 100 ;m
3;x;IV;50;f
4;x;?;50;f
5;x;III;150;?
6;x;III;;m
10;x;III;-3;m
`)
	var rows [][]float64
	for i := range records.Len() {
		rows = append(rows, records.Row(i))
	}
	want := [][]float64{{0, 20, 0, 1}, {1, 100, 1, 2}, {2, 100, 2, 5}, {1, 60, 2, 6}, {1, 20, 2, 10}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	wantReport := shard.Report{
		Records: 5,
		Dropped: map[string]int{"stage": 2},
		Clamped: map[string]int{"age": 2},
		Imputed: map[string]int{"age": 1},
	}
	if diff := cmp.Diff(wantReport, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestReadWithoutHeader(t *testing.T) {
	st := parse(t, "[table]", "[table]\nheader = false")
	records, _ := read(t, st, "m;60;II;7\n")
	if diff := cmp.Diff([]float64{1, 60, 1, 7}, records.Row(0)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestDesign(t *testing.T) {
	st := parse(t)
	records, _ := read(t, st, "sex;age;stage;y\nm;80;III;7.5\nf;20;I;0\n")
	s := shard.Design(st, records)
	// The regressors are intercept, age, sex[m], sex[?], age:sex[m], age:sex[?], stage.
	for i, want := range []struct {
		x []float64
		y float64
	}{
		{[]float64{1, .5, 1, 0, .5, 0, 1}, .5},
		{[]float64{1, -1, 0, 0, 0, 0, -1}, -1},
	} {
		x, y := s.Record(i)
		if diff := cmp.Diff(want.x, x); diff != "" || y != want.y {
			t.Errorf("record %d: outcome %g, want %g, regressors (-want +got):\n%s", i, y, want.y, diff)
		}
	}
	if s.Len() != 2 || s.Dim() != 7 {
		t.Errorf("%d records of %d regressors", s.Len(), s.Dim())
	}
	chosen := shard.Design(st, records.Select([]int{1}))
	if x, _ := chosen.Record(0); chosen.Len() != 1 || x[1] != -1 {
		t.Errorf("selecting the second record gives %v", x)
	}
}

// Design scales regressors down to max_norm, and leaves shorter ones alone.
func TestDesignShortens(t *testing.T) {
	const most = 1.5
	st := parse(t, "[model]", "[model]\nmax_norm = 1.5")
	records, _ := read(t, st, "sex;age;stage;y\nm;80;III;7.5\nf;50;I;0\n")
	long, _ := shard.Design(parse(t), records).Record(0)
	short, _ := shard.Design(st, records).Record(0)
	var norm, was float64
	for i, x := range short {
		norm, was = math.Hypot(norm, x), math.Hypot(was, long[i])
	}
	if math.Abs(norm-most) > 1e-12 || was <= most {
		t.Errorf("a norm of %g becomes %g, want %g", was, norm, most)
	}
	for i, x := range short {
		if math.Abs(x-long[i]*most/was) > 1e-12 {
			t.Errorf("regressor %d is %g, was %g", i, x, long[i])
		}
	}
	if x, _ := shard.Design(st, records).Record(1); x[0] != 1 {
		t.Errorf("a short record becomes %v", x)
	}
}

const header = "sex;age;stage;y\n"

// A record that does not fit is left out, and the records before and after it are read. The report
// says where it is, but contains no value.
func TestRecordsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       string
	}{
		{"undeclared level", "SECRET;30;I;1\n", `r.csv:3: column sex: the value is not among the 3 levels that the study declares`},
		{"out of bounds", "f;30;I;11.5\n", `r.csv:3: column y: the value is outside the bounds [0, 10] that the study declares`},
		{"not a number", "f;30;I;SECRET\n", "r.csv:3: column y: the value is not a number"},
		{"NaN", "f;30;I;NaN\n", "r.csv:3: column y: the value is not a number"},
		{"infinite", "f;30;I;inf\n", "r.csv:3: column y: the value is outside"},
		{"overflow", "f;30;I;1e999\n", "r.csv:3: column y: the value is outside"},
		{"missing", "f;30;I;\n", "r.csv:3: column y: the value is missing"},
		{"ragged", "f;30;I\n", "r.csv:3: the line does not have the expected 4 fields"},
		{"bare quote", "f;3\"0;I;1\n", `r.csv:3: bare " in non-quoted`},
		{"text after a quoted field", "f;\"30\"x;I;1\n", `r.csv:3: extraneous or missing " in quoted-field`},
	} {
		records, report, err := shard.Read("r.csv", strings.NewReader(header+"f;30;I;1\n"+c.line+"f;31;I;2\n"), parse(t))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if records.Len() != 2 || records.Row(1)[3] != 2 || report.Refused != 1 || report.LeftOut() != 1 || report.First == nil {
			t.Errorf("%s: %d records, %+v", c.name, records.Len(), report)
			continue
		}
		if text := report.First.Error(); !strings.Contains(text, c.want) || strings.Contains(text, "SECRET") {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
	untrimmed := parse(t, "trim = true", "trim = false")
	if _, report, err := shard.Read("r.csv", strings.NewReader(header+"f ;30;I;1\n"), untrimmed); err != nil || report.Dropped["sex"] != 1 {
		t.Errorf("blanks around a value were trimmed, although the study does not allow it: %+v, %v", report, err)
	}
}

// Each record is read as if it were the only one. Otherwise, a record could decide which other
// records are used. For example, an open quote would join all lines up to the next quote.
func TestRecordsAreReadOneByOne(t *testing.T) {
	studies := []*study.Study{parse(t), parse(t, "trim = true", "trim = false"), parse(t, `separator = ";"`, `separator = "x"`)}
	rapid.Check(t, func(t *rapid.T) {
		st := rapid.SampledFrom(studies).Draw(t, "study")
		by := string(st.Table.Separator)
		field := rapid.OneOf(
			rapid.SampledFrom([]string{"f", "m", "30", "I", "1", `"30"`, `"f`, `f"`, `"`, `""`, `"""`, ` "1"`, `"1" `, `"a""b"`, "", "\r", "NaN", strings.Repeat("1", 5000)}),
			rapid.StringOf(rapid.SampledFrom([]rune{'"', '\r', ' ', '1', rune(by[0])})))
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			if rapid.Bool().Draw(t, "fits") {
				return strings.Join([]string{"f", "30", "I", "1"}, by)
			}
			return strings.Join(rapid.SliceOfN(field, 1, 5).Draw(t, "fields"), by)
		}), 0, 12).Draw(t, "lines")
		names, end := strings.Join([]string{`"sex"`, `"age"`, `"stage"`, `"y"`}, by)+"\n", rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end of line")
		load := func(some ...string) []string {
			records, _, err := shard.Read("r.csv", strings.NewReader(names+strings.Join(append(some, ""), end)), st)
			check(t, err)
			var rows []string
			for i := range records.Len() {
				rows = append(rows, fmt.Sprint(records.Row(i)))
			}
			return rows
		}
		var alone []string
		for _, line := range all {
			alone = append(alone, load(line)...)
		}
		if got := load(all...); !slices.Equal(got, alone) {
			t.Fatalf("the lines %q are the records %q together and %q alone", all, got, alone)
		}
	})
}

// The error says where it is in the file, but does not quote any value.
func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       string
	}{
		{"wrong separator", "sex,age,stage,y\nf,30,I,1\n", "r.csv:1: column sex: the header does not name this column"},
		{"column missing", "sex;age;stage\n", "r.csv:1: column y: the header does not name this column"},
		{"column twice", "sex;age;stage;y;y\n", "r.csv:1: column y: the header names this column twice"},
		{"empty", "", "r.csv: the file is empty"},
	} {
		_, _, err := shard.Read("r.csv", strings.NewReader(c.file), parse(t))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
	if _, _, err := shard.Read("r.csv", iotest.ErrReader(errors.New("disk")), parse(t)); err == nil || !strings.Contains(err.Error(), "r.csv: reading: disk") {
		t.Errorf("a disk that fails: %v", err)
	}
}

// A byte order mark is ignored, even before a quoted name.
func TestMarkOfUTF8(t *testing.T) {
	for _, file := range []string{"\ufeffsex;age;stage;y\nf;30;I;1\n", "\ufeff\"sex\";\"age\";stage;y\nf;30;I;1\n"} {
		if records, report := read(t, parse(t), file); records.Len() != 1 || report.LeftOut() != 0 {
			t.Errorf("%q: %+v", file, report)
		}
	}
	headless := parse(t, "[table]", "[table]\nheader = false")
	if records, _ := read(t, headless, "\ufefff;30;I;1\n"); records.Len() != 1 {
		t.Error("the mark is part of the first value of a file without a header")
	}
}

// If batches have a fixed size, the number of records is public, but it is private how many of them
// fit. So records that are left out still count. Their regressors are NaN, and they add zero to
// every sum.
func TestLeftOutRecordsCount(t *testing.T) {
	file := header + "f;30;I;1\nf;30;I;99\nbroken\nf;31;I;2\n"
	for _, c := range []struct {
		version  int
		sampling study.Sampling
		want     int
	}{{2, study.WithoutReplacement, 4}, {2, study.PoissonSampling, 2}, {1, study.WithoutReplacement, 2}} {
		st := parse(t)
		st.Version, st.Inference.Descent.Sampling = c.version, c.sampling
		records, _ := read(t, st, file)
		s := shard.Design(st, records)
		if s.Len() != c.want || s.Units() != c.want || records.Len() != 2 || shard.Design(st, records.Fitting()).Len() != 2 {
			t.Errorf("version %d, %s: %d records in the batches, want %d", c.version, c.sampling, s.Len(), c.want)
		}
		for i := 2; i < s.Len(); i++ {
			if x, _ := s.Record(i); !math.IsNaN(x[0]) {
				t.Errorf("record %d has regressors %v", i, x)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	st := parsed(f, source)
	f.Add("sex;age;stage;y\nm;80;III;7.5\n")
	f.Add("sex;age;stage;y\n\"\n")
	f.Add("\ufeffsex;age;stage;y\r\nf;1e5;I;0x1p-2\r\n")
	f.Fuzz(func(t *testing.T, file string) {
		memory.Bound(t, len(file), func() { shard.Read("r.csv", strings.NewReader(file), st) })
		records, _, err := shard.Read("r.csv", strings.NewReader(file), st)
		if err != nil {
			return
		}
		sameAfterWriting(t, st, records)
		s := shard.Design(st, records)
		for i := range s.Len() {
			x, y := s.Record(i)
			for _, v := range append(x[:len(x):len(x)], y) {
				if !(v >= -1 && v <= 1) {
					t.Fatalf("record %d is %v, %g: beyond the public bounds", i, x, y)
				}
			}
		}
	})
}

// Counts are whole numbers, which Design does not scale. Binary outcomes become 0 or 1, and groups
// become the index of their level.
func TestDesignOfOtherFamilies(t *testing.T) {
	counting := parse(t, `family = "linear"`, `family = "poisson"`, "noise_sd = 1\n", "")
	if _, report := read(t, counting, "sex;age;stage;y\nf;30;I;2.5\n"); report.First == nil || !strings.Contains(report.First.Error(), "r.csv:2: column y: the value is not a whole number") {
		t.Errorf("a count of 2.5: %+v", report)
	}
	records, _ := read(t, counting, "sex;age;stage;y\nf;30;I;7\n")
	if _, y := shard.Design(counting, records).Record(0); y != 7 {
		t.Errorf("a count of 7 is scaled to %g", y)
	}
	binary := parse(t, `family = "linear"`, `family = "logistic"`, "noise_sd = 1", "positive = \"> 5\"\ngroups = [\"1 + age | stage\"]")
	records, _ = read(t, binary, "sex;age;stage;y\nm;80;III;7.5\nf;20;I;5\n")
	s := shard.Design(binary, records)
	for i, want := range []struct {
		y     float64
		level int32
		slope float64
	}{{1, 2, .5}, {0, 0, -1}} {
		_, y := s.Record(i)
		levels, slopes := s.Groups(i)
		if y != want.y || levels[0] != want.level || slopes[0] != want.slope {
			t.Errorf("record %d: outcome %g, group %v, slope %v, want %+v", i, y, levels, slopes, want)
		}
	}
}

func check(t interface {
	Helper()
	Fatal(...any)
}, err error,
) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
