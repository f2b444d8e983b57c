//go:build unix

package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite"

	"fedpvi/internal/testing/postgres"
)

type visit struct {
	Age  float64 `parquet:"age"`
	Ward string  `parquet:"ward"`
	Stay int64   `parquet:"stay"`
}

const visits = `
[study]
version = 2
name = "stays"
[[column]]
name = "age"
type = "numeric"
bounds = [0, 110]
[[column]]
name = "ward"
type = "categorical"
levels = ["surgery", "medicine"]
[[column]]
name = "stay"
type = "numeric"
bounds = [0, 30]
[model]
family = "poisson"
outcome = "stay"
terms = ["age", "ward"]
[prior]
sd = 1.0
[inference]
rounds = 3
[privacy]
unit = "none"
[federation]
min_clients = 3
`

func visitsOf(client int) (all []visit) {
	for i := range 40 {
		all = append(all, visit{18 + float64((7*i+13*client)%70) + .1*float64(i%10), []string{"surgery", "medicine"}[i%2], int64((3*i + client) % 9)})
	}
	return all
}

// A store writes a client's records in one format. path lacks the file extension, which the store
// adds. It returns the flags with which the client reads the records.
type store func(t *testing.T, path string, records []visit) []string

// csvText returns records as CSV. The study does not declare the column "number".
func csvText(records []visit) []byte {
	var b bytes.Buffer
	b.WriteString("number,age,ward,stay\n")
	for i, v := range records {
		fmt.Fprintf(&b, "%d,%v,%s,%d\n", i, v.Age, v.Ward, v.Stay)
	}
	return b.Bytes()
}

func asCSV(t *testing.T, path string, records []visit) []string {
	check(t, os.WriteFile(path+".csv", csvText(records), 0o600))
	return []string{"--data", path + ".csv"}
}

func asParquet(t *testing.T, path string, records []visit) []string {
	check(t, parquet.WriteFile(path+".parquet", records))
	return []string{"--data", path + ".parquet"}
}

func asArrow(t *testing.T, path string, records []visit) []string {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "age", Type: arrow.PrimitiveTypes.Float64}, {Name: "ward", Type: arrow.BinaryTypes.String}, {Name: "stay", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, v := range records {
		b.Field(0).(*array.Float64Builder).Append(v.Age)
		b.Field(1).(*array.StringBuilder).Append(v.Ward)
		b.Field(2).(*array.Int64Builder).Append(v.Stay)
	}
	f, err := os.Create(path + ".arrow")
	check(t, err)
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	check(t, err)
	check(t, w.Write(b.NewRecordBatch()))
	check(t, w.Close())
	return []string{"--data", f.Name()}
}

// query writes a file with an SQL query that selects the records, and returns the flag for this
// file.
func query(t *testing.T, path, order string) []string {
	check(t, os.WriteFile(path+".sql", []byte("select age, ward, stay from visits order by "+order), 0o600))
	return []string{"--query", path + ".sql"}
}

func asSQLite(t *testing.T, path string, records []visit) []string {
	db, err := sql.Open("sqlite", path+".sqlite")
	check(t, err)
	defer db.Close()
	_, err = db.Exec("create table visits (age real, ward text, stay integer)")
	check(t, err)
	for _, v := range records {
		_, err := db.Exec("insert into visits values (?, ?, ?)", v.Age, v.Ward, v.Stay)
		check(t, err)
	}
	return append(query(t, path, "rowid"), "--data", path+".sqlite")
}

func asPostgres(t *testing.T, path string, records []visit) []string {
	server := postgres.Start(t)
	t.Setenv("PGPASSWORD", postgres.Password)
	server.Table("visits", "number int, age float8, ward text, stay int", csvText(records))
	return append(query(t, path, "number"), "--data", server.Address())
}

// Clients that read CSV, Parquet and Arrow files, and SQLite and PostgreSQL databases, must compute
// the same posterior, bit for bit, as clients that read the same records from CSV files.
func TestFormatsHaveOnePosterior(t *testing.T) {
	programs := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", programs, "fedpvi/cmd/client", "fedpvi/cmd/coordinator")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	want := federate(t, programs, asCSV, asCSV, asCSV)
	for name, stores := range map[string][3]store{
		"PostgreSQL, Parquet and CSV": {asPostgres, asParquet, asCSV},
		"Arrow, SQLite and Parquet":   {asArrow, asSQLite, asParquet},
	} {
		t.Run(name, func(t *testing.T) {
			if got := federate(t, programs, stores[:]...); got != want {
				t.Errorf("the posterior is\n%s\nand from CSV files\n%s", got, want)
			}
		})
	}
}

// federate runs a federation of processes and returns the posterior. Client i reads the format of
// stores[i].
func federate(t *testing.T, programs string, stores ...store) string {
	t.Helper()
	ctx, records := t.Context(), t.TempDir()
	check(t, os.WriteFile(filepath.Join(records, "study.toml"), []byte(visits), 0o600))
	address, err := freeAddress()
	check(t, err)
	clients := []string{"north", "east", "west"}
	n, err := found(ctx, t.TempDir(), records, clients, programs, address, address)
	check(t, err)
	t.Cleanup(n.stop)
	check(t, n.start(ctx, hub))
	for i, id := range clients {
		flags := stores[i](t, filepath.Join(records, id), visitsOf(i))
		check(t, n.join(ctx, id))
		check(t, n.run(id, "client", append([]string{"--state", n.state(id), "--log", "json", "run"}, flags...)...))
	}
	for _, id := range append([]string{hub}, clients...) {
		if err := n.wait(id); err != nil {
			log, _ := os.ReadFile(n.state(id) + ".log")
			t.Fatalf("%v\n%s", err, log)
		}
	}
	posterior, err := n.command(ctx, hub, "coordinator", "--state", n.state(hub), "posterior", "--csv")
	check(t, err)
	if !strings.Contains(string(posterior), "ward[medicine]") {
		t.Fatalf("this is no posterior:\n%s", posterior)
	}
	return string(posterior)
}
