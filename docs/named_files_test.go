package docs

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goFile = regexp.MustCompile("`([\\w./-]+\\.go)`")

// Pages about the code name its files. A file of another repository is named by a link.
func TestNamedFiles_Exist(t *testing.T) {
	files := map[string][]string{} // by the last part of their paths
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".go") {
			file = filepath.ToSlash(file)
			files[path.Base(file)] = append(files[path.Base(file)], file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range append(pages, "../CONTRIBUTING.md", "../bench/README.md") {
		for _, m := range goFile.FindAllStringSubmatch(read(t, page), -1) {
			named++
			if !hasFile(files[path.Base(m[1])], m[1]) {
				t.Errorf("%s names %s, but there is no such file", page, m[1])
			}
		}
	}
	if named == 0 {
		t.Error("no page names a file")
	}
}

// hasFile reports whether one of the paths is the name, or ends with it.
func hasFile(paths []string, name string) bool {
	for _, p := range paths {
		if strings.HasSuffix(p, "/"+name) {
			return true
		}
	}
	return false
}
