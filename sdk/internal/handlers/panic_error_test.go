package handlers

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// caught returns the error for the function's panic.
func caught(f func()) (err *PanicError) {
	defer func() { err = Panicked(recover()) }()
	f()
	return nil
}

func explode() {
	var counts map[string]int
	counts["a"]++ //nolint:staticcheck // it panics on purpose
}

func TestPanicError_NamesLineOfUsersCode(t *testing.T) {
	for name, f := range map[string]func(){
		"explode": explode,
		"func":    func() { panic(errors.New("oh")) },
		"less":    func() { slices.SortFunc([]int{2, 1}, less) },
	} {
		err := caught(f)
		place := "handlers/panic_error_test.go:"
		if text := err.Error(); !strings.Contains(text, " at "+place) || !strings.Contains(text, " in handlers.") || !strings.Contains(text, name) {
			t.Errorf("%s: got %s", name, text)
		}
		if first, _, _ := strings.Cut(string(err.Stack), "\n"); !strings.Contains(first, name) {
			t.Errorf("%s: the stack begins elsewhere:\n%s", name, err.Stack)
		}
		if strings.Contains(string(err.Stack), "debug.Stack") || strings.Contains(string(err.Stack), "Panicked") {
			t.Errorf("%s: the stack has more than the user's frames:\n%s", name, err.Stack)
		}
	}
}

func less(int, int) int { panic("cannot compare") }

func TestUserFrames_EndWhereTheFrameworkCalls(t *testing.T) {
	const stack = `goroutine 7 [running]:
runtime/debug.Stack()
	/usr/local/go/src/runtime/debug/stack.go:26 +0x5e
github.com/kopf-dev/kopf/sdk/internal/engine.recoverPanic(0xc0)
	/src/sdk/internal/engine/recover_panic.go:9 +0x3c
panic({0x1?, 0x2?})
	/usr/local/go/src/runtime/panic.go:859 +0x132
github.com/kopf-dev/kopf/sdk/kopf.(*Patch).set(0xc0, {0x1, 0x2})
	/src/sdk/kopf/patch.go:70 +0x1c5
example.com/shop/handlers.(*shop).order(...)
	/home/me/shop/handlers/order.go:42
encoding/json.Marshal({0x1, 0x2})
	/usr/local/go/src/encoding/json/encode.go:100 +0x1
example.com/shop/handlers.create({0x1, 0x2}, 0xc0)
	/home/me/shop/handlers/main.go:12 +0x1c5
github.com/kopf-dev/kopf/sdk/kopf.callChange[...].func1({0x1, 0x2}, 0xc0)
	/src/sdk/kopf/call.go:49 +0x68
created by github.com/kopf-dev/kopf/sdk/internal/queue.(*Queue).start in goroutine 1
	/src/sdk/internal/queue/queue.go:1 +0x1
`
	place, frames := userFrames(stack)
	if want := "handlers/order.go:42 in handlers.(*shop).order"; place != want {
		t.Errorf("got %s, want %s", place, want)
	}
	if strings.Contains(frames, "kopf-dev") || strings.Count(frames, "\n") != 6 {
		t.Errorf("got\n%s", frames)
	}
	if place, frames := userFrames("goroutine 1 [running]:\n" + stack[strings.Index(stack, "created by"):]); place != "" || frames == "" {
		t.Errorf("of the framework: got %s\n%s", place, frames)
	}
}
