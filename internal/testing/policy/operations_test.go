package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the root of the repository.
var root = filepath.Join("..", "..", "..")

// source returns the text of a file. path is relative to the root of the repository.
func source(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, after, ok := strings.Cut(page, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("there is no section %q", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// same fails the test unless said and are have the same strings. Order and repetition do not
// matter.
func same(t *testing.T, what string, said, are []string) {
	t.Helper()
	for _, list := range []*[]string{&said, &are} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if len(are) == 0 || !slices.Equal(said, are) {
		t.Errorf("%s: the page has %v, the code %v", what, said, are)
	}
}

var (
	upper = regexp.MustCompile(`([a-z])([A-Z])`)
	flag  = regexp.MustCompile("`--([a-z-]+)`")
)

// flagsOf returns the flags of a command: the exported fields of its struct that have a help text.
func flagsOf(t *testing.T, text, command string) (all []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.TypeSpec)
		if !ok || s.Name.Name != command {
			return true
		}
		for _, f := range s.Type.(*ast.StructType).Fields.List {
			if f.Tag == nil || len(f.Names) == 0 {
				continue
			}
			tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
			name := tag.Get("name")
			if name == "" {
				name = strings.ToLower(upper.ReplaceAllString(f.Names[0].Name, "$1-$2"))
			}
			all = append(all, name)
		}
		return false
	})
	return all
}

func names(text string, pattern *regexp.Regexp) (all []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestOperationsHasTheFlags(t *testing.T) {
	page := section(t, source(t, "docs/use/operations.md"), "Flags")
	serve, run, ok := strings.Cut(page, "Flags of `client run`")
	run, _, _ = strings.Cut(run, "The state directory is")
	if !ok {
		t.Fatal("the page has not both commands")
	}
	same(t, "coordinator serve", names(serve, flag), flagsOf(t, source(t, "cmd/coordinator/serve.go"), "serveCommand"))
	ofRun := flagsOf(t, source(t, "cmd/client/run.go"), "runCommand")
	ofConnection := flagsOf(t, source(t, "cmd/client/connection.go"), "connection")
	same(t, "client run", names(run, flag), append(ofRun, ofConnection...))
}

func TestOperationsHasTheMetrics(t *testing.T) {
	said := names(section(t, source(t, "docs/use/operations.md"), "What to watch"), regexp.MustCompile("`(fedpvi_[a-z_]+)`"))
	var are []string
	hub := source(t, "coordinator/daemon/metrics.go")
	for _, name := range names(hub, regexp.MustCompile(`(?:counters?|histogram)\("([a-z_]+)"`)) {
		are = append(are, "fedpvi_"+name)
	}
	for _, name := range names(hub, regexp.MustCompile(`Name: "([a-z_]+)"`)) {
		are = append(are, "fedpvi_"+name)
	}
	site := source(t, "cmd/client/metrics.go")
	same(t, "metrics", said, append(are, names(site, regexp.MustCompile(`"(fedpvi_client_[a-z_]+)"`))...))
}

func TestOperationsHasTheFiles(t *testing.T) {
	said := names(section(t, source(t, "docs/use/operations.md"), "Files"), regexp.MustCompile("`([a-z-]+\\.(?:key|db|sock|toml|json|url))`"))
	var are []string
	file := regexp.MustCompile(`"([a-z-]+\.(?:key|db|sock|toml|json|url))"`)
	for _, path := range []string{
		"coordinator/keys.go", "coordinator/store/store.go", "coordinator/admin/socket.go",
		"client/ledger/store.go", "client/ledger/files.go", "client/policy.go", "client/reading.go", "internal/web/web.go",
	} {
		are = append(are, names(source(t, path), file)...)
	}
	same(t, "files", said, are)
}

// network matches code that opens a port, connects to an address, or resolves a name.
var network = regexp.MustCompile(`\b(net\.(Listen|ListenConfig|ListenPacket|ListenUDP|ListenTCP|Dial\w*|Lookup\w*|Resolve\w+|Resolver)|tls\.(Dial\w*|Listen|Dialer)|http\.(Get|Post|Head|Client|DefaultClient|DefaultTransport|Transport|ListenAndServe\w*|Server)|pgx\.Connect\w*|memberlist\.Create|otlp\w+\.New|grpc\.(Dial\w*|NewClient|NewServer))\b`)

// No daemon may open a port or connect unless a flag says so. There are two exceptions: a client
// connects to its coordinator, and the coordinator opens a socket in its state directory.
func TestDaemonsUseTheNetworkInKnownPlaces(t *testing.T) {
	var found []string
	ofDaemons := regexp.MustCompile(`^(cmd/(client|coordinator)|client|coordinator|transport|internal/(audit|table|cli|private|durable|web)|crypto|pvi|dpmech|gpu)(/|$)`)
	for _, f := range files(t) {
		if !f.test && ofDaemons.MatchString(f.folder) && network.MatchString(source(t, f.path)) {
			found = append(found, f.path)
		}
	}
	same(t, "files that use the network", []string{
		"cmd/client/metrics.go",                 // --metrics
		"cmd/coordinator/traces.go",             // --traces
		"coordinator/admin/http.go",             // commands, over the socket in the state directory
		"coordinator/admin/socket.go",           // the same
		"coordinator/daemon/notify.go",          // the notification socket of systemd
		"coordinator/daemon/serve.go",           // the port for clients, and the port of --metrics
		"internal/audit/collector/collector.go", // --audit, by OTLP
		"internal/audit/syslog.go",              // --audit, by syslog
		"internal/web/web.go",                   // --web
		"internal/table/sqldata/postgres.go",    // --data with the address of a database
		"transport/client.go",                   // the coordinator
		"transport/membership/gossip.go",        // --gossip
		"transport/proxy.go",                    // the proxy to the coordinator
		"transport/server.go",                   // serves the listener of coordinator/daemon
	}, found)
	for path, flags := range map[string][]string{
		"cmd/coordinator/serve.go": {"Metrics", "Web", "Traces", "Gossip"}, "cmd/coordinator/main.go": {"Audit"}, "cmd/client/run.go": {"Metrics", "Web", "Gossip"}, "cmd/client/main.go": {"Audit"},
	} {
		for _, name := range flags {
			tag := regexp.MustCompile(`(?m)^\s` + name + `\s+\S+\s+(.*)$`).FindStringSubmatch(source(t, path))
			if tag == nil || strings.Contains(tag[1], "default:") {
				t.Errorf("%s: the flag %s has a default: %q", path, name, tag)
			}
		}
	}
}

// A unit must not restart a program after an error that only a person can correct. It must restrict
// the program's rights as listed below, and must not give it access to any other paths or devices.
func TestUnitsFitThePrograms(t *testing.T) {
	for unit, c := range map[string]struct{ command, file, folder, codes string }{
		"fedpvi-coordinator.service": {"serveCommand", "serve.go", "coordinator", "2 3 5"},
		"fedpvi-client.service":      {"runCommand", "run.go", "client", "2 3 4 5 7"},
	} {
		text := source(t, "deploy/systemd/"+unit)
		start := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(text)
		variable := regexp.MustCompile(`(?m)^Environment=(\w+)=`).FindStringSubmatch(text)
		if start == nil || variable == nil {
			t.Fatalf("%s starts nothing", unit)
		}
		all := append(flagsOf(t, source(t, "cmd/"+c.folder+"/"+c.file), c.command), "log")
		for _, f := range names(start[1], regexp.MustCompile(`--([a-z-]+)`)) {
			if !slices.Contains(all, f) {
				t.Errorf("%s: there is no flag --%s", unit, f)
			}
		}
		if !strings.Contains(source(t, "cmd/"+c.folder+"/main.go"), `env:"`+variable[1]+`"`) {
			t.Errorf("%s: nothing reads %s", unit, variable[1])
		}
		if !strings.Contains(text, "\nRestartPreventExitStatus="+c.codes+"\n") {
			t.Errorf("%s: it is started again after codes that only people mend", unit)
		}
		for _, line := range []string{
			"User=fedpvi-" + c.folder, "StateDirectory=fedpvi-" + c.folder, "StateDirectoryMode=0700", "ProtectSystem=strict", "ProtectHome=yes",
			"CapabilityBoundingSet=", "AmbientCapabilities=", "NoNewPrivileges=yes", "PrivateDevices=yes",
		} {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s lacks %s", unit, line)
			}
		}
		if strings.Contains(text, "ReadWritePaths=") || strings.Contains(text, "DeviceAllow=") {
			t.Errorf("%s: more than the state can be written", unit)
		}
	}
}
