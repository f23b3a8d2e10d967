package kopftest

import (
	"runtime"
	"strings"
)

// goroutine names the calling goroutine as stacks do: "goroutine 7 ".
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), "[")
	return name
}

// stackOf tells where a goroutine is.
func stackOf(name string) string {
	stacks := make([]byte, 1<<20) // there may be thousands of goroutines: then it may be missing
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.HasPrefix(stack, name) {
			return stack
		}
	}
	return "its stack is not known"
}
