package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/crypto/identity"
	"fedpvi/internal/cli"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

type invitationFlags struct {
	Valid time.Duration `help:"How long the invitations are valid." default:"336h" placeholder:"TIME"`
	Out   string        `help:"Folder for the invitations. Default: invitations/STUDY in the state directory." type:"path" placeholder:"DIR"`
}

func (f invitationFlags) Validate() error {
	if f.Valid < time.Minute {
		return fmt.Errorf("--valid %v: give at least a minute", f.Valid)
	}
	return nil
}

type initCommand struct {
	File    string   `arg:"" name:"study" help:"Study file." type:"existingfile"`
	Clients []string `help:"Names of the clients to invite, in lower case, separated by commas." placeholder:"NAME,..."`
	Address []string `help:"Address where clients reach this coordinator, host:port. May be repeated; clients try the first one first." required:"" placeholder:"HOST:PORT" sep:"none"`
	Name    string   `help:"Name of the coordinator in the study." default:"coordinator"`
	invitationFlags
	jsonFlag
}

func (initCommand) Help() string {
	return `Examples:

  coordinator init study.toml --clients north,south,west --address stats.example.org:7443
  coordinator init study.toml --clients north --address 192.0.2.7:7443 --valid 48h --out invitations

Each invitation is one line in a file of its own, for one client. Whoever has it can join once
under that client's name: send it over a channel that you trust.`
}

func (c *initCommand) Validate() error {
	for _, a := range c.Address {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return fmt.Errorf("--address %s: give the host:port at which clients reach this coordinator", a)
		}
	}
	return c.invitationFlags.Validate()
}

func (c *initCommand) Run(e *environment) (err error) {
	document, err := readStudy(c.File)
	if err != nil {
		return err
	}
	name, err := identity.ParseName(c.Name)
	if err != nil {
		return fmt.Errorf("--name %s: %w", c.Name, err)
	}
	clients, err := parseNames(c.Clients)
	if err != nil {
		return err
	}
	// Check the document first, so that an invalid study leaves neither a state directory nor a
	// folder behind.
	st, err := study.Parse(c.File, document)
	if err != nil {
		return err
	}
	api, done, err := e.api()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	folder := c.folder(e, st.Name)
	if err := writable(folder); err != nil {
		return err
	}
	founded, err := api.Found(e.ctx, admin.Founding{
		File: c.File, Document: document, Name: name, Addresses: c.Address, Clients: clients, Valid: c.Valid,
	})
	if err != nil {
		return err
	}
	files, err := writeInvitations(folder, founded.Invited)
	if err != nil {
		return fmt.Errorf("%w: the study was added, but its invitations could not be written; make new ones with %s", err, e.next("invite "+strings.Join(c.Clients, " ")))
	}
	if c.JSON {
		return cli.PrintJSON(struct {
			Study       string `json:"study"`
			Digest      string `json:"digest"`
			Coordinator string `json:"coordinator"`
			Invited     []file `json:"invited"`
		}{founded.Study, founded.Digest, founded.Coordinator.String(), files})
	}
	if st.Federation.Aggregation == study.ByCoordinator {
		fmt.Printf("%s\n", words.Wrap(words.CoordinatorReads))
	}
	fmt.Printf("Study %s\n\n  digest       %s\n  coordinator  %v\n\n", founded.Study, founded.Digest, founded.Coordinator)
	if err := printInvitations(os.Stdout, files); err != nil {
		return err
	}
	fmt.Printf("\nNext: %s\n", e.next("serve"))
	return nil
}

// readStudy reads a study document, and the file with its program if there is one.
func readStudy(file string) ([]byte, error) {
	document, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return study.Attach(file, document, os.ReadFile)
}

func parseNames(texts []string) ([]identity.Name, error) {
	var names []identity.Name
	for _, text := range texts {
		name, err := identity.ParseName(text)
		if err != nil {
			return nil, fmt.Errorf("client %q: %w", text, err)
		}
		names = append(names, name)
	}
	return names, nil
}

func (f invitationFlags) folder(e *environment, study string) string {
	if f.Out != "" {
		return f.Out
	}
	return filepath.Join(e.state, "invitations", study)
}

// A file describes an invitation file written by writeInvitations.
type file struct {
	Client  identity.Name `json:"client"`
	File    string        `json:"file"`
	Expires time.Time     `json:"expires"`
}

// writable creates the folder for invitations. It checks that files can be created in it.
func writable(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return fmt.Errorf("folder for the invitations: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeInvitations writes each invitation to a file that only its owner can read. Older invitations
// of the same clients are replaced.
func writeInvitations(dir string, invited []coordinator.Invited) ([]file, error) {
	if len(invited) == 0 {
		return []file{}, nil
	}
	var files []file
	for _, i := range invited {
		path := filepath.Join(dir, string(i.Name)+".invitation")
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = io.WriteString(f, i.Text+"\n")
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		files = append(files, file{i.Name, path, i.Expires})
	}
	return files, nil
}

func printInvitations(w io.Writer, files []file) error {
	if len(files) == 0 {
		fmt.Fprintln(w, "No client is invited yet: run coordinator invite NAME")
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CLIENT\tINVITATION, FOR THAT CLIENT ONLY\tEXPIRES")
	for _, f := range files {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Client, fromHere(f.File), f.Expires.Local().Format("2006-01-02 15:04"))
	}
	return t.Flush()
}

// fromHere returns a path relative to the working directory if the file is in that directory.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

type inviteCommand struct {
	Names []string `arg:"" name:"name" help:"Names of the clients, in lower case."`
	Study string   `help:"Name of the study, or the first digits of its digest. Default: the only one." placeholder:"STUDY"`
	invitationFlags
	jsonFlag
}

func (inviteCommand) Help() string {
	return `Examples:

  coordinator invite east
  coordinator invite north        a new invitation; the previous one becomes invalid`
}

func (c *inviteCommand) Run(e *environment) error {
	names, err := parseNames(c.Names)
	if err != nil {
		return err
	}
	return e.with(func(api admin.API) error {
		study, err := e.one(api, c.Study)
		if err != nil {
			return err
		}
		if err := writable(c.folder(e, study.Study)); err != nil {
			return err
		}
		invited, err := api.Invite(e.ctx, admin.Invitation{Study: study.Digest, Clients: names, Valid: c.Valid})
		if err != nil {
			return err
		}
		files, err := writeInvitations(c.folder(e, study.Study), invited)
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(map[string]any{"invited": files})
		}
		return printInvitations(os.Stdout, files)
	})
}
