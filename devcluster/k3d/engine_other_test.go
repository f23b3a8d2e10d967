//go:build !linux

package k3d

import (
	"fmt"
	"testing"
)

func runWithEngine(*testing.M) int {
	fmt.Println("e2e-k3d: SKIPPED: the private Docker engine needs Linux")
	return 0
}
