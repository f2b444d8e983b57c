//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/internal/testing/mistakes"
)

// states makes all clients except south join a study. Each client has a state directory with its
// name. states also makes files with faulty invitations. It returns the ports of the study's
// coordinator, of another coordinator, and of one that has stopped.
func states(t *testing.T) (ports []string) {
	t.Helper()
	h, other, gone := startHub(t, "hub"), startHub(t, "other"), startHub(t, "gone")
	t.Cleanup(func() { other.stop(); h.stop() })
	names := []identity.Name{"north", "south", "east", "west", "alps", "coast", "hill", "forest"}
	h.invite(t, names...)
	gone.invite(t, "island")
	epsilon := map[bool]string{true: "1", false: "4"}
	for _, name := range append(names, "island") {
		if name != "south" {
			command.Succeed(t, "--state", string(name), "join", string(name)+".txt", "--epsilon", epsilon[name == "east"])
		}
	}
	command.Succeed(t, "--state", "island", "approve", "--yes", digest(t))
	gone.stop()

	text, err := os.ReadFile("south.txt")
	must(t, err)
	i, err := invitation.Parse(string(text))
	must(t, err)
	late, elsewhere := i, i
	late.Expires = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	elsewhere.Addresses = []string{other.address}
	write(t, "late.txt", []byte(late.Text()))
	write(t, "elsewhere.txt", []byte(elsewhere.Text()))
	write(t, "cut.txt", text[:len(text)-9])
	for _, of := range []*hub{h, other, gone} {
		_, port, err := net.SplitHostPort(of.address)
		must(t, err)
		ports = append(ports, port)
	}
	return ports
}

// damage puts a different mistake into each of several state directories.
func damage(t *testing.T) {
	t.Helper()
	policy, err := os.ReadFile("west/policy.toml")
	must(t, err)
	write(t, "west/policy.toml", append([]byte("minimum_participants = 3\n"), policy...))
	must(t, errors.Join(os.Remove("alps/policy.toml"), os.Chmod("coast", 0o755), os.Truncate("hill/ledger.db", 4096)))
	held, err := client.Open(client.Options{Dir: "forest", Command: "client run", Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
	must(t, err)
	t.Cleanup(func() { held.Close() })
}

func TestMistakesInCommands(t *testing.T) {
	root, err := filepath.Abs(root)
	must(t, err)
	t.Chdir(t.TempDir())
	ports := states(t)
	damage(t)
	write(t, "patients.csv", []byte(patients))
	folder, err := os.Getwd()
	must(t, err)
	c := command
	c.Hide = []string{fmt.Sprintf("process %d", os.Getpid()), "process 4711", ports[0], "7443", ports[1], "7444", ports[2], "7445", digest(t), "DIGEST", folder + "/", ""}
	yes := []string{"approve", "--yes", digest(t)}
	records := []string{"run", "--data", "patients.csv"}
	in := func(state string, args ...string) []string { return append([]string{"--state", state}, args...) }
	c.Check(t, root, "client", []mistakes.Mistake{
		mistakes.Of("a command before joining, or in the wrong directory", in("nowhere", "review"), client.Usage, "client join"),
		mistakes.Of("no file of an invitation", in("new", "join", "nothing.txt"), client.Usage, "no such file"),
		mistakes.Of("an invitation without its end", in("new", "join", "cut.txt"), client.Usage, "not a complete invitation"),
		mistakes.Of("another file in place of an invitation", in("new", "join", "patients.csv"), client.Usage, "not a complete invitation"),
		mistakes.Of("an expired invitation, or a clock that is wrong", in("new", "join", "late.txt"), client.Declined, "ask for a new one"),
		mistakes.Of("an invitation that somebody else has used", in("new", "join", "north.txt"), client.Declined, "ask the coordinator for a new one"),
		mistakes.Of("another coordinator at the address in the invitation", in("new", "join", "elsewhere.txt"), client.Unreachable, "check the address"),
		mistakes.Of("a cap on ε that is negative", in("new", "join", "south.txt", "--epsilon=-1"), client.Usage, "epsilon must be positive"),
		mistakes.Of("a state directory inside a file", in("patients.csv/new", "join", "south.txt"), client.Failed, "not a directory"),
		mistakes.Of("a run before the approval", in("north", records...), client.Declined, "client review"),
		mistakes.Of("an approval without a terminal", in("north", "approve"), client.Usage, "--yes DIGEST"),
		mistakes.Of("an approval of another study", in("north", "approve", "--yes", "0123456789ab"), client.Usage, "client review"),
		mistakes.Of("an approval under a budget that is too small", in("east", yes...), client.OverBudget, "release less"),
		mistakes.Of("a misspelt key in the policy", in("west", yes...), client.Usage, "policy.toml:1"),
		mistakes.Of("a policy that was removed", in("alps", yes...), client.Declined, "client join writes one"),
		mistakes.Of("a state directory that others can read", in("coast", "status"), client.Failed, "chmod"),
		mistakes.Of("a second command while a run has the state directory", in("forest", "status"), client.Failed, "wait for it, or stop it"),
		mistakes.Of("a ledger file that was cut off", in("hill", "ledger"), client.Damaged, "restore the newest copy"),
		mistakes.Of("a study that was not joined", in("north", "--study", "diabetes", "review"), client.Usage, "choose one of"),
		mistakes.Of("a run that cannot reach the coordinator", in("island", append(records, "--patience", "1ns", "--round-deadline", "1s")...), client.Unreachable, "check that the coordinator is running"),
		mistakes.Of("a port that is in use", in("island", append(records, "--metrics", "127.0.0.1:"+ports[0])...), client.Usage, "in use"),
		mistakes.Of("a file for the result that exists", in("island", append(records, "--result", "patients.csv")...), client.Usage, "choose another"),
		mistakes.Of("predictions before the study is over", in("island", "predict", "--data", "patients.csv", "--out", "p.csv"), client.Usage, "not over"),
		mistakes.Of("a report before the study is over", in("island", "report"), client.Usage, "not over"),
		mistakes.Of("another file in place of a ledger", []string{"ledger", "verify", "patients.csv"}, client.Damaged, "not the title of a ledger"),
		mistakes.Of("a separator of two characters", in("island", append(records, "--separator", ";;")...), client.Usage, "give one character"),
		mistakes.Of("a flag that is missing", []string{"run"}, client.Usage, "--data"),
		mistakes.Of("a misspelt flag", append(records, "--separater", ";"), client.Usage, "did you mean"),
		mistakes.Of("a misspelt command", []string{"reviw"}, client.Usage, "did you mean"),
	})
}
