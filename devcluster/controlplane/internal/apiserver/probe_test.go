package apiserver

import (
	"testing"
)

func TestUsable_IgnoresSlowHooks(t *testing.T) {
	for answer, want := range map[string]bool{
		"":                                  false,
		"404 not found":                     false,
		"[+]ping ok\nreadyz check passed\n": true,
		"[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n":                         true,
		"[+]ping ok\n[-]poststarthook/scheduling/bootstrap-system-priority-classes failed: not finished\n":    true,
		"[+]ping ok\n[-]etcd failed: reason withheld\n[-]poststarthook/rbac/bootstrap-roles failed: hidden\n": false,
		"[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n":                                     false,
	} {
		if got := usable(answer); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
}
