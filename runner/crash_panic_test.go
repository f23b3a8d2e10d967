package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindPanic_ReportsTopmostFrameOfUserCode(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want *Panic
	}{
		"in a goroutine": {
			"starting\npanic: boom\n\ngoroutine 7 [running]:\nexample.com/op/claims.(*T).resize(0x1, {0x2, 0x3})\n\t/home/me/op/claims/claims.go:49 +0x1d\ncreated by example.com/op/claims.Register in goroutine 1\n\t/home/me/op/claims/claims.go:12 +0x2c\n",
			&Panic{Message: "boom", File: "claims/claims.go", Line: 49, Function: "claims.(*T).resize"},
		},
		"with the runtime and a library on top": {
			"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]\n\ngoroutine 1 [running]:\nencoding/json.Marshal(...)\n\t/usr/local/go/src/encoding/json/encode.go:160\nmain.main.func1()\n\t/home/me/op/main.go:9 +0x1\n",
			&Panic{Message: "runtime error: invalid memory address or nil pointer dereference", File: "main.go", Line: 9, Function: "main.main.func1"},
		},
		"of several lines": {
			"panic: one\n\ttwo\nthree\n\ngoroutine 1 [running]:\n",
			&Panic{Message: "one\nthree"},
		},
		"recovered and raised again": {
			"panic: boom [recovered, repanicked]\n\ngoroutine 1 [running]:\nexample.com/op/a.f()\n\t/home/me/op/a/a.go:3 +0x1\n",
			&Panic{Message: "boom", File: "a/a.go", Line: 3, Function: "a.f"},
		},
		"the error of another panic": {
			"panic: panic: boom at a/a.go:3\n\ngoroutine 1 [running]:\n",
			&Panic{Message: "boom at a/a.go:3"},
		},
		"a fatal error": {
			"fatal error: concurrent map writes\n\ngoroutine 5 [running]:\nexample.com/op/a.f(...)\n\t/home/me/op/a/a.go:7\n",
			&Panic{Message: "concurrent map writes", File: "a/a.go", Line: 7, Function: "a.f"},
		},
		"only in other people's code": {
			"panic: deep\n\ngoroutine 1 [running]:\nother.f()\n\t/go/pkg/mod/other/o.go:7 +0x1\n\ngoroutine 2 [select]:\nexample.com/op/a.f()\n\t/home/me/op/a/a.go:7 +0x1\n",
			&Panic{Message: "deep"},
		},
		"none": {"error: no such thing\nexit\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, findPanic(strings.Split(test.text, "\n"), "/home/me/op")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
