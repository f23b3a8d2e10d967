package kube

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// guarded answers 200 to the valid session only.
func guarded(valid *atomic.Pointer[Session], own func() *Session) answer {
	return func(r *http.Request) (*http.Response, error) {
		if valid.Load() == own() {
			return respond(200, example)(r)
		}
		return respond(401, "")(r)
	}
}

func newGuarded(t *testing.T, valid *atomic.Pointer[Session]) *Session {
	t.Helper()
	var session *Session
	session = sessionFor(t, &script{answers: []answer{guarded(valid, func() *Session { return session })}})
	return session
}

func TestVault_ConcurrentRequestsShareOneLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var valid atomic.Pointer[Session]
		var logins atomic.Int32
		vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
			logins.Add(1)
			time.Sleep(time.Second)
			session := newGuarded(t, &valid)
			valid.Store(session)
			return []Credential{{Session: session}}, nil
		})
		client := NewClient(vault, ClientOptions{})
		for round := range int32(3) {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if logins.Load() != round+1 {
				t.Errorf("%d logins", logins.Load())
			}
			valid.Store(nil) // the token has expired for the server
		}
	})
}

func TestVault_UsesAnotherCredentialBeforeALogin(t *testing.T) {
	var valid atomic.Pointer[Session]
	good, bad := newGuarded(t, &valid), newGuarded(t, &valid)
	valid.Store(good)
	logins := 0
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
		logins++
		return []Credential{{Session: good, Priority: 1}, {Session: bad, Priority: 2}}, nil
	})
	if _, err := NewClient(vault, ClientOptions{}).Get(t.Context(), examples, "ns", "n"); err != nil || logins != 1 {
		t.Error(err, logins)
	}
}

func TestVault_RenewsExpiredCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logins := 0
		vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) {
			logins++
			return []Credential{{Session: sessionFor(t, &script{}), Expires: time.Now().Add(time.Minute)}}, nil
		})
		one, err := vault.Current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		if same, _ := vault.Current(t.Context()); same != one {
			t.Error("renewed too early")
		}
		time.Sleep(time.Second)
		if two, _ := vault.Current(t.Context()); two == one || logins != 2 {
			t.Error("not renewed")
		}
	})
}

func TestVault_RequestsFailWithTheLoginError(t *testing.T) {
	broken := errors.New("no kubeconfig")
	vault := NewVault(t.Context(), func(context.Context) ([]Credential, error) { return nil, broken })
	if _, err := NewClient(vault, ClientOptions{}).Get(t.Context(), examples, "ns", "n"); !errors.Is(err, broken) {
		t.Error(err)
	}
	vault = NewVault(t.Context(), func(context.Context) ([]Credential, error) { return nil, nil })
	if _, err := NewClient(vault, ClientOptions{}).Get(t.Context(), examples, "ns", "n"); !errors.Is(err, ErrNoCredentials) {
		t.Error(err)
	}
}

func TestVault_LoginOutlivesTheRequestThatStartedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := sessionFor(t, &script{})
		vault := NewVault(t.Context(), func(ctx context.Context) ([]Credential, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Minute):
				return []Credential{{Session: session}}, nil
			}
		})
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := vault.Current(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if got, err := vault.Current(t.Context()); err != nil || got != session {
				t.Error(err)
			}
		})
		wg.Wait()
	})
}

func TestVault_RejectedCredentialsAreNotReused(t *testing.T) {
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

func TestVault_KeepsTheSessionOfTheSameCredentials(t *testing.T) {
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
		t.Error("the session was replaced", err)
	}
	vault.Invalidate(one)
	if two, err := vault.Current(t.Context()); err != nil || two == one {
		t.Error("the file may have another token", err)
	}
}
