package keyfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fedpvi/internal/private"
)

const suffix = ".key"

// Versions returns the paths of all versions of the key file at path, oldest first, for example
// tls.key, tls-2.key and tls-3.key. If a version was destroyed, it is not in the list.
func Versions(path string) (all []string, err error) {
	numbers, err := versions(path)
	for _, n := range numbers {
		all = append(all, numbered(path, n))
	}
	return all, err
}

// Next returns the path for a new version of a key file. Its number is larger than that of any
// existing version.
func Next(path string) (string, error) {
	numbers, err := versions(path)
	if len(numbers) == 0 {
		return numbered(path, 1), err
	}
	return numbered(path, numbers[len(numbers)-1]+1), err
}

func numbered(path string, n int) string {
	if n == 1 {
		return path
	}
	return strings.TrimSuffix(path, suffix) + "-" + strconv.Itoa(n) + suffix
}

func versions(path string) (numbers []int, err error) {
	names, err := private.Names(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("key files: %w", err)
	}
	for _, name := range names {
		if name == filepath.Base(path) {
			numbers = append(numbers, 1)
			continue
		}
		text, ok := strings.CutPrefix(name, strings.TrimSuffix(filepath.Base(path), suffix)+"-")
		if n, err := strconv.Atoi(strings.TrimSuffix(text, suffix)); ok && err == nil && n > 1 && filepath.Base(numbered(path, n)) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}
