package tui

import (
	"os/exec"
	"testing"
)

func TestEnvironment_ReadsLocaleAndEditor(t *testing.T) {
	for _, test := range []struct {
		variables []string
		want      environment
	}{
		{nil, environment{utf8: true}},
		{[]string{"LANG=de_DE.UTF-8", "EDITOR=vi"}, environment{utf8: true, editor: "vi"}},
		{[]string{"LANG=de_DE.utf8", "EDITOR=vi", "VISUAL=code"}, environment{utf8: true, editor: "code"}},
		{[]string{"EDITOR=vi", "VISUAL=code", "KUBE_EDITOR=nano"}, environment{utf8: true, editor: "nano"}},
		{[]string{"LC_ALL=C", "LANG=C.UTF-8"}, environment{}},
		{[]string{"LC_CTYPE=C.UTF-8", "LANG=C"}, environment{utf8: true}},
	} {
		if got := newEnvironment(test.variables); got != test.want {
			t.Errorf("%v gave %+v", test.variables, got)
		}
	}
}

func TestEnvironment_FallsBackToVi(t *testing.T) {
	installed := func(string) (string, error) { return "/usr/bin/vi", nil }
	missing := func(string) (string, error) { return "", exec.ErrNotFound }
	for _, test := range []struct {
		variables []string
		lookPath  func(string) (string, error)
		want      string
	}{
		{[]string{"HOME=/h"}, installed, "vi"},
		{[]string{"HOME=/h"}, missing, ""},
		{[]string{"EDITOR=nano"}, installed, "nano"},
	} {
		if got := newEnvironment(withEditor(test.variables, test.lookPath)).editor; got != test.want {
			t.Errorf("%v gave %q, want %q", test.variables, got, test.want)
		}
	}
}
