package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// A statement is an in-toto statement, version 1, with SLSA provenance, version 1
// (https://slsa.dev/spec/v1.0/provenance). It has the Go version and the commit. It leaves out the
// build time, so that the same commit gives the same bytes.
type statement struct {
	Type      string     `json:"_type"`
	Subject   []resource `json:"subject"`
	Predicate predicate  `json:"predicate"`
	Kind      string     `json:"predicateType"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type predicate struct {
	Definition struct {
		Type         string            `json:"buildType"`
		Parameters   map[string]string `json:"externalParameters"`
		Dependencies []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	Run struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

func (r release) provenance() error {
	files, err := hashed(r.out)
	if err != nil {
		return err
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", Kind: "https://slsa.dev/provenance/v1", Subject: files}
	d := &s.Predicate.Definition
	d.Type, d.Parameters = "urn:fedpvi:make-dist:v1", map[string]string{"version": r.version}
	d.Dependencies = []resource{
		{URI: "pkg:generic/fedpvi@" + r.version, Digest: map[string]string{"gitCommit": r.commit}},
		{URI: "pkg:golang/std@" + runtime.Version()[len("go"):]},
	}
	s.Predicate.Run.Builder.ID = "urn:fedpvi:tools/dist"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "fedpvi-"+r.version+".intoto.json"), append(text, '\n'), 0o644)
}

// sign writes the signature of a file to a second file, whose name ends in .sig, in the format of
// ssh-keygen -Y. Without a key, it only prints a note.
func sign(ctx context.Context, file, key string) error {
	if key == "" {
		fmt.Fprintln(os.Stderr, "dist: SHA256SUMS is not signed; sign a release with make dist SIGN=KEY, a private SSH key")
		return nil
	}
	c := exec.CommandContext(ctx, "ssh-keygen", "-q", "-Y", "sign", "-n", "fedpvi-release", "-f", key, file)
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("ssh-keygen -Y sign -f %s: %w", key, err)
	}
	return nil
}
