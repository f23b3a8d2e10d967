package core

import (
	"strconv"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// versionNumber returns the resourceVersion of an object as a number; 0 if it is not a number.
func versionNumber(obj *object.Object) uint64 { return NumberOf(obj.ResourceVersion) }

// NumberOf returns a resourceVersion as a number; 0 if it is not a number.
func NumberOf(resourceVersion string) uint64 {
	number, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}
