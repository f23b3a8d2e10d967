package tui

import "testing"

func TestEnvironment_ReadsLocaleAndEditor(t *testing.T) {
	for _, test := range []struct {
		variables []string
		want      environment
	}{
		{nil, environment{utf8: true}},
		{[]string{"LANG=de_DE.UTF-8", "EDITOR=vi"}, environment{utf8: true, editor: "vi"}},
		{[]string{"LANG=de_DE.utf8", "EDITOR=vi", "VISUAL=code"}, environment{utf8: true, editor: "code"}},
		{[]string{"LC_ALL=C", "LANG=C.UTF-8"}, environment{}},
		{[]string{"LC_CTYPE=C.UTF-8", "LANG=C"}, environment{utf8: true}},
	} {
		if got := newEnvironment(test.variables); got != test.want {
			t.Errorf("%v gave %+v", test.variables, got)
		}
	}
}
