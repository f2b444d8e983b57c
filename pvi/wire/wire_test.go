package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
)

type codec struct {
	read  func([]byte, Limits) (any, error)
	write func(any) []byte
	draw  func(*rapid.T) any
	fixed any // message whose encoding in version 1 is in testdata
}

func codecOf[M any](read func([]byte, Limits) (*M, error), write func([]byte, *M) []byte, draw func(*rapid.T) M, fixed M) codec {
	return codec{
		read:  func(b []byte, l Limits) (any, error) { return read(b, l) },
		write: func(m any) []byte { return write(nil, m.(*M)) },
		draw:  func(t *rapid.T) any { m := draw(t); return &m },
		fixed: &fixed,
	}
}

var limits = Limits{Elements: 9, Clients: 5, Name: 12}

func digest(t *rapid.T) pvi.Digest {
	return pvi.Digest(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
}

// list draws nil or a list of one to nine values.
func list[V any](t *rapid.T, name string, value *rapid.Generator[V]) []V {
	if v := rapid.SliceOfN(value, 0, 9).Draw(t, name); len(v) > 0 {
		return v
	}
	return nil
}

var (
	integers = rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, math.MaxInt64, math.MinInt64}))
	reals    = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 5e-324, math.MaxFloat64}))
	ids      = rapid.Custom(func(t *rapid.T) pvi.ClientID {
		return pvi.ClientID(rapid.StringMatching(`[a-z0-9-]{0,12}`).Draw(t, "name"))
	})
	wides = rapid.Custom(func(t *rapid.T) pvi.Wide {
		return pvi.Wide{Hi: integers.Draw(t, "high"), Lo: rapid.Uint64().Draw(t, "low")}
	})
	pairs = rapid.Custom(func(t *rapid.T) study.Bounds {
		return study.Bounds{Low: reals.Draw(t, "low"), High: reals.Draw(t, "high")}
	})
	verdictDraw = rapid.SampledFrom([]pvi.Verdict{pvi.Accepted, pvi.Rejected, pvi.Void})
)

func clients(t *rapid.T) []pvi.ClientID {
	if v := rapid.SliceOfN(ids, 0, 5).Draw(t, "clients"); len(v) > 0 {
		return v
	}
	return nil
}

func number(t *rapid.T) int { return int(integers.Draw(t, "number")) }

var someDigest = pvi.Digest{0: 0xd1, 31: 0x9e}

var codecs = map[Kind]codec{
	Plan: codecOf(ReadPlan, AppendPlan, func(t *rapid.T) pvi.Plan {
		return pvi.Plan{Protocol: digest(t), Number: number(t), Lambda: list(t, "lambda", wides), Centre: list(t, "centre", integers), Participants: clients(t)}
	}, pvi.Plan{
		Protocol: someDigest, Number: 7, Lambda: []pvi.Wide{{Hi: -1, Lo: math.MaxUint64}, {Hi: 3, Lo: 258}}, Centre: []int64{-65536},
		Participants: []pvi.ClientID{"north", "st-olav-2"},
	}),
	Release: codecOf(ReadRelease, AppendRelease, func(t *rapid.T) pvi.Release {
		return pvi.Release{Protocol: digest(t), Number: number(t), Client: ids.Draw(t, "client"), Change: list(t, "change", integers)}
	}, pvi.Release{Protocol: someDigest, Number: 7, Client: "north", Change: []int64{-2, 1 << 40}}),
	Outcome: codecOf(ReadOutcome, AppendOutcome, func(t *rapid.T) pvi.Outcome {
		return pvi.Outcome{
			Protocol: digest(t), Sequence: number(t), Number: number(t), Verdict: verdictDraw.Draw(t, "verdict"),
			Centre: list(t, "centre", integers), Participants: clients(t), Sum: list(t, "sum", integers),
		}
	}, pvi.Outcome{Protocol: someDigest, Sequence: 6, Number: 7, Verdict: pvi.Rejected, Centre: []int64{9}, Participants: []pvi.ClientID{"north"}, Sum: []int64{-1, 0}}),
	ScalePlan: codecOf(ReadScalePlan, AppendScalePlan, func(t *rapid.T) scale.Plan {
		return scale.Plan{Scaling: digest(t), Number: number(t), Bounds: list(t, "bounds", pairs)}
	}, scale.Plan{Scaling: someDigest, Number: 2, Bounds: []study.Bounds{{Low: -0.5, High: 1e300}}}),
	ScaleRelease: codecOf(ReadScaleRelease, AppendScaleRelease, func(t *rapid.T) scale.Release {
		return scale.Release{Scaling: digest(t), Number: number(t), Client: ids.Draw(t, "client"), Sum: list(t, "sum", integers)}
	}, scale.Release{Scaling: someDigest, Number: 2, Client: "south", Sum: []int64{5}}),
	ScaleOutcome: codecOf(ReadScaleOutcome, AppendScaleOutcome, func(t *rapid.T) scale.Outcome {
		return scale.Outcome{Scaling: digest(t), Number: number(t), Verdict: verdictDraw.Draw(t, "verdict"), Participants: clients(t), Sum: list(t, "sum", integers)}
	}, scale.Outcome{Scaling: someDigest, Number: 2, Verdict: pvi.Void, Participants: []pvi.ClientID{"south"}}),
	OneStepPlan: codecOf(ReadOneStepPlan, AppendOneStepPlan, func(t *rapid.T) lastround.Plan {
		return lastround.Plan{Round: digest(t), Point: list(t, "point", reals)}
	}, lastround.Plan{Round: someDigest, Point: []float64{0.25, -3}}),
	OneStepRelease: codecOf(ReadOneStepRelease, AppendOneStepRelease, func(t *rapid.T) lastround.Release {
		return lastround.Release{Round: digest(t), Client: ids.Draw(t, "client"), Gradient: list(t, "gradient", integers), Curvature: list(t, "curvature", integers)}
	}, lastround.Release{Round: someDigest, Client: "west", Gradient: []int64{1, 2}, Curvature: []int64{3, 4, -5}}),
	OneStepOutcome: codecOf(ReadOneStepOutcome, AppendOneStepOutcome, func(t *rapid.T) lastround.Outcome {
		return lastround.Outcome{
			Round: digest(t), Verdict: verdictDraw.Draw(t, "verdict"), Point: list(t, "point", reals), Participants: clients(t),
			Gradient: list(t, "gradient", integers), Curvature: list(t, "curvature", integers),
		}
	}, lastround.Outcome{Round: someDigest, Verdict: pvi.Accepted, Point: []float64{0.25}, Participants: []pvi.ClientID{"a", "b"}, Gradient: []int64{1}, Curvature: []int64{2}}),
}

// A message is read as it was written. A truncated or extended one is refused.
func TestWhatIsWrittenIsRead(t *testing.T) {
	for kind, c := range codecs {
		rapid.Check(t, func(rt *rapid.T) {
			m := c.draw(rt)
			b := c.write(m)
			if kindOf(b) != kind {
				rt.Fatalf("a %s is a %q", kind, kindOf(b))
			}
			got, err := c.read(b, limits)
			if err != nil || !reflect.DeepEqual(got, m) {
				rt.Fatalf("%s: %+v was read for %+v, %v", kind, got, m, err)
			}
			refused := func(b []byte) {
				var r *pvi.Refused
				if _, err := c.read(b, limits); !errors.As(err, &r) {
					rt.Fatalf("%s: %v, want a refusal", kind, err)
				}
			}
			refused(b[:rapid.IntRange(0, len(b)-1).Draw(rt, "cut")])
			refused(append(b, 0))
		})
	}
}

var update = flag.Bool("update", false, "write the encodings on record anew")

// The encodings of version 1 must not change, because other releases read them.
func TestOnRecord(t *testing.T) {
	for kind, c := range codecs {
		path := filepath.Join("testdata", "v1-"+strings.ReplaceAll(kind.String(), " ", "-")+".hex")
		b := c.write(c.fixed)
		if *update {
			if err := os.WriteFile(path, []byte(hex.EncodeToString(b)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("a %s is written as\n%x, on record is\n%x %v", kind, b, want, err)
		}
		if got, err := c.read(want, limits); err != nil || !reflect.DeepEqual(got, c.fixed) {
			t.Errorf("the %s on record is read as %+v, %v", kind, got, err)
		}
	}
}

// The bytes were written by hand from the package's documentation.
func TestFormByHand(t *testing.T) {
	var want []byte
	want = append(want, 1, 2)
	want = append(want, someDigest[:]...)
	want = append(want, 7, 0, 0, 0, 0, 0, 0, 0)
	want = append(want, 5, 0, 0, 0)
	want = append(want, "north"...)
	want = append(want, 2, 0, 0, 0)
	want = append(want, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 0, 0)
	if got := codecs[Release].write(codecs[Release].fixed); !bytes.Equal(got, want) {
		t.Errorf("a release is written as\n%x, by hand\n%x", got, want)
	}
}

// Lengths beyond the limits are refused before memory is allocated. So are numbers that are not
// finite.
//
//abuse:case A13 numbers that are not finite are refused where they are read
//abuse:case P03 lengths and counts beyond the protocol's are refused before anything is allocated
func TestBounds(t *testing.T) {
	plan := &pvi.Plan{Lambda: make([]pvi.Wide, 9), Participants: []pvi.ClientID{"north"}}
	outcome := &pvi.Outcome{Verdict: pvi.Void}
	point := func(x float64) []byte { return AppendOneStepPlan(nil, &lastround.Plan{Point: []float64{1, x}}) }
	bounds := func(x float64) []byte {
		return AppendScalePlan(nil, &scale.Plan{Bounds: []study.Bounds{{Low: 0, High: x}}})
	}
	huge := AppendPlan(nil, plan)
	binary.LittleEndian.PutUint32(huge[42:], math.MaxUint32) // bytes of the length of λ
	version := AppendPlan(nil, plan)
	version[0] = 2
	for _, c := range []struct {
		name   string
		bytes  []byte
		kind   Kind
		limits Limits
		want   string // part of the expected error; "" if there is none
	}{
		{"all that is allowed", AppendPlan(nil, plan), Plan, Limits{9, 1, 5}, ""},
		{"too many elements", AppendPlan(nil, plan), Plan, Limits{8, 1, 5}, "longer than the study allows"},
		{"too many clients", AppendPlan(nil, plan), Plan, Limits{9, 0, 5}, "longer than the study allows"},
		{"too long a name", AppendPlan(nil, plan), Plan, Limits{9, 1, 4}, "longer than the study allows"},
		{"a length of four billion", huge, Plan, limits, "longer than the study allows"},
		{"a length beyond the end", huge, Plan, Limits{math.MaxInt, 1, 5}, "ends too early"},
		{"another version", version, Plan, limits, "version 2"},
		{"another kind", AppendPlan(nil, plan), Outcome, limits, "of another kind"},
		{"no verdict", AppendOutcome(nil, &pvi.Outcome{Verdict: "won"}), Outcome, limits, "no verdict"},
		{"a verdict", AppendOutcome(nil, outcome), Outcome, limits, ""},
		{"not a number", point(math.NaN()), OneStepPlan, limits, "not finite"},
		{"infinite", bounds(math.Inf(1)), ScalePlan, limits, "not finite"},
		{"finite", bounds(math.MaxFloat64), ScalePlan, limits, ""},
		{"nothing", nil, Plan, limits, "ends too early"},
	} {
		_, err := codecs[c.kind].read(c.bytes, c.limits)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	b := AppendOutcome(nil, outcome)
	b[50] = byte(len(verdicts)) // byte of the verdict
	if _, err := ReadOutcome(b, limits); err == nil {
		t.Error("a fourth verdict was read")
	}
}

// Four billion empty names are refused before memory is allocated for them.
func TestNamesAreBoundedByTheMessage(t *testing.T) {
	b := AppendPlan(nil, &pvi.Plan{Participants: []pvi.ClientID{"a"}})
	b = b[:len(b)-5]
	binary.LittleEndian.PutUint32(b[len(b)-4:], math.MaxUint32)
	if n := testing.AllocsPerRun(10, func() {
		if _, err := ReadPlan(b, Limits{9, math.MaxInt, 12}); err == nil {
			t.Fatal("four billion names were read")
		}
	}); n > 10 {
		t.Errorf("%g allocations", n)
	}
}

// Bytes that Read accepts are those that writing the message gives.
//
//abuse:case P01 one encoding for one value, no panic, memory in proportion
func FuzzRead(f *testing.F) {
	for _, c := range codecs {
		f.Add(c.write(c.fixed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for kind, c := range codecs {
			memory.Bound(t, len(b), func() { c.read(b, limits) })
			m, err := c.read(b, limits)
			if err != nil {
				continue
			}
			if kindOf(b) != kind {
				t.Errorf("bytes of kind %q were read as a %s", kindOf(b), kind)
			}
			if again := c.write(m); !bytes.Equal(again, b) {
				t.Errorf("%s: %x was read, and written as %x", kind, b, again)
			}
		}
	})
}

func kindOf(b []byte) Kind {
	if len(b) < headSize || b[0] != Version || names[Kind(b[1])] == "" {
		return 0
	}
	return Kind(b[1])
}
