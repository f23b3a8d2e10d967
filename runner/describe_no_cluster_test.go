package runner

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// asking is a program that asks the cluster of its kubeconfig before it could describe an operator.
const asking = `package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	text, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		panic(err)
	}
	var config struct{ Clusters []struct{ Cluster struct{ Server string } } }
	if json.Unmarshal(text, &config) != nil {
		config.Clusters = append(config.Clusters, struct{ Cluster struct{ Server string } }{struct{ Server string }{string(text)}})
	}
	answer, err := http.Get(config.Clusters[0].Cluster.Server + "/api")
	if err != nil {
		panic(err)
	}
	body, err := io.ReadAll(answer.Body)
	fmt.Println(answer.StatusCode, string(body), err)
}
`

func TestDescribe_ProgramReachesNoCluster(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	mine := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(mine, []byte(server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", mine)
	dir := tree(t, map[string]string{"main.go": asking})
	p, err := Load(t.Context(), dir, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	binary, err := newBuilder(t).Build(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Describe(t.Context(), binary, dir, nil, []inspect.APIResource{})
	said, ok := errors.AsType[*DescribeError](err)
	if !ok || !strings.Contains(said.Error(), "403 ") || !strings.Contains(said.Error(), noClusterText) {
		t.Errorf("got %v", err)
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("the cluster of the user's kubeconfig got %d requests", n)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(binary), "describe-*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left (%v)", left, err)
	}
}
