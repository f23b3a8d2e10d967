package runner

import (
	"strings"
	"testing"
)

func FuzzFindPanic(f *testing.F) {
	for _, text := range []string{
		"panic: x\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/src/op/claims.go:12 +0x1d\n", "fatal error: all goroutines are asleep", "panic: ",
		"panic: a\n\tpanic: b\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\n\t/src/op/a.go:99999999999999999999\n", "goroutine 1\npanic: x\ngoroutine 2\n)(*\n\t/src/op/x.go:1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		p := findPanic(lines, "/src/op")
		if p == nil {
			return
		}
		if p.Line < 0 || p.File == "" && p.Line != 0 {
			t.Errorf("%q: %+v", text, p)
		}
		lastOutput(lines)
	})
}

func FuzzParseBuildErrors(f *testing.F) {
	for _, text := range []string{
		"# example.com/op\nclaims.go:49:3: undefined: x\n\thave int\n\twant string\n", "go: downloading x\ngo: a.mod:3: unknown directive\n", "\tindented\n",
		"C:\\x.go:1:2: message\r\n", "x.go:99999999999999999999: y", ":1: x", " \t ",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range shortenMissingSums(explainMissingSDK(parseBuildErrors(text))) {
			if e.Line < 0 || e.Column < 0 || e.File == "" && e.Line != 0 {
				t.Errorf("%q: %+v", text, e)
			}
			if strings.TrimSpace(text) == "" {
				t.Errorf("%q: %v", text, e)
			}
		}
	})
}
