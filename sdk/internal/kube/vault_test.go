package kube

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestRequestsWaitForOneLoginTogether(t *testing.T) {
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

func TestAnotherCredentialIsTriedBeforeALogin(t *testing.T) {
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

func TestCredentialsAreRenewedWhenTheyExpire(t *testing.T) {
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

func TestALoginThatBringsBadCredentialsAgainAndAgainEnds(t *testing.T) {
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

func TestALoginThatFailsFailsTheRequestsWithItsError(t *testing.T) {
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

func TestOneWhoGivesUpDoesNotStopTheLoginOfOthers(t *testing.T) {
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
