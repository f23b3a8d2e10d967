package instance

import "testing"

func TestRoot_FollowsXDG(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for state, want := range map[string]string{
		"":          "/home/me/.local/state/kopf/clusters",
		"/state":    "/state/kopf/clusters",
		"not/a/abs": "/home/me/.local/state/kopf/clusters",
	} {
		t.Setenv("XDG_STATE_HOME", state)
		if got, err := Root(); err != nil || got != want {
			t.Errorf("%q: %q (%v)", state, got, err)
		}
	}
}
