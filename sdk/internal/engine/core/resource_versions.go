package core

import "strconv"

// NumberOf returns a resourceVersion as a number; 0 if it is not a number.
func NumberOf(resourceVersion string) uint64 {
	number, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}
