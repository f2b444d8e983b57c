package origin_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/internal/table/arrowdata"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/table/sqldata"
)

func init() { origin.Register(arrowdata.Read, sqldata.Read) }

// Python's sqlite3 has made the database. A query must not change it, and no error may contain a
// value.
func TestSQLite(t *testing.T) {
	before := content(t, "patients.sqlite")
	base := file(t, "a base? 100 %.sqlite", before)
	query := func(sql string) origin.Source {
		return origin.Source{From: base, Query: file(t, "query.sql", []byte(sql))}
	}
	byCount(t, query)
	dates, err := days(t, query("select '2020-02-29 23:59:59' as at union all select date(at) from (select born as at from patients where age = 18)"), "at")
	if diff := cmp.Diff([]string{"2020-02-29 23:59:59", "2006-02-28"}, dates); diff != "" || err != nil {
		t.Errorf("dates: %v (-want +got):\n%s", err, diff)
	}
	for _, c := range []struct{ sql, want string }{
		{"select absent from patients", "no such column: absent"},
		{"select * from nobody", "no such table: nobody"},
		{"selct 1", "syntax error"},
		{"delete from patients", "only reads"},
		{"create table more (x)", "only reads"},
		{"select json_extract(site, '$') as site from patients", "run it with sqlite3"},
		{"", "incomplete input"},
	} {
		_, _, err := rows(t, query(c.sql))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "north") {
			t.Errorf("%q: got %v, want %q", c.sql, err, c.want)
		}
	}
	if _, _, err := rows(t, origin.Source{From: base}); err == nil || !strings.Contains(err.Error(), "--query cohort.sql") {
		t.Errorf("without a query: %v", err)
	}
	damaged := append([]byte(nil), before...)
	for i := 4096; i < len(damaged); i++ {
		damaged[i] = 0xa5
	}
	s := query(allByCount)
	s.From = file(t, "damaged.sqlite", damaged)
	if _, _, err := rows(t, s); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged database: %v", err)
	}
	if after, err := os.ReadFile(base); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the database has changed: %v", err)
	}
}
