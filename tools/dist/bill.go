package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// A bill is a bill of materials in the JSON format of CycloneDX 1.5. It lists the modules in a
// program, according to the program's build information.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Licences   []licence  `json:"licenses,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	Expression string `json:"expression"` // SPDX licence expression
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (r release) bill(program, name string, t target) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(r.billOf(info, name, b), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(name, t, ".cdx.json"), append(text, '\n'), 0o644)
}

func (r release) billOf(info *debug.BuildInfo, name string, program []byte) bill {
	own := component{Type: "application", Ref: info.Path, Name: "fedpvi " + name, Version: r.version}
	own.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(program))}}
	for _, s := range info.Settings {
		own.Properties = append(own.Properties, property{"go:build:" + s.Key, s.Value})
	}
	out := bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{r.date, own}}
	version := strings.TrimPrefix(info.GoVersion, "go")
	out.Components = append(out.Components, component{Type: "library", Ref: "std", Name: "std", Version: version, PURL: "pkg:golang/std@" + version})
	for _, m := range info.Deps {
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
		if l := r.modules[m.Path].licence; l != "" {
			c.Licences = []licence{{l}}
		}
		// A checksum in go.sum is "h1:" followed by a SHA-256 in base64. It is the hash of a list
		// that has the module's files with their hashes. In bills of materials for Go programs, it
		// serves as the hash of the module.
		if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
				c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
			}
		}
		out.Components = append(out.Components, c)
	}
	return out
}
