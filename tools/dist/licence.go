package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A module is a module of the build list, with its licence.
type module struct {
	licence string // SPDX identifier, or several of them joined by AND
	texts   string // all files of the module that state a licence or must accompany it
}

// modules returns the modules that may be part of the programs, by path. It reads the copies that
// the go command keeps.
func modules(ctx context.Context, source string) (map[string]module, error) {
	list, err := output(ctx, source, "go", "list", "-deps", "-json=Module", "./cmd/...")
	if err != nil {
		return nil, err
	}
	all := map[string]module{}
	for d := json.NewDecoder(strings.NewReader(list)); d.More(); {
		var p struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if m := p.Module; m != nil && !m.Main {
			if _, known := all[m.Path]; known {
				continue
			}
			if all[m.Path], err = licensed(m.Dir); err != nil {
				return nil, fmt.Errorf("%s: %w", m.Path, err)
			}
		}
	}
	return all, nil
}

// licenceFile matches the names of files that state a licence or must accompany one.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)`)

// licensed reads the licence of the module in a folder.
func licensed(folder string) (module, error) {
	texts, err := licenceTexts(folder)
	if err != nil {
		return module{}, err
	}
	found := identify(texts)
	if len(found) == 0 {
		return module{}, fmt.Errorf("%s has no licence that dist knows; add it to tools/dist/licence.go", folder)
	}
	return module{strings.Join(found, " AND "), texts}, nil
}

// licenceTexts returns the contents of every file in folder whose name matches licenceFile, and of
// all files in subfolders whose names match.
func licenceTexts(folder string) (string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, f := range files {
		if !licenceFile.MatchString(f.Name()) {
			continue
		}
		err := filepath.WalkDir(filepath.Join(folder, f.Name()), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(append(text, '\n'))
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

// known lists the licences that identify recognises: a sentence from each of them, with single
// spaces, and its SPDX identifier.
var known = []struct{ identifier, sentence string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License, version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	{"OFL-1.1", "SIL OPEN FONT LICENSE Version 1.1"},
	{"CC-BY-4.0", "Creative Commons Attribution 4.0"},
	{"(FTL OR GPL-2.0-or-later)", "your choice of exactly one of the following two licenses: The FreeType License"},
	{"BSD-3-Clause", "Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution"},
}

// identify returns the SPDX identifiers of the licences in a text, in alphabetical order. Of
// the BSD licences, only the one with three clauses has the clause on endorsement.
func identify(text string) []string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\r' || r == '\t' || r == '*' }), " ")
	var found []string
	for _, l := range known {
		if !strings.Contains(text, l.sentence) {
			continue
		}
		if l.identifier == "BSD-3-Clause" && !strings.Contains(text, "endorse or promote") {
			found = append(found, "BSD-2-Clause")
			continue
		}
		found = append(found, l.identifier)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// licences returns the text of the file LICENCES, which has the licences of all modules that may be
// part of the programs.
func (r release) licences() []byte {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(r.modules)) {
		fmt.Fprintf(&b, "%s (%s)\n\n%s\n\n", path, r.modules[path].licence, strings.TrimSpace(r.modules[path].texts))
	}
	return []byte(b.String())
}
