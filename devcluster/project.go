package devcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ProjectOf returns the folder of the project that a folder belongs to: the closest one with a
// go.mod file at or above it, or else the folder itself. Symbolic links are resolved.
func ProjectOf(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, "go.mod")); err == nil && info.Mode().IsRegular() {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// projectName returns the name of a project's first cluster: the name of its folder, with a
// hash of its path if another project has a cluster of that name.
func projectName(project string, known []Info) string {
	if project == "" {
		return DefaultName
	}
	name := slug(filepath.Base(project))
	sum := sha256.Sum256([]byte(project))
	unique := name + "-" + hex.EncodeToString(sum[:])[:6]
	switch i, u := find(known, name), find(known, unique); {
	case i != nil && i.Project == project:
		return name
	case i != nil, u != nil && u.Project == project, slices.Contains(providers, name):
		return unique
	}
	return name
}

// maxSlug leaves room for a hash and a number in the name of a cluster.
const maxSlug = 28

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// slug makes a valid cluster name of a folder's name.
func slug(folder string) string {
	s := strings.Trim(notInName.ReplaceAllString(strings.ToLower(folder), "-"), "-")
	s = strings.Trim(s[:min(len(s), maxSlug)], "-")
	if s == "" {
		return DefaultName
	}
	return s
}

// ofProject returns the project's cluster among the known ones, or nil: the first one that it
// has got, or else any.
func ofProject(project string, known []Info) *Info {
	if i := find(known, projectName(project, known)); i != nil && i.Project == project {
		return i
	}
	if n := slices.IndexFunc(known, func(i Info) bool { return i.Project == project && !i.Ephemeral }); n >= 0 {
		return &known[n]
	}
	return nil
}
