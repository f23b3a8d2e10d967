package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComplete_ContextsClustersAndNamespaces(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces" {
			t.Errorf("%s is requested", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"default"}},{"metadata":{"name":"team-a"}}]}`)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: staging, context: {cluster: c}}, {name: production, context: {cluster: c}}]\n", server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("KUBECONFIG", path)
	if err := os.MkdirAll(filepath.Join(state, "kopf", "clusters", "lab"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"run", ".", "--context", ""}, "production\nstaging\n:4\n"},
		{[]string{"dev", ".", "--kubeconfig", path, "--context", ""}, "production\nstaging\n:4\n"},
		{[]string{"run", ".", "--kubeconfig", "/nowhere", "--context", ""}, ":1\n"},
		{[]string{"run", ".", "--context", "staging", "-n", ""}, "default\nteam-a\n:4\n"},
		{[]string{"run", ".", "--context=staging", "--namespace", ""}, "default\nteam-a\n:4\n"},
		{[]string{"run", ".", "-n", ""}, ":4\n"}, // no cluster is running
		{[]string{"run", ".", "--cluster", ""}, "auto\tthat of the project\nembedded\tthat of the project\nk3d\tin containers\ncontext\tof the kubeconfig\nlab\tstopped\n:4\n"},
	} {
		var out, errs bytes.Buffer
		if got := execute(t.Context(), append([]string{"__complete"}, test.args...), &out, &errs); got != 0 {
			t.Errorf("%q: %d, %s", test.args, got, &errs)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("%q: %s", test.args, diff)
		}
	}
}
