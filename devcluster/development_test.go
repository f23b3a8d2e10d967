package devcluster

import "testing"

func TestLooksLikeDevelopment_JudgesNameAndServer(t *testing.T) {
	for _, test := range []struct {
		context, server string
		want            bool
	}{
		{"kind-x", "https://10.1.2.3:6443", true},
		{"k3d-x", "https://0.0.0.0:6443", true},
		{"kopf-dev", "https://10.1.2.3", true},
		{"minikube", "https://192.168.49.2:8443", true},
		{"docker-desktop", "https://kubernetes.docker.internal:6443", true},
		{"rancher-desktop", "https://10.1.2.3", true},
		{"anything", "https://127.0.0.1:6443", true},
		{"anything", "https://[::1]:6443", true},
		{"anything", "https://localhost:6443", true},
		{"anything", "https://api.localhost:6443", true},
		{"production", "https://10.1.2.3:6443", false},
		{"production", "https://localhost.example.com", false},
		{"minikubernetes", "https://example.com", false},
		{"unkind-x", "https://example.com", false},
		{"production", "%", false},
	} {
		if got := IsDevelopment(test.context, test.server); got != test.want {
			t.Errorf("%s at %s: %v", test.context, test.server, got)
		}
	}
}
