package settlement

import "testing"

func TestCountObjects_UsesSingularForOne(t *testing.T) {
	for n, want := range map[int]string{0: "0 objects", 1: "1 object", 2: "2 objects"} {
		if got := countObjects(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
