package runner

import (
	"strconv"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Applied is an object that was applied and that the operator has to handle.
type Applied struct {
	inspect.Ref

	// Version is the resourceVersion after it was applied. The object counts as handled
	// only at this or a later version.
	Version string
}

// countObjects formats a number of objects: "1 object", "3 objects".
func countObjects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return strconv.Itoa(n) + " objects"
}
