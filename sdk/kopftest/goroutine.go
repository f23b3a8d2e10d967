package kopftest

import (
	"regexp"
	"runtime"
	"strings"
)

// goroutine names the calling goroutine as stacks do: "goroutine 7 ".
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), "[")
	return name
}

// stackOf returns the stack of a goroutine.
func stackOf(name string) string {
	stacks := stacksWith(func(stack string) bool { return strings.HasPrefix(stack, name) })
	if len(stacks) == 0 {
		return "its stack is not known"
	}
	return ownFrames(stacks[0])
}

// stacksWith returns the stacks of goroutines that are wanted.
func stacksWith(wanted func(stack string) bool) []string {
	// There may be thousands of goroutines: then some are missing, as is their explanation.
	all := make([]byte, 1<<20)
	var found []string
	for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if wanted(stack) {
			found = append(found, stack)
		}
	}
	return found
}

var (
	// caller is where the framework calls the functions of operators.
	caller = regexp.MustCompile(`(?m)^(created by )?github\.com/kopf-dev/kopf/sdk/(kopf\.call|kopftest\.\(\*(call|DaemonRun\[))`)
	// panicking is where a stack that is taken after a panic leads to the panic.
	panicking = regexp.MustCompile(`(?m)^panic\(.*\n.*\n`)
)

// ownFrames returns the frames of a stack that lie between a panic and the framework's call of the handler.
func ownFrames(stack string) string {
	if at := panicking.FindStringIndex(stack); at != nil {
		stack = stack[at[1]:]
	}
	if at := caller.FindStringIndex(stack); at != nil {
		stack = stack[:at[0]]
	}
	return strings.TrimRight(stack, "\n")
}
