package client_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/client"
	"fedpvi/internal/table/origin"
)

// A seen has everything that others see of a run of the client north: its decrypted answers, the
// number of transcript entries, and its log.
type seen struct {
	Bodies  map[uint64][]byte
	Entries int
	Log     string
}

// seenWith plays a study in which the given lines are appended to north's records. It returns the
// part that others can see, and north's report on reading its file.
func seenWith(t *testing.T, source []byte, lines string) (s seen, report client.Reading, p *holder) {
	t.Helper()
	h, all := federation(t, source, "north", "south")
	p = all[0]
	f, err := os.OpenFile(p.data, os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteString(lines)
	check(t, err)
	check(t, f.Close())
	var log bytes.Buffer
	p.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	h.begin()
	play(t, all)
	s = seen{Bodies: map[uint64][]byte{}, Entries: len(h.items), Log: log.String()}
	for key, body := range h.bodies {
		if key.client == "north" {
			s.Bodies[key.ask] = body
		}
	}
	files, err := filepath.Glob(filepath.Join(p.dir, "studies", "*", client.ReadingFile))
	check(t, err)
	if len(files) != 1 {
		t.Fatalf("%d reports on the records", len(files))
	}
	b, err := os.ReadFile(files[0])
	check(t, err)
	check(t, json.Unmarshal(b, &report))
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the report has mode %v, %v", info.Mode(), err)
	}
	return s, report, p
}

//abuse:case P20 records that do not fit change no byte of an answer, a log or the transcript
func TestOnlyTheHolderLearnsWhatIsLeftOut(t *testing.T) {
	const unfit = "0.5,99\n2,1\nabc,1\n0.5\n,3\n"
	for _, privacy := range []string{recordPrivacy, clientPrivacy} {
		source := planeStudy(privacy, "", "")
		want, before, p := seenWith(t, source, "")
		got, after, q := seenWith(t, source, unfit)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records that do not fit can be seen (-without +with):\n%s", diff)
		}
		if len(want.Bodies) == 0 || want.Log == "" {
			t.Errorf("nothing was compared: %d answers, log %q", len(want.Bodies), want.Log)
		}
		if before.Records != 20 || before.LeftOut() != 0 || before.First != "" {
			t.Errorf("without them the report is %+v", before)
		}
		if after.Records != 20 || after.LeftOut() != 5 || after.Refused != 5 || after.Dropped["x"] != 3 || !strings.Contains(after.First, "records.csv:22: column y") {
			t.Errorf("the report is %+v", after)
		}
		if f := examined(p); !f.OK || !strings.Contains(f.Found, "20 records used, 0 left out") {
			t.Errorf("without them doctor says %+v", f)
		}
		if f := examined(q); f.OK || !strings.Contains(f.Found, "20 records used, 5 left out (x 3, y 1), of them 1 lines") || !strings.Contains(f.Found, "no rule for 5") {
			t.Errorf("doctor says %+v", f)
		}
	}
}

func TestAFileWithoutRecords(t *testing.T) {
	for _, privacy := range []string{recordPrivacy, clientPrivacy} {
		_, all := federation(t, planeStudy(privacy, "", ""), "north", "south")
		check(t, os.WriteFile(all[0].data, []byte("x,y\n"), 0o600))
		if f := examined(all[0]); f.OK || !strings.Contains(f.Found, "only noise") {
			t.Errorf("doctor says %+v", f)
		}
		all[0].hub.begin()
		play(t, all)
		if n := len(all[0].hub.bodies); n != 6 {
			t.Errorf("%d answers", n)
		}
	}
}

func TestDoctorOfManyRecords(t *testing.T) {
	_, all := federation(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	check(t, os.WriteFile(all[0].data, []byte("x,y\n"+strings.Repeat("0.5,1\n", 1001)), 0o600))
	if f := examined(all[0]); f.OK || !strings.Contains(f.Found, "1001 records used") || !strings.Contains(f.Found, "max_records = 1000") {
		t.Errorf("doctor says %+v", f)
	}
}

func examined(p *holder) client.Finding {
	p.t.Helper()
	c := p.open()
	defer c.Close()
	for _, f := range c.Examine(p.t.Context(), client.Examination{Data: origin.Source{From: p.data}, Program: "test"}) {
		if f.Check == "records" {
			return f
		}
	}
	p.t.Fatal("doctor says nothing about the records")
	return client.Finding{}
}
