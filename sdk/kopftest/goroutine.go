package kopftest

import (
	"regexp"
	"runtime"
	"strings"
)

// goroutine returns the name of the calling goroutine in stacks, such as "goroutine 7 ".
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

// stacksWith returns the stacks of the goroutines that a function selects.
func stacksWith(wanted func(stack string) bool) []string {
	// With thousands of goroutines, the buffer does not contain all stacks, and some are missing in the report.
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
	// caller is the frame in which the framework calls the functions of operators.
	caller = regexp.MustCompile(`(?m)^(created by )?github\.com/kopf-dev/kopf/sdk/(kopf\.call|kopftest\.\(\*(call|DaemonRun\[))`)
	// panicking is the frame of the panic, in a stack that is taken after a panic.
	panicking = regexp.MustCompile(`(?m)^panic\(.*\n.*\n`)
)

// ownFrames returns the frames of a stack between the panic and the framework's call of the handler.
func ownFrames(stack string) string {
	if at := panicking.FindStringIndex(stack); at != nil {
		stack = stack[at[1]:]
	}
	if at := caller.FindStringIndex(stack); at != nil {
		stack = stack[:at[0]]
	}
	return strings.TrimRight(stack, "\n")
}
