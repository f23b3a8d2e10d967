package explain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/explain"
)

func TestCutStack_SeparatesStackFromMessage(t *testing.T) {
	for _, test := range []struct {
		message, rest string
		stack         []string
	}{
		{"all is well", "all is well", nil},
		{`panic: oh stack="goroutine 1:\nmain()\n\t/a.go:3\n"`, "panic: oh", []string{"goroutine 1:", "main()", "    /a.go:3"}},
		{`panic: oh stack="one\ntwo" more=1`, "panic: oh more=1", []string{"one", "two"}},
		{`a full stack=yes`, `a full stack=yes`, nil},
		{`unended stack="abc`, `unended stack="abc`, nil},
	} {
		rest, stack := explain.CutStack(test.message)
		if rest != test.rest || cmp.Diff(test.stack, stack) != "" {
			t.Errorf("%q became %q and %q", test.message, rest, stack)
		}
	}
}
