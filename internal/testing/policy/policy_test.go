// Package policy tests the source of this repository. It checks rules that the compiler does not
// check.
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

// A file is a Go file in the repository. Only its imports are parsed.
type file struct {
	path    string // path relative to the root of the repository
	folder  string
	test    bool
	imports []string
	doc     string // package comment
}

func files(t *testing.T) []file {
	t.Helper()
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

// floors lists the packages in layers, lowest first. A package may import only packages from lower
// layers. There are a few exceptions for test files.
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
			// Test files may also import the seeded random source, the geometric noise and the test
			// programs.
			if f.test && (room == "dpmech/seeded" || room == "internal/testing/geometric" || room == "internal/testing/programs") {
				continue
			}
			// Tests of the client run a coordinator.
			if f.test && f.folder == "client" && room == "coordinator" {
				continue
			}
			// Tests of tables register the database reader.
			if f.test && f.folder == "internal/table/origin" && room == "internal/table/sqldata" {
				continue
			}
			if floorOf(room) >= own {
				t.Errorf("%s imports %s, which is not below it", f.path, room)
			}
		}
	}
}

// A hospital should run only the code that a study needs. The test follows the imports of all files
// except tests, whatever their build tags.
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

// Several rules mention these files, in the form of rule.except.
const (
	tests    = " ..._test.go"
	sims     = " sim/..."
	daemons  = " client/... coordinator/... transport/..."
	tools    = " tools/demonet/* tools/load/* tools/dist/* tools/pages/*" // programs for developers
	commands = " cmd/..." + tools
)

// A rule forbids importing a package or any package below it.
type rule struct {
	prefix string
	why    string
	// except lists files that may have the import. In a pattern, * stands for any text without a
	// slash, and ... for any text at all.
	except string
	only   string // files to which the rule applies, in the same form; if empty, all files
}

var forbidden = []rule{
	{
		// Package transport draws random pauses and random numbers for incidents. Program demonet
		// draws the times at which it kills processes.
		prefix: "math/rand", why: "randomness that protects someone comes from dpmech.Stream",
		except: "internal/testing/formulas/* tools/demonet/* transport/timing.go transport/refusal.go" + sims + tests,
	},
	{
		prefix: "crypto/rand", why: "one place keys streams from the operating system",
		except: "dpmech/stream.go crypto/...",
	},
	{
		prefix: "fedpvi/dpmech/seeded", why: "seeded noise protects nobody: it is for simulations and tests",
		except: "internal/testing/noise/* sim/* sim/audit/* sim/baseline/* sim/autoencoder/* tools/demonet/seen/*" + tests,
	},
	{
		// The file public.go generates public numbers, and none of its functions takes or returns a
		// stream. The files plan*.go derive keys from streams that callers pass to them.
		prefix: "fedpvi/dpmech/internal/stream", why: "a function that keys a stream can seed it",
		except: "dpmech/stream.go dpmech/public.go dpmech/plan.go dpmech/plan_words.go dpmech/plan_normal.go dpmech/seeded/*",
	},
	{
		prefix: "os", why: "the algorithm reads no file and no environment",
		except: "internal/testing/browser/* internal/testing/postgres/* internal/testing/manual/* tools/plant/... tools/demonet/seen/* tools/protogen/* " +
			"internal/private/* internal/audit/* internal/durable/* internal/cli/* internal/table/origin/* internal/table/sqldata/* coordinator/... client/..." + commands + sims + tests,
	},
	{
		prefix: "time", why: "the algorithm knows no clock",
		except: "sim/report/... sim/subprocess/* internal/calendar/* internal/speed/* internal/audit/... internal/durable/* internal/web/* tools/plant/* crypto/channel/* crypto/invitation/*" + daemons + commands + tests,
	},
	{
		prefix: "net", why: "one room has sockets for clients, another one for orders, another one for pages, and commands read addresses and serve figures; crypto reads them and tests its connections",
		except: "transport/... coordinator/... internal/web/* client/pages/* internal/table/sqldata/* internal/testing/postgres/* internal/audit/... crypto/channel/* crypto/invitation/* " +
			"client/..._test.go crypto/..._test.go internal/testing/abuse/*_test.go" + commands,
	},
	{
		prefix: "google.golang.org", why: "one package defines the bytes on the wire",
		except: "transport/... internal/audit/collector/*_test.go tools/protogen/* internal/testing/abuse/*_test.go",
	},
	{prefix: "google.golang.org/grpc/encoding", why: "a message that unpacks to more than came is a way to fill a memory"},
	{prefix: "github.com/hashicorp", why: "gossip is a hint, in one place", except: "transport/membership/*"},
	{
		// Planted faults write to the program's log, and outcomes.go reads it.
		prefix: "log", why: "logs leave the machine; crypto defines the logged form of its values",
		except: "crypto/... internal/audit/... internal/testing/canary/* internal/testing/abuse/*_test.go sim/audit/outcomes.go tools/plant/planted/*" + daemons + commands,
	},
	{
		prefix: "fedpvi/transport/membership", why: "a hint is for the daemons, to show to people and to wake up by",
		except: "coordinator/* coordinator/daemon/* client/* cmd/...",
	},
	{
		prefix: "go.opentelemetry.io", why: "traces and the audit log leave the machine: one package decides their content, and a client, whose times depend on its records, has no traces",
		except: "coordinator/daemon/* cmd/coordinator/traces.go internal/audit/collector/*",
	},
	{prefix: "github.com/jackc", why: "one package reads databases", except: "internal/table/sqldata/*"},
	{
		prefix: "fedpvi/internal/table/arrowdata", why: "the decoder of Arrow takes long to compile, and the client alone needs it",
		except: "cmd/client/*" + tests,
	},
	{prefix: "modernc.org/sqlite", why: "one package reads databases", except: "internal/table/sqldata/*" + tests},
	{
		prefix: "fedpvi/internal/table/sqldata", why: "drivers of databases take long to compile, and the client alone needs them",
		except: "cmd/client/*" + tests,
	},
	{prefix: "fedpvi/internal/table/origin", why: "the coordinator has no records", only: "coordinator/..."},
	{
		prefix: "filippo.io", why: "one package seals messages and state, and one protects key files",
		except: "crypto/seal/* crypto/keyfile/*",
	},
	{prefix: "fedpvi/pvi", why: "crypto signs and seals bytes without their meaning", only: "crypto/..."},
	{prefix: "fedpvi/accountant", why: "crypto signs and seals bytes without their cost", only: "crypto/..."},
	{prefix: "fedpvi/dpmech", why: "crypto has its randomness from the operating system alone", only: "crypto/..."},
	{prefix: "fedpvi/tools/demonet/seen", why: "nothing that is shipped writes what it does", except: "tools/demonet/*"},
	{prefix: "fedpvi/tools/plant/planted", why: "nothing that is shipped has a fault to be switched on", except: "tools/plant/*"},
	{
		prefix: "os/exec", why: "no program starts another one, except a solver that a simulation names in Go: no name reaches a shell",
		except: "internal/testing/browser/* internal/testing/postgres/* sim/subprocess/* tools/plant/... tools/protogen/* examples/extend/*_test.go " +
			"internal/cli/*_test.go internal/audit/*_test.go internal/web/*_test.go internal/table/origin/*_test.go cmd/client/*_test.go gpu/cuda/*/..._test.go" + tools,
	},
	{prefix: "gorgonia.org", why: "one package calls the CUDA driver, and only behind its build tag", except: "gpu/cuda/driver/*"},
	{
		prefix: "encoding/gob", why: "foreign data is read by parsers of its format, never into a type that it names",
		except: "internal/testing/canary/*",
	},
	{prefix: "plugin", why: "no code travels"},
	{
		// The disk test in package chaos uses a hook that bbolt has for its own tests.
		prefix: "unsafe", why: "only code that calls C needs it; generated code uses it",
		except: "....pb.go internal/testing/chaos/disk_test.go gpu/cuda/*/...",
	},
}

// listed reports whether path matches one of the patterns.
func listed(path, patterns string) bool {
	pattern := strings.NewReplacer(`\.\.\.`, ".*", `\*`, "[^/]*")
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
		return regexp.MustCompile("^" + pattern.Replace(regexp.QuoteMeta(p)) + "$").MatchString(path)
	})
}

func (r rule) allows(path string) bool {
	return listed(path, r.except) || r.only != "" && !listed(path, r.only)
}

//abuse:case P01 no serialisation of types by reflection
//abuse:case P07 no daemon starts a process, except an age plugin that its operator names
//abuse:case P15 no predictable source of randomness where it protects
func TestForbiddenImports(t *testing.T) {
	for _, f := range files(t) {
		for _, i := range f.imports {
			for _, rule := range forbidden {
				if (i == rule.prefix || strings.HasPrefix(i, rule.prefix+"/")) && !rule.allows(f.path) {
					t.Errorf("%s imports %s: %s", f.path, i, rule.why)
				}
			}
		}
	}
}

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

// If no source file has an escape character, programs print neither colours nor other escape
// sequences, whether or not NO_COLOR is set.
func TestProgramsPrintNoEscapeSequences(t *testing.T) {
	escape := regexp.MustCompile(`(?i)\\x1b|\\033|\\u001b|\\e\[|\x1b`)
	for _, f := range files(t) {
		if f.test || strings.HasSuffix(f.path, ".pb.go") {
			continue
		}
		if at := escape.FindStringIndex(source(t, f.path)); at != nil {
			t.Errorf("%s has an escape sequence at byte %d", f.path, at[0])
		}
	}
}

// With a replace directive, a build would use code that go.sum does not list.
func TestNoReplace(t *testing.T) {
	for _, name := range []string{"go.mod", "tools/protogen/go.mod"} {
		if strings.Contains(source(t, name), "replace ") {
			t.Errorf("%s has a replace directive", name)
		}
	}
}
