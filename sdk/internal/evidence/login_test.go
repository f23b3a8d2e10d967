package evidence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// longVar is the environment variable for how long tests of endurance take, such as "1m".
const longVar = "KOPF_ENDURANCE"

func endurance(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(longVar)
	if text == "" {
		return 8 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", longVar, err)
	}
	return d
}

// versions are the versions of objects that somebody has seen.
type versions struct {
	mu   sync.Mutex
	seen map[string]bool // "name version"
}

func (v *versions) add(name, version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	v.seen[name+" "+version] = true
}

// lacks returns what others have seen and this one has not.
func (v *versions) lacks(others *versions) (missed []string) {
	others.mu.Lock()
	defer others.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	for version := range others.seen {
		if !v.seen[version] {
			missed = append(missed, version)
		}
	}
	return missed
}

// watch notes all versions of the objects that a client sees which is never interrupted.
func (w *world) watch(v *versions) {
	w.t.Helper()
	// The control plane keeps the stream open for longer than any test takes.
	stream, err := w.client.Watch(w.t.Context(), w.res, w.ns, apiclient.ListOptions{Timeout: time.Hour})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			frame, err := stream.Next()
			if err != nil {
				if !errors.Is(err, apiclient.ErrClosed) && w.t.Context().Err() == nil {
					w.t.Errorf("the witness has lost its stream: %v", err)
				}
				return
			}
			if frame.Object != nil && frame.Type != wire.Bookmark {
				v.add(frame.Object.Name, frame.Object.ResourceVersion)
			}
		}
	}()
	w.t.Cleanup(func() {
		stream.Close()
		<-done
	})
}

// A handler's own client, as a user would make it: once, at the start.
type ownClient struct {
	*http.Client
	host string
}

func TestNothingIsLostWhileCredentialsExpireEveryMoment(t *testing.T) {
	const life = 1500 * time.Millisecond
	w := newWorld(t)
	gate := newGatekeeper(t, life)
	var witness, operator versions
	w.watch(&witness)

	var created, updated, logins, failed atomic.Int32
	var client ownClient
	register := func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			config, until := gate.issue()
			info := &kopf.ConnectionInfo{Config: config}
			if logins.Add(1)%2 == 0 {
				info.Expiration = until.Add(-100 * time.Millisecond) // else it is noticed by a 401
			}
			return info, nil
		}, kopf.ID("login"))
		kopf.OnStartup(r, func(ctx context.Context, _ *kopf.Activity) error {
			config := kopf.RESTConfig(ctx)
			client.host = config.Host
			c, err := rest.HTTPClientFor(config)
			client.Client = c
			return err
		}, kopf.ID("startup"))
		kopf.OnEvent(r, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			operator.add(e.Name, kopf.GetOr(e.Body, "metadata.resourceVersion", ""))
			return nil
		}, kopf.ID("event"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			created.Add(1)
			// The client was made before the login, for an address that was not known yet.
			url := fmt.Sprintf("%s/apis/kopf.dev/v1/namespaces/%s/kopfexamples/%s", client.host, c.Namespace, c.Name)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				failed.Add(1)
			}
			c.Result = tree{"code": resp.StatusCode}
			return nil
		}, kopf.ID("create"))
		kopf.OnUpdate(r, kexes, func(_ context.Context, c *change) error {
			updated.Add(1)
			c.Patch.Set("status.field", c.Object.Get("spec.field"))
			return nil
		}, kopf.ID("update"))
	}
	op := w.run(register, setup{loggingIn: true})

	ctx, cancel := context.WithTimeout(t.Context(), endurance(t))
	defer cancel()
	var names []string
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("n%d", n)
		w.create(example(name))
		names = append(names, name)
		if n > 0 {
			w.patch(names[n-1], tree{"spec": tree{"field": fmt.Sprint(n)}})
		}
		select {
		case <-time.After(20 * time.Millisecond): // some 50 objects a second
		case <-ctx.Done():
		}
	}
	for _, name := range names {
		w.untilHandled(name)
	}
	missed := func() []string { return operator.lacks(&witness) }
	eventually(t, "all versions are seen", func() bool { return len(missed()) == 0 }, func() any { return missed() })
	if int(created.Load()) != len(names) || failed.Load() != 0 {
		t.Errorf("%d creations of %d objects; %d requests of the handlers' own client failed", created.Load(), len(names), failed.Load())
	}
	if wanted := int32(endurance(t)/life) - 1; logins.Load() < wanted || gate.refused.Load() < wanted/2 || gate.cut.Load() < wanted/2 {
		t.Errorf("%d logins, %d requests refused, %d streams cut: that is no test", logins.Load(), gate.refused.Load(), gate.cut.Load())
	}
	if op.journal.count("Re-authentication has finished.") == 0 {
		t.Error("the log says nothing of logins")
	}
	t.Logf("%d objects, %d creations, %d updates; %d logins, %d requests refused, %d streams cut",
		len(names), created.Load(), updated.Load(), logins.Load(), gate.refused.Load(), gate.cut.Load())
}
