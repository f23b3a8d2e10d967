package inspect

import "testing"

func TestTrusted_SameUserOrRoot(t *testing.T) {
	for _, tt := range []struct {
		peer, own int
		want      bool
	}{{1000, 1000, true}, {0, 1000, true}, {1000, 0, false}, {1001, 1000, false}, {65534, 1000, false}} {
		if got := trusted(tt.peer, tt.own); got != tt.want {
			t.Errorf("%d and %d: %t", tt.peer, tt.own, got)
		}
	}
}
