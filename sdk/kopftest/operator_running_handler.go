package kopftest

import (
	"runtime"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
)

// whereabouts returns the stack frames of a running handler. If the handler runs for several objects, it returns the frames
// of any of these calls.
func (op *Operator) whereabouts(id string) string {
	if op.registry == nil {
		return "it is in another process"
	}
	var functions []string
	for _, h := range testhooks.HandlersOf(op.registry).All() {
		if h.ID != id {
			continue
		}
		if pc, ok := h.Fn.(uintptr); ok {
			functions = append(functions, strings.TrimSuffix(runtime.FuncForPC(pc).Name(), "-fm")+"(")
		}
	}
	stacks := stacksWith(func(stack string) bool {
		for _, function := range functions {
			if strings.Contains(stack, "\n"+function) {
				return true
			}
		}
		return false
	})
	if len(stacks) == 0 {
		return "it is not known where"
	}
	return ownFrames(stacks[0])
}
