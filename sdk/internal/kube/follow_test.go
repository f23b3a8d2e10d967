package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// guardedServer takes one token at a time, and echoes the path and the body.
func guardedServer(t *testing.T, valid *atomic.Value, prefix string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+valid.Load().(string) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, strings.TrimPrefix(r.URL.EscapedPath(), prefix)+" "+string(body))
	}))
	t.Cleanup(server.Close)
	return server
}

func credentialFor(t *testing.T, config *rest.Config) Credential {
	t.Helper()
	session, err := NewSession(config, 0)
	if err != nil {
		t.Fatal(err)
	}
	key, renewable := Identify(config)
	return Credential{Session: session, Key: key, Renewable: renewable}
}

func TestOtherClientsFollowTheLogins(t *testing.T) {
	var valid atomic.Value
	valid.Store("t1")
	first, second := guardedServer(t, &valid, "/first"), guardedServer(t, &valid, "/second")
	logins := 0
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
		logins++
		config := &rest.Config{Host: first.URL + "/first", BearerToken: valid.Load().(string)}
		if logins > 1 {
			config.Host = second.URL + "/second" // the cluster has moved
		}
		return []Credential{credentialFor(t, config)}, nil
	})
	defer vault.Close()
	for _, early := range []bool{true, false} {
		config := Follow(vault, vault.Peek())
		if (vault.Peek() == nil) != early {
			t.Fatal("want one client that is made before the login, and one after")
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		post := func() string {
			t.Helper()
			resp, err := client.Post(config.Host+"/api/v1%2Fx", "text/plain", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status, err)
			}
			return string(text)
		}
		for range 2 {
			if got := post(); got != "/api/v1%2Fx body" {
				t.Errorf("%q", got)
			}
			valid.Store(valid.Load().(string) + "'")
		}
	}
	if logins != 4 {
		t.Errorf("%d logins", logins)
	}
}

func TestRequestsOfOtherClientsFailWithTheLogin(t *testing.T) {
	broken := errors.New("nobody knows")
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) { return nil, broken })
	defer vault.Close()
	config := Follow(vault, nil)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(config.Host); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestABodyThatCannotBeSentAgainIsAnsweredAsItWas(t *testing.T) {
	var valid atomic.Value
	valid.Store("good")
	server := guardedServer(t, &valid, "")
	logins := 0
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
		logins++
		return []Credential{credentialFor(t, &rest.Config{Host: server.URL, BearerToken: "bad" + strings.Repeat("!", logins)})}, nil
	})
	defer vault.Close()
	client, err := rest.HTTPClientFor(Follow(vault, nil))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Post(server.URL, "text/plain", io.MultiReader(strings.NewReader("once")))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
}

func TestCredentialsThatWereRejectedAreNotUsedAgain(t *testing.T) {
	var valid atomic.Value
	valid.Store("other")
	server := guardedServer(t, &valid, "")
	static := &rest.Config{Host: server.URL, BearerToken: "stale"}
	logins := 0
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
		logins++
		return []Credential{credentialFor(t, static)}, nil
	})
	defer vault.Close()
	_, err := NewClient(vault, ClientOptions{}).Get(t.Context(), examples, "ns", "n")
	if failed, ok := errors.AsType[*LoginError](err); !ok || logins != 2 || !strings.Contains(failed.Error(), "rejected them before") {
		t.Error(err, logins)
	}
}

func TestASessionGoesOnIfALoginBringsTheSameCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: "http://localhost:1", BearerTokenFile: file}
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
		return []Credential{credentialFor(t, config)}, nil
	})
	defer vault.Close()
	one, err := vault.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.populate([]Credential{credentialFor(t, config)}); err != nil || vault.Peek() != one {
		t.Error("the connections of the session are thrown away", err)
	}
	vault.Invalidate(one, nil)
	if two, err := vault.Current(t.Context()); err != nil || two == one {
		t.Error("the file may have another token", err)
	}
}

func TestConfigurationsAreToldApartByTheirCredentials(t *testing.T) {
	a, _ := Identify(&rest.Config{Host: "http://x", BearerToken: "a"})
	b, _ := Identify(&rest.Config{Host: "http://x", BearerToken: "b"})
	again, renewable := Identify(&rest.Config{Host: "http://x", BearerToken: "a"})
	if a == b || a != again || renewable {
		t.Error(a, b, again, renewable)
	}
	if key, _ := Identify(&rest.Config{Host: "http://x", WrapTransport: func(rt http.RoundTripper) http.RoundTripper { return rt }}); key != "" {
		t.Error("nothing is known of what a function does")
	}
	file, renewable := Identify(&rest.Config{Host: "http://x", BearerToken: "a", BearerTokenFile: "/f"})
	if other, _ := Identify(&rest.Config{Host: "http://x", BearerToken: "b", BearerTokenFile: "/f"}); other != file || !renewable {
		t.Error("the token of a file is only what it was when it was read")
	}
}
