package handlers

import (
	"fmt"
	"path"
	"runtime/debug"
	"strings"
)

// PanicError is the error of a handler that has panicked: an arbitrary error.
type PanicError struct {
	Value any
	Place string // "folder/file.go:12 in package.function" of the user's code; empty if unknown
	Stack []byte // the frames of the user's code, the innermost first
}

// Panicked returns the error of a panic. It must be called by the deferred function that recovers.
func Panicked(value any) *PanicError {
	place, stack := userFrames(string(debug.Stack()))
	return &PanicError{Value: value, Place: place, Stack: []byte(stack)}
}

// Error implements the error interface. It does not include the stack, which is logged.
func (p *PanicError) Error() string {
	if p.Place == "" {
		return fmt.Sprintf("panic: %v", p.Value)
	}
	return fmt.Sprintf("panic: %v at %s", p.Value, p.Place)
}

// Unwrap returns the error that the handler panicked with, or nil. [Decide] ignores it, because
// the handler did not return it on purpose; [errors.Is] and [errors.As] find it.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// sdk begins the names of all functions of the framework.
const sdk = "github.com/kopf-dev/kopf/sdk/"

// frame is one call in a stack.
type frame struct {
	function string // function with its package and arguments
	file     string // file with the line and the offset
}

// name returns the function without its arguments and the path of its package.
func (f frame) name() string {
	name := f.function[strings.LastIndexByte(f.function, '/')+1:]
	if at := strings.LastIndexByte(name, '('); at > 0 && strings.HasSuffix(name, ")") {
		name = name[:at]
	}
	return name
}

// place returns the folder, file and line.
func (f frame) place() string {
	file, _, _ := strings.Cut(f.file, " +0x")
	return path.Join(path.Base(path.Dir(file)), path.Base(file))
}

func (f frame) isFramework() bool {
	return strings.HasPrefix(strings.TrimPrefix(f.function, "created by "), sdk) && !strings.Contains(f.file, "_test.go:")
}

// userFrames returns the place of the user's code that leads to a panic, and the stack from there
// up to the framework. If there is no such code, it returns the whole stack.
func userFrames(stack string) (place, frames string) {
	all := framesOf(stack)
	panicking, library := 0, "\x00" // the folder of Go's own packages
	for i, f := range all {
		if strings.HasPrefix(f.function, "panic(") {
			panicking = i + 1
			if at := strings.Index(f.file, "runtime/panic.go:"); at > 0 {
				library = f.file[:at]
			}
			break
		}
	}
	all = all[panicking:]
	isUsers := func(f frame) bool {
		return !f.isFramework() && !strings.HasPrefix(f.function, "runtime.") && !strings.HasPrefix(f.file, library)
	}
	first := 0
	for first < len(all) && !isUsers(all[first]) {
		first++
	}
	if first == len(all) {
		return "", stack
	}
	end := first + 1
	for end < len(all) && !all[end].isFramework() {
		end++
	}
	var b strings.Builder
	for _, f := range all[first:end] {
		b.WriteString(f.function + "\n\t" + f.file + "\n")
	}
	return all[first].place() + " in " + all[first].name(), b.String()
}

// framesOf parses a stack as [debug.Stack] returns it.
func framesOf(stack string) []frame {
	var frames []frame
	function := ""
	for line := range strings.Lines(stack) {
		line = strings.TrimSuffix(line, "\n")
		if file, ok := strings.CutPrefix(line, "\t"); ok {
			frames = append(frames, frame{function, file})
		}
		function = line
	}
	return frames
}
