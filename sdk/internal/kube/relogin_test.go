package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestFollow_OtherClientsUseTheCurrentSession(t *testing.T) {
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

func TestRelogin_EveryAttemptIsObservedAndLimitedOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var valid atomic.Pointer[Session]
		vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
			time.Sleep(time.Minute) // longer than an attempt may take
			rejected, accepted := newGuarded(t, &valid), newGuarded(t, &valid)
			valid.Store(accepted)
			return []Credential{{Session: rejected, Priority: 1}, {Session: accepted}}, nil
		})
		var calls []Call
		client := NewClient(vault, ClientOptions{RequestTimeout: time.Second, AnswerTimeout: time.Second, Observe: func(c Call) { calls = append(calls, c) }})
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
		valid.Store(nil)
		stream, err := client.Watch(t.Context(), examples, "ns", ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stream.Close()
		var got []string
		for _, c := range calls {
			got = append(got, fmt.Sprintf("%s %d %v", c.Verb, c.Status, c.Err != nil))
			if c.Duration != 0 {
				t.Errorf("%s took %s, want nothing but the attempt", c.Verb, c.Duration)
			}
		}
		want := []string{"get 401 true", "get 200 false", "watch 401 true", "watch 401 true", "watch 200 false"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// stubbornAuth adds a token unless the request has one, as client-go does for plugins.
type stubbornAuth struct {
	*script
	token string
}

func (a *stubbornAuth) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", a.token)
	}
	return a.script.RoundTrip(r)
}

func TestRelogin_RepeatedRequestHasNoHeadersOfThePreviousSession(t *testing.T) {
	s := &script{answers: []answer{func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") == "new" {
			return respond(200, example)(r)
		}
		return respond(401, "")(r)
	}}}
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
		return []Credential{
			{Session: sessionFor(t, &stubbornAuth{s, "old"}), Priority: 1},
			{Session: sessionFor(t, &stubbornAuth{s, "new"})},
		}, nil
	})
	if _, err := NewClient(vault, ClientOptions{}).Get(t.Context(), examples, "ns", "n"); err != nil || len(s.requests) != 2 {
		t.Error(err, len(s.requests))
	}
}

func TestFollow_RequestsFailWithTheLoginError(t *testing.T) {
	broken := errors.New("unknown")
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

func TestRelogin_BodyThatCannotBeRepeatedReturnsThe401(t *testing.T) {
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

func TestRelogin_EndsAfterRepeatedlyInvalidCredentials(t *testing.T) {
	var valid atomic.Pointer[Session]
	logins := 0
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
		logins++
		return []Credential{{Session: newGuarded(t, &valid)}}, nil
	})
	_, err := NewClient(vault, ClientOptions{}).Get(t.Context(), examples, "ns", "n")
	if !apierrors.IsUnauthorized(err) || logins != maxLogins+1 {
		t.Error(err, logins)
	}
}
