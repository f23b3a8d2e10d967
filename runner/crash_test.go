package runner

import (
	"fmt"
	"testing"
	"time"
)

func TestBackoff_GrowsUpToLimit(t *testing.T) {
	var got []time.Duration
	for n := 1; n <= 7; n++ {
		got = append(got, backoff(n))
	}
	if want := "[1s 2s 4s 8s 16s 30s 30s]"; fmt.Sprint(got) != want {
		t.Errorf("got %v", got)
	}
	if backoff(1000) != maxBackoff {
		t.Error("the backoff overflows")
	}
}
