package runner

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestSuggestFolders_NamesSubfoldersWithRegister(t *testing.T) {
	none := "package p\n"
	for name, test := range map[string]struct {
		files map[string]string
		dir   string
		arg   string
		want  string // the error's text; the template if empty
	}{
		"without any files": {
			map[string]string{"handlers/h.go": handlers("h", "")}, "", ".",
			".: no func Register(*kopf.Registry) in this folder, but in folders below it; name the ones to run:\n./handlers",
		},
		"with others": {
			map[string]string{"p.go": none, "b/c/h.go": handlers("h", ""), "a/h.go": handlers("h", ""), "util/u.go": none}, "", "./",
			"./: no func Register(*kopf.Registry) in this folder, but in folders below it; name the ones to run:\n./a ./b/c",
		},
		"from above": {
			map[string]string{"p/p.go": none, "p/a/h.go": handlers("h", "")}, "", "./p",
			"./p: no func Register(*kopf.Registry) in this folder, but in folders below it; name the ones to run:\n./p/a",
		},
		"with many": {
			map[string]string{
				"a/h.go": handlers("h", ""), "b/h.go": handlers("h", ""), "c/h.go": handlers("h", ""), "d/h.go": handlers("h", ""),
				"e/h.go": handlers("h", ""), "f/h.go": handlers("h", ""), "g/h.go": handlers("h", ""),
			}, "", ".",
			".: no func Register(*kopf.Registry) in this folder, but in folders below it; name the ones to run:\n./a ./b ./c ./d ./e (and 2 more)",
		},
		"with none beneath": {map[string]string{"p.go": none, "a/a.go": none}, "", ".", ""},
		"with all beneath":  {map[string]string{"p.go": none}, "", "./...", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, test.files)
			_, err := Load(t.Context(), filepath.Join(dir, test.dir), []string{test.arg})
			if _, ok := errors.AsType[*NoRegisterError](err); !ok {
				t.Fatal(err)
			}
			if want := test.want; want != "" && err.Error() != want || want == "" && !strings.Contains(err.Error(), registerTemplate) {
				t.Errorf("the error is %s", err)
			}
		})
	}
}
