package k3d

import "testing"

func TestResolves_FirstEntryCounts(t *testing.T) {
	const ip = "172.18.0.1"
	for hosts, want := range map[string]bool{
		"127.0.0.1\tlocalhost\n172.18.0.1\thost.k3d.internal\n": true,
		"172.18.0.1 other host.k3d.internal # comment\n":        true,
		"127.0.0.1\tlocalhost\n":                                false,
		"":                                                      false,
		"# 172.18.0.1 host.k3d.internal\n":                      false,
		"172.17.0.1\thost.k3d.internal\n172.18.0.1\thost.k3d.internal\n":   false,
		"172.18.0.1\thost.k3d.internal.example\n":                          false,
		"172.18.0.1 #\thost.k3d.internal\n172.18.0.1\tx host.k3d.internal": true,
	} {
		if got := resolves(hosts, "host.k3d.internal", ip); got != want {
			t.Errorf("%q: %t", hosts, got)
		}
	}
}
