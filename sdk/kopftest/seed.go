package kopftest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedVar is the environment variable with the seed of a run to replay.
const seedVar = "KOPFTEST_SEED"

// Seed returns the number in the environment variable KOPFTEST_SEED or, if it is not set, a random number. It logs the
// number, so that a failed run can be replayed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(rand.Uint32())
	if text := os.Getenv(seedVar); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("kopftest: %s=%s: want a number without a sign", seedVar, text)
		}
	}
	t.Logf("kopftest: the seed is %d; to replay: %s=%d go test -run '^%s$'", seed, seedVar, seed, t.Name())
	return seed
}
