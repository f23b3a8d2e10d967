package object

import "strconv"

// Older reports whether resourceVersion a is older than b, of the same object. If they are
// not numbers, a is older unless they are equal.
func Older(a, b string) bool {
	if a == b {
		return false
	}
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX != nil || errY != nil {
		return true
	}
	return x < y
}

// Precedes reports whether resourceVersion a is certainly older than b, of the same object. It is false
// if they are not numbers.
func Precedes(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
