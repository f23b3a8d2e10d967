package kube

import (
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

func TestGiven_RereadsRenewableCredentials(t *testing.T) {
	var valid atomic.Value
	valid.Store("old")
	server := guardedServer(t, &valid, "")
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	for token, config := range map[string]*rest.Config{
		"new": {Host: server.URL, BearerTokenFile: file},
		"old": {Host: server.URL, BearerToken: "old"},
	} {
		valid.Store("old")
		given, err := NewConfigSource(config, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer given.Close()
		first, _ := given.Current(t.Context())
		client := NewClient(given, ClientOptions{})
		if _, err := client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"}); err != nil {
			t.Error(err)
		}
		write("new")
		valid.Store("new")
		_, err = client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"})
		second, _ := given.Current(t.Context())
		if changed := token == "new"; (err == nil) != changed || (first != second) != changed {
			t.Error(token, err, first == second)
		}
		given.Invalidate(first) // late, as it was replaced already
		if third, _ := given.Current(t.Context()); third != second {
			t.Error("the current session was replaced")
		}
		write("old")
	}
}
