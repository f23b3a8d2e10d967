package kopf

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

// Credentials are replaced long before they end, so that a slow machine does not matter.
const (
	credentialLife = 8 * time.Second
	rotationPace   = 2 * time.Second
	rotationLimit  = 90 * time.Second
)

var configMaps = &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}

// rotation replaces credentials in a folder, all files at once, as Kubernetes does with mounted ones.
type rotation struct {
	t    *testing.T
	gate *testcluster.Gatekeeper
	root string
	n    int
	make func() map[string]string // the files
}

func (r *rotation) path(name string) string { return filepath.Join(r.root, "current", name) }

func (r *rotation) rotate() {
	r.n++
	folder := fmt.Sprintf("v%d", r.n)
	if err := os.Mkdir(filepath.Join(r.root, folder), 0o700); err != nil {
		r.t.Error(err)
	}
	for name, text := range r.make() {
		if err := os.WriteFile(filepath.Join(r.root, folder, name), []byte(text), 0o600); err != nil {
			r.t.Error(err)
		}
	}
	next := filepath.Join(r.root, "next")
	if err := os.Symlink(folder, next); err != nil {
		r.t.Error(err)
	}
	if err := os.Rename(next, filepath.Join(r.root, "current")); err != nil {
		r.t.Error(err)
	}
}

func (r *rotation) begin(ctx context.Context) (wait func()) {
	r.rotate()
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(rotationPace)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.rotate()
			case <-ctx.Done():
				return
			}
		}
	})
	return wg.Wait
}

func (r *rotation) token() map[string]string {
	token, _ := r.gate.Token()
	return map[string]string{"token": token}
}

func (r *rotation) certificate() map[string]string {
	cert, key, _, err := r.gate.Certificate()
	if err != nil {
		r.t.Error(err)
	}
	return map[string]string{"tls.crt": string(cert), "tls.key": string(key)}
}

// answer returns the next output of the plugin.
func (r *rotation) answer() map[string]string {
	token, until := r.gate.Token()
	status := map[string]any{"token": token}
	if r.n%2 == 0 { // else it is for the plugin's callers to find out
		status["expirationTimestamp"] = until.Add(-credentialLife / 4).UTC().Format(time.RFC3339Nano)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})
	if err != nil {
		r.t.Error(err)
	}
	return map[string]string{"answer": string(text)}
}

// plugin writes a program that makes credentials.
func (r *rotation) plugin() string {
	path := filepath.Join(r.root, "plugin")
	text := fmt.Sprintf("#!/bin/sh\necho called >>%q\ncat %q\n", filepath.Join(r.root, "calls"), r.path("answer"))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
		r.t.Fatal(err)
	}
	return path
}

// called returns how many times the plugin was called.
func (r *rotation) called() int {
	calls, err := os.ReadFile(filepath.Join(r.root, "calls"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Error(err)
	}
	return strings.Count(string(calls), "called")
}

// kubeconfig is the text of a file that leads to the gate.
func (r *rotation) kubeconfig(user string) string {
	config := r.gate.Config()
	cluster, err := json.Marshal(map[string]any{"server": config.Host, "certificate-authority-data": config.CAData})
	if err != nil {
		r.t.Error(err)
	}
	return fmt.Sprintf(`
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: %s}]
users: [{name: u, user: %s}]
`, cluster, user)
}

func TestLogin_RotationLosesNothing(t *testing.T) {
	fromFile := func(user func(*rotation) string) func(*rotation, *Operator) {
		return func(r *rotation, o *Operator) { o.kubeconfig = writeKubeconfig(r.t, r.kubeconfig(user(r))) }
	}
	given := func(configure func(*rotation, *rest.Config)) func(*rotation, *Operator) {
		return func(r *rotation, o *Operator) {
			o.Config = r.gate.Config()
			configure(r, o.Config)
		}
	}
	tests := map[string]struct {
		files func(*rotation) map[string]string
		use   func(*rotation, *Operator)
	}{
		"by a plugin": {(*rotation).answer, fromFile(func(r *rotation) string {
			return fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}", r.plugin())
		})},
		"in a file of a token": {(*rotation).token, fromFile(func(r *rotation) string {
			return fmt.Sprintf("{tokenFile: %q}", r.path("token"))
		})},
		"in files of a certificate": {(*rotation).certificate, fromFile(func(r *rotation) string {
			return fmt.Sprintf("{client-certificate: %q, client-key: %q}", r.path("tls.crt"), r.path("tls.key"))
		})},
		"in the kubeconfig": {
			func(r *rotation) map[string]string {
				return map[string]string{"config": r.kubeconfig(fmt.Sprintf("{token: %s}", r.token()["token"]))}
			},
			func(r *rotation, o *Operator) { o.kubeconfig = r.path("config") },
		},
		"by a plugin of a given configuration": {(*rotation).answer, given(func(r *rotation, c *rest.Config) {
			c.ExecProvider = &api.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: r.plugin(), InteractiveMode: api.NeverExecInteractiveMode,
			}
		})},
		"in a file of a token of a given configuration": {(*rotation).token, given(func(r *rotation, c *rest.Config) {
			c.BearerTokenFile = r.path("token")
		})},
		"in files of a certificate of a given configuration": {(*rotation).certificate, given(func(r *rotation, c *rest.Config) {
			c.CertFile, c.KeyFile = r.path("tls.crt"), r.path("tls.key")
		})},
	}
	t.Cleanup(func() { untilForgotten(t) })
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rotation{t: t, gate: testcluster.NewGatekeeper(t, credentialLife), root: t.TempDir()}
			r.make = func() map[string]string { return tt.files(r) }
			ctx, cancel := context.WithCancel(t.Context())
			wait := r.begin(ctx)
			defer wait()
			defer cancel()
			var o Operator
			tt.use(r, &o)
			enough := func() bool { // as often as the test needs it, which takes longer on a busy machine
				issued, rejected := r.gate.Issued()
				if strings.Contains(name, "plugin") {
					return issued >= 4 && r.called() >= 2
				}
				return issued >= 4 && rejected > 0
			}
			handleWhile(t, &o, func(since time.Duration) bool {
				return !enough() && since < rotationLimit
			})
			issued, rejected := r.gate.Issued()
			if !enough() {
				t.Errorf("%d credentials, %d of them were rejected, %d calls of the plugin: that is no test", issued, rejected, r.called())
			}
			t.Logf("%d credentials, %d of them until a 401; refused: %d watches, %d patches, %d reads",
				issued, rejected, r.gate.Refused("watch"), r.gate.Refused("PATCH"), r.gate.Refused("GET"))
		})
	}
}

// untilForgotten waits until client-go no longer watches the files of certificates, which it does for
// as long as their connections can be used.
func untilForgotten(t *testing.T) {
	t.Helper()
	testcluster.Eventually(t, "no files are watched", func() error {
		runtime.GC()
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if n := strings.Count(string(stacks), "dynamicClientCert).run("); n > 0 {
			return fmt.Errorf("%d goroutines are left", n)
		}
		return nil
	})
}

// handleWhile runs an operator, makes objects while a function of the elapsed time is true, and checks that each was
// handled once.
func handleWhile(t *testing.T, o *Operator, while func(since time.Duration) bool) {
	t.Helper()
	client := testcluster.Client(t, kube.ClientOptions{})
	ns := testcluster.Namespace(t, client)
	var mu sync.Mutex
	calls := map[string]int{}
	o.Registry = &Registry{}
	OnCreate(o.Registry, Resource("v1", "configmaps"), func(_ context.Context, c *Change[Object]) error {
		mu.Lock()
		defer mu.Unlock()
		calls[c.Name]++
		return nil
	}, ID("create"), Labels{"test": Present})
	o.Namespaces = []string{ns}
	var log lockedBuffer
	o.Logger = log.logger()
	ready := make(chan struct{})
	o.OnReady = func() { close(ready) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the operator has ended: %v", err)
		}
	}()
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("it does not start:\n%s", log.String())
	}
	n := 0
	for began := time.Now(); while(time.Since(began)); n++ {
		name := fmt.Sprintf("n%d", n)
		testcluster.Create(t, client, configMaps, ns, map[string]any{
			"metadata": map[string]any{"name": name, "labels": map[string]any{"test": "yes"}},
		})
		testcluster.Eventually(t, "it is handled", func() error {
			mu.Lock()
			defer mu.Unlock()
			if calls[name] == 0 {
				return fmt.Errorf("%s was not handled yet", name)
			}
			return nil
		})
	}
	testcluster.Eventually(t, "all objects are handled", func() error {
		list, err := client.List(t.Context(), configMaps, ns, kube.ListOptions{LabelSelector: "test"})
		if err != nil {
			return err
		}
		for _, object := range list.Items {
			if !strings.Contains(string(object.Raw), "last-handled-configuration") {
				return fmt.Errorf("%s is not handled:\n%s", object.Name, log.String())
			}
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	for i := range n {
		if name := fmt.Sprintf("n%d", i); calls[name] != 1 {
			t.Errorf("the handler was called %d times for %s", calls[name], name)
		}
	}
}
