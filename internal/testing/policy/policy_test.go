// Package policy contains tests of the repository's source. They check rules that the compiler
// does not check.
package policy

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A file is a Go file of the repository. Only its imports are parsed.
type file struct {
	path    string // path relative to the root of the repository
	folder  string
	test    bool
	imports []string
	doc     string // package comment
}

func files(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	var all []file
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != root {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(rel), test: strings.HasSuffix(name, "_test.go"), doc: parsed.Doc.Text()}
		f.folder = path.Dir(f.path)
		for _, i := range parsed.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imported)
		}
		all = append(all, f)
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("no source was read: %v", err)
	}
	return all
}

// floors lists the packages in layers, beginning with the lowest. A package may import only
// packages of lower layers. TestImportsRunDownward checks this, with a few exceptions for test
// files.
var floors = [][]string{
	{"gpu/cuda/driver/header", "internal/calendar", "internal/guard", "internal/prose", "internal/table", "internal/testing/memory", "internal/testing/manual", "internal/testing/browser", "internal/testing/postgres"},
	{"gpu/cuda/driver", "gpu/cuda/kernel", "internal/document", "internal/table/arrowdata", "internal/quadrature", "internal/special", "pvi/model/ir", "pvi/program/syntax", "internal/testing/canary", "internal/testing/mistakes", "internal/audit", "internal/cli", "internal/durable", "internal/testing/linestudy", "internal/math32"},
	{"accountant", "gpu/cuda/emulator", "internal/table/origin", "pvi/gaussian", "pvi/formula", "internal/audit/collector", "internal/testing/auditlog", "internal/testing/formulas"},
	{"dpmech/internal/stream", "internal/table/sqldata"},
	{"dpmech"},
	{"pvi/model/tape"},
	{"dpmech/seeded", "internal/testing/geometric", "pvi/study", "pvi/model", "pvi/onestep", "pvi/population", "pvi/hierarchy"},
	{"internal/testing/noise", "internal/testing/programs", "internal/testing/scalestudy"},
	{"gpu"},
	{"gpu/cuda"},
	{"gpu/device", "gpu/vae"},
	{"pvi/shard", "pvi/program", "pvi/describe"},
	{"pvi/solver"},
	{"pvi/ep"},
	{"internal/speed", "pvi/fit"},
	{"pvi/scoring"},
	{"pvi/lambda", "pvi/phase"},
	{"pvi/scale", "pvi/lastround", "pvi/method"},
	{"pvi/method/steps"},
	{"pvi/method/change", "pvi/method/clientscores", "pvi/method/descent", "pvi/method/gradientsum", "pvi/method/parts", "pvi/method/plain", "pvi/method/scores", "pvi/method/sites", "pvi/method/statistics", "pvi/method/tables"},
	{"pvi"},
	{"pvi/wire", "pvi/words"},
	{"pvi/session"},
	{"pvi/page"},
	{"internal/private", "crypto/internal/wire", "crypto/secret"},
	{"crypto/keyfile", "internal/web"},
	{"crypto/identity", "crypto/seal"},
	{"crypto/signed"},
	{"crypto/channel", "crypto/invitation", "crypto/roster"},
	{"crypto/transcript", "crypto/sums/field"},
	{"crypto/sums/packed"},
	{"crypto/sums"},
	{"crypto"},
	{"transport/internal/wirepb"},
	{"transport", "transport/membership"},
	{"sim/chain"},
	{"sim", "sim/calculator"},
	{"sim/audit", "sim/subprocess", "sim/baseline", "sim/autoencoder", "sim/draft"},
	{"sim/report"},
	{"sim/sweep", "sim/tune", "sim/truth"},
	{"client/ledger", "coordinator/store", "coordinator/bundle"},
	{"coordinator", "client"},
	{"coordinator/admin", "client/pages"},
	{"coordinator/pages"},
	{"coordinator/daemon"},
	{"cmd/sim", "cmd/coordinator", "cmd/client"},
	{"examples/extend"},
	{"tools/plant/planted", "tools/plant/overlay", "tools/demonet/seen"},
	{"internal/testing/abuse", "internal/testing/chaos", "tools/plant", "internal/testing/policy", "tools/demonet", "tools/load", "tools/dist", "tools/pages", "tools/protogen"},
}

func floorOf(folder string) int {
	return slices.IndexFunc(floors, func(rooms []string) bool { return slices.Contains(rooms, folder) })
}

func TestImportsRunDownward(t *testing.T) {
	for _, f := range files(t) {
		own := floorOf(f.folder)
		if own < 0 {
			t.Errorf("%s: its folder is on no floor of the house", f.path)
			continue
		}
		for _, i := range f.imports {
			room, ok := strings.CutPrefix(i, "fedpvi/")
			if !ok || f.test && room == f.folder {
				continue
			}
			// Test files may also import the random source with a seed, the geometric noise and the
			// test programs.
			if f.test && (room == "dpmech/seeded" || room == "internal/testing/geometric" || room == "internal/testing/programs") {
				continue
			}
			// Tests of the client run a coordinator.
			if f.test && f.folder == "client" && room == "coordinator" {
				continue
			}
			// Tests of tables register the reader of databases.
			if f.test && f.folder == "internal/table/origin" && room == "internal/table/sqldata" {
				continue
			}
			if floorOf(room) >= own {
				t.Errorf("%s imports %s, which is not below it", f.path, room)
			}
		}
	}
}

// The test checks that the daemons' programs do not link the autoencoder, test code or tools,
// because a hospital should run only code that a study needs. The test follows the imports of all
// files that are not tests, whatever their build tags.
func TestDaemonsReachNoAutoencoderAndNoTools(t *testing.T) {
	imports := map[string][]string{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		for _, i := range f.imports {
			if room, ok := strings.CutPrefix(i, "fedpvi/"); ok {
				imports[f.folder] = append(imports[f.folder], room)
			}
		}
	}
	reach := func(program string) (reached []string) {
		reached = []string{program}
		for next := 0; next < len(reached); next++ {
			for _, room := range imports[reached[next]] {
				if !slices.Contains(reached, room) {
					reached = append(reached, room)
				}
			}
		}
		return reached
	}
	kept := regexp.MustCompile(`^(gpu/vae|sim|internal/testing|tools)(/|$)`)
	for _, program := range []string{"cmd/client", "cmd/coordinator"} {
		for _, room := range reach(program) {
			if kept.MatchString(room) {
				t.Errorf("%s reaches %s", program, room)
			}
		}
	}
	if all := reach("cmd/sim"); !slices.Contains(all, "gpu/vae") || !slices.Contains(all, "sim/autoencoder") {
		t.Error("cmd/sim does not reach the autoencoder: the rooms have other names now")
	}
}

// forbidden lists imports that are forbidden. Each entry has the reason and a function that returns
// true for the exempt files.
var forbidden = []struct {
	prefix  string
	allowed func(f file) bool
	why     string
}{
	{
		// Package transport draws random pauses and random numbers for incidents. Program demonet
		// draws the times at which it kills processes.
		"math/rand", func(f file) bool {
			return f.test || f.folder == "internal/testing/formulas" || f.folder == "tools/demonet" || strings.HasPrefix(f.folder, "sim") || f.path == "transport/timing.go" || f.path == "transport/refusal.go"
		},
		"randomness that protects someone comes from dpmech.Stream",
	},
	{
		"crypto/rand", func(f file) bool { return f.path == "dpmech/stream.go" || crypto(f) },
		"one place keys streams from the operating system",
	},
	{
		"fedpvi/dpmech/seeded", func(f file) bool {
			return f.test || f.folder == "internal/testing/noise" || f.folder == "sim" || f.folder == "sim/audit" || f.folder == "sim/baseline" || f.folder == "sim/autoencoder" || f.folder == "tools/demonet/seen"
		},
		"seeded noise protects nobody: it is for simulations and tests",
	},
	{
		// The file public.go generates public numbers, and none of its functions takes or returns a
		// stream. The file plan.go derives keys from streams that are passed to it.
		"fedpvi/dpmech/internal/stream", func(f file) bool {
			return f.path == "dpmech/stream.go" || f.path == "dpmech/public.go" || plan(f) || f.folder == "dpmech/seeded"
		},
		"a function that keys a stream can seed it",
	},
	{
		"os", func(f file) bool {
			return f.test || strings.HasPrefix(f.folder, "sim") || command(f) || f.folder == "internal/testing/browser" || f.folder == "internal/testing/postgres" || strings.HasPrefix(f.folder, "tools/plant") || f.folder == "tools/demonet/seen" ||
				f.folder == "internal/private" || f.folder == "internal/audit" || f.folder == "internal/durable" || f.folder == "tools/protogen" || f.folder == "internal/cli" || f.folder == "internal/table/origin" || f.folder == "internal/table/sqldata" || f.folder == "internal/testing/manual" || f.folder == "internal/testing/mistakes" || coordinator(f) || client(f)
		},
		"the algorithm reads no file and no environment",
	},
	{
		"time", func(f file) bool {
			return f.test || strings.HasPrefix(f.folder, "sim/report") || f.folder == "internal/calendar" || f.folder == "internal/speed" || f.folder == "sim/subprocess" || strings.HasPrefix(f.folder, "internal/audit") || f.folder == "internal/durable" || f.folder == "internal/web" || command(f) || f.folder == "tools/plant" ||
				f.folder == "crypto/channel" || f.folder == "crypto/invitation" || transport(f) || coordinator(f) || client(f)
		},
		"the algorithm knows no clock",
	},
	{
		"net", func(f file) bool {
			return transport(f) || coordinator(f) || command(f) || f.folder == "internal/web" || f.folder == "client/pages" || f.folder == "internal/table/sqldata" || f.folder == "internal/testing/postgres" || strings.HasPrefix(f.folder, "internal/audit") || (client(f) || f.folder == "internal/testing/abuse") && f.test || crypto(f) && (f.test || f.folder == "crypto/channel" || f.folder == "crypto/invitation")
		},
		"one room has sockets for clients, another one for orders, another one for pages, and commands read addresses and serve figures; crypto reads them and tests its connections",
	},
	{
		"google.golang.org", func(f file) bool {
			return transport(f) || f.folder == "internal/audit/collector" && f.test || f.folder == "tools/protogen" || f.folder == "internal/testing/abuse" && f.test
		},
		"one package defines the bytes on the wire",
	},
	{
		"google.golang.org/grpc/encoding", func(file) bool { return false },
		"a message that unpacks to more than came is a way to fill a memory",
	},
	{
		"github.com/hashicorp", func(f file) bool { return f.folder == "transport/membership" },
		"gossip is a hint, in one place",
	},
	{
		"log", func(f file) bool {
			return command(f) || client(f) || crypto(f) || transport(f) || coordinator(f) || strings.HasPrefix(f.folder, "internal/audit") || f.folder == "internal/testing/canary" || f.folder == "internal/testing/abuse" && f.test ||
				f.path == "sim/audit/outcomes.go" || f.folder == "tools/plant/planted" // planted faults write to the log of the program, and outcomes.go reads it
		},
		"logs leave the machine; crypto defines the logged form of its values",
	},
	{
		"fedpvi/transport/membership", func(f file) bool {
			return f.folder == "coordinator" || f.folder == "coordinator/daemon" || f.folder == "client" || strings.HasPrefix(f.folder, "cmd/")
		},
		"a hint is for the daemons, to show to people and to wake up by",
	},
	{
		"go.opentelemetry.io", func(f file) bool {
			return f.folder == "coordinator/daemon" || f.path == "cmd/coordinator/traces.go" || f.folder == "internal/audit/collector"
		},
		"traces and the audit log leave the machine: one package decides their content, and a client, whose times depend on its records, has no traces",
	},
	{
		"github.com/jackc", func(f file) bool { return f.folder == "internal/table/sqldata" },
		"one package reads databases",
	},
	{
		"fedpvi/internal/table/arrowdata", func(f file) bool { return f.folder == "cmd/client" || f.test },
		"the decoder of Arrow takes long to compile, and the client alone needs it",
	},
	{
		"modernc.org/sqlite", func(f file) bool { return f.folder == "internal/table/sqldata" || f.test },
		"one package reads databases",
	},
	{
		"fedpvi/internal/table/sqldata", func(f file) bool { return f.folder == "cmd/client" || f.test },
		"drivers of databases take long to compile, and the client alone needs them",
	},
	{
		"fedpvi/internal/table/origin", func(f file) bool { return !coordinator(f) },
		"the coordinator has no records",
	},
	{
		"filippo.io", func(f file) bool { return f.folder == "crypto/seal" || f.folder == "crypto/keyfile" },
		"one package seals messages and state, and one protects key files",
	},
	{
		"fedpvi/pvi", func(f file) bool { return !crypto(f) },
		"crypto signs and seals bytes without their meaning",
	},
	{
		"fedpvi/accountant", func(f file) bool { return !crypto(f) },
		"crypto signs and seals bytes without their cost",
	},
	{
		"fedpvi/dpmech", func(f file) bool { return !crypto(f) },
		"crypto has its randomness from the operating system alone",
	},
	{
		"fedpvi/tools/demonet/seen", func(f file) bool { return f.folder == "tools/demonet" },
		"nothing that is shipped writes what it does",
	},
	{
		"fedpvi/tools/plant/planted", func(f file) bool { return f.folder == "tools/plant" },
		"nothing that is shipped has a fault to be switched on",
	},
	{
		"os/exec", func(f file) bool {
			return tool(f) || f.folder == "internal/testing/browser" || f.folder == "internal/testing/postgres" || f.folder == "sim/subprocess" || f.folder == "examples/extend" && f.test || strings.HasPrefix(f.folder, "tools/plant") || f.folder == "tools/protogen" || (f.folder == "internal/cli" || f.folder == "internal/audit" || f.folder == "internal/web" || f.folder == "internal/table/origin" || f.folder == "cmd/client" || strings.HasPrefix(f.folder, "gpu/cuda/")) && f.test
		},
		"no program starts another one, except a solver that a simulation names in Go: no name reaches a shell",
	},
	{
		"gorgonia.org", func(f file) bool { return f.folder == "gpu/cuda/driver" },
		"one package calls the CUDA driver, and only behind its build tag",
	},
	{
		"encoding/gob", func(f file) bool { return f.folder == "internal/testing/canary" },
		"foreign data is read by parsers of its format, never into a type that it names",
	},
	{
		"plugin", func(file) bool { return false },
		"no code travels",
	},
	{
		// The disk test in package chaos uses a hook that bbolt has for its own tests.
		"unsafe", func(f file) bool {
			return strings.HasSuffix(f.path, ".pb.go") || f.path == "internal/testing/chaos/disk_test.go" || strings.HasPrefix(f.folder, "gpu/cuda/")
		},
		"only code that calls C needs it; generated code uses it",
	},
}

// plan reports whether a file defines the plans of sampled mechanisms.
func plan(f file) bool {
	return slices.Contains([]string{"dpmech/plan.go", "dpmech/plan_words.go", "dpmech/plan_normal.go"}, f.path)
}

func client(f file) bool { return f.folder == "client" || strings.HasPrefix(f.folder, "client/") }

func transport(f file) bool {
	return f.folder == "transport" || strings.HasPrefix(f.folder, "transport/")
}

// tool reports whether a file belongs to a program for developers.
func tool(f file) bool {
	return slices.Contains([]string{"tools/demonet", "tools/load", "tools/dist", "tools/pages"}, f.folder)
}

// command reports whether a file belongs to a program for users.
func command(f file) bool {
	return strings.HasPrefix(f.folder, "cmd/") || tool(f)
}

func coordinator(f file) bool {
	return f.folder == "coordinator" || strings.HasPrefix(f.folder, "coordinator/")
}

func crypto(f file) bool { return f.folder == "crypto" || strings.HasPrefix(f.folder, "crypto/") }

// The test checks that no file has a forbidden import, unless the file is exempt.
//
//abuse:case P01 no serialisation of types by reflection
//abuse:case P07 no daemon starts a process, except an age plugin that its operator names
//abuse:case P15 no predictable source of randomness where it protects
func TestForbiddenImports(t *testing.T) {
	for _, f := range files(t) {
		for _, i := range f.imports {
			for _, rule := range forbidden {
				if (i == rule.prefix || strings.HasPrefix(i, rule.prefix+"/")) && !rule.allowed(f) {
					t.Errorf("%s imports %s: %s", f.path, i, rule.why)
				}
			}
		}
	}
}

// The test checks that every package has exactly one package comment.
func TestEveryPackageHasOneDoc(t *testing.T) {
	docs := map[string][]string{}
	for _, f := range files(t) {
		if _, ok := docs[f.folder]; !ok {
			docs[f.folder] = nil
		}
		if f.doc != "" {
			docs[f.folder] = append(docs[f.folder], f.path)
		}
	}
	for folder, at := range docs {
		if len(at) != 1 {
			t.Errorf("package %s is documented in %d files: %v", folder, len(at), at)
		}
	}
}

// The test checks that no source file contains an escape character. Programs therefore print no
// colors and no other escape sequences, whether or not NO_COLOR is set.
func TestProgramsPrintNoEscapeSequences(t *testing.T) {
	escape := regexp.MustCompile(`(?i)\\x1b|\\033|\\u001b|\\e\[|\x1b`)
	for _, f := range files(t) {
		if f.test || strings.HasSuffix(f.path, ".pb.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		if at := escape.FindIndex(text); at != nil {
			t.Errorf("%s has an escape sequence at byte %d", f.path, at[0])
		}
	}
}

// The test checks that go.mod has no replace directive. With such a directive the build would use
// code that go.sum does not name.
func TestNoReplace(t *testing.T) {
	for _, name := range []string{"go.mod", "tools/protogen/go.mod"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "replace ") {
			t.Errorf("%s has a replace directive", name)
		}
	}
}
