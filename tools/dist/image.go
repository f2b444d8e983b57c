package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// These are media types and field names from the OCI image specification, version 1.1. An image has
// one program, a folder for its state, a user ID, and nothing else.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// nobody is the user that runs the program. It is a number because the image has no file with user
// names.
const nobody = 65532

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        *descriptor  `json:"config,omitempty"`
	Layers        []descriptor `json:"layers,omitempty"`
	Manifests     []descriptor `json:"manifests,omitempty"`
}

type config struct {
	Created time.Time `json:"created"`
	platform
	Config struct {
		User       string            `json:"User"`
		Env        []string          `json:"Env"`
		Entrypoint []string          `json:"Entrypoint"`
		Volumes    map[string]empty  `json:"Volumes"`
		WorkingDir string            `json:"WorkingDir"`
		StopSignal string            `json:"StopSignal"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

type empty struct{}

// stateOf maps each daemon to the environment variable that sets its state directory.
var stateOf = map[string]string{"client": "FEDPVI_STATE", "coordinator": "FEDPVI_COORDINATOR_STATE"}

// volume is the folder for the state directory. Only the daemon may read it.
const volume = "/var/lib/fedpvi"

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func (r release) image(program, name string, t target) error {
	b, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	packed, err := r.oci(b, name, t.processor)
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(name, t, ".oci.tar"), packed, 0o644)
}

// oci returns an image with one program, in the layout that the OCI specification defines.
func (r release) oci(program []byte, name, machine string) ([]byte, error) {
	files, err := pack(r.date, []entry{
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/" + name, mode: 0o755, body: program},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: volume[1:] + "/", mode: 0o700, owner: nobody},
	})
	if err != nil {
		return nil, err
	}
	layer, err := squeeze(files)
	if err != nil {
		return nil, err
	}
	blobs := map[string][]byte{}
	var order []string
	add := func(kind string, b []byte) descriptor {
		d := digest(b)
		blobs[d], order = b, append(order, d)
		return descriptor{MediaType: kind, Digest: d, Size: len(b)}
	}
	c := config{Created: r.date, platform: platform{machine, "linux"}}
	c.Config.User, c.Config.WorkingDir, c.Config.StopSignal = fmt.Sprintf("%d:%d", nobody, nobody), "/", "SIGTERM"
	c.Config.Entrypoint = []string{"/usr/bin/" + name}
	c.Config.Env = []string{"PATH=/usr/bin", stateOf[name] + "=" + volume + "/state"}
	c.Config.Volumes = map[string]empty{volume: {}}
	c.Config.Labels = map[string]string{"org.opencontainers.image.title": "fedpvi " + name, "org.opencontainers.image.version": r.version}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{digest(files)}
	asJSON := func(v any) []byte {
		b, failure := json.Marshal(v)
		err = errors.Join(err, failure)
		return b
	}
	ofConfig := add(typeConfig, asJSON(c))
	m := manifest{SchemaVersion: 2, MediaType: typeManifest, Config: &ofConfig, Layers: []descriptor{add(typeLayer, layer)}}
	ofImage := add(typeManifest, asJSON(m))
	ofImage.Platform = &platform{machine, "linux"}
	ofImage.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	entries := []entry{
		{name: "oci-layout", mode: 0o644, body: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, body: asJSON(manifest{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{ofImage}})},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}
	for _, d := range order {
		entries = append(entries, entry{name: "blobs/sha256/" + d[len("sha256:"):], mode: 0o644, body: blobs[d]})
	}
	if err != nil {
		return nil, err
	}
	return pack(r.date, entries)
}
