package engine

import (
	"testing"
	"time"
)

func TestShortest_ReturnsLeastDelayIfAny(t *testing.T) {
	if _, ok := shortest(nil); ok {
		t.Error("there is a delay among none")
	}
	if got, ok := shortest([]time.Duration{3, 1, 2}); !ok || got != 1 {
		t.Errorf("got %d, %t", got, ok)
	}
	if got, ok := shortest([]time.Duration{0, 1}); !ok || got != 0 {
		t.Errorf("got %d, %t", got, ok)
	}
}
