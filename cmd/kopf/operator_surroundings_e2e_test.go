package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
)

// reaching is an operator whose handler makes a client as most programs do, and prints which server answers.
const reaching = `package op

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const version = "%d"

func Register(r *kopf.Registry) {
	kopf.OnStartup(r, begin)
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), handle, kopf.Labels{"reach": kopf.Present})
}

func begin(context.Context, *kopf.Activity) error { return reach("startup") }

func handle(context.Context, *kopf.Change[kopf.Object]) error { return reach("handler") }

func reach(where string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	answer, err := client.Get(config.Host + "/version")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err != nil {
		return err
	}
	if _, err := rest.InClusterConfig(); err != rest.ErrNotInCluster {
		return fmt.Errorf("it believes to be in a pod: %%w", err)
	}
	fmt.Printf("version %%s: the %%s reached %%s: %%s\n", version, where, config.Host, answer.Status)
	return nil
}
`

// reachingMain makes it a program that ignores its flags.
const reachingMain = `
func main() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute) // the server of another cluster may never be ready
	registry := &kopf.Registry{}
	Register(registry)
	operator := &kopf.Operator{Registry: registry, AllNamespaces: true, OnReady: stop}
	if err := operator.Run(ctx); err != nil {
		panic(err)
	}
}
`

const reached = `apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
  labels: {reach: "yes"}
`

// elsewhere is the cluster of the user's kubeconfig, which no operator may reach.
type elsewhere struct {
	mu       sync.Mutex
	requests []string
}

func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, r.Method+" "+r.URL.Path)
	_, _ = fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.1"}`)
}

// expectUntouched fails the test if there were requests.
func (e *elsewhere) expectUntouched(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.requests) > 0 {
		t.Errorf("the cluster of the user's kubeconfig got %d requests: %q", len(e.requests), e.requests)
	}
}

func TestE2E_OperatorReachesTheChosenClusterOnly(t *testing.T) {
	other := &elsewhere{}
	server := httptest.NewServer(other)
	t.Cleanup(server.Close)
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	home := t.TempDir()
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: mine\nclusters: [{name: mine, cluster: {server: %q}}]\ncontexts: [{name: mine, context: {cluster: mine, user: me}}]\nusers: [{name: me, user: {token: mine}}]\n", server.URL)
	mine := filepath.Join(home, ".kube", "config")
	if err := os.MkdirAll(filepath.Dir(mine), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	goEnv, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Fields(string(goEnv))
	// start starts kopf as a user whose kubeconfig leads elsewhere.
	start := func(t *testing.T, dir string, env []string, args ...string) (cmd *exec.Cmd, said func() string) {
		t.Helper()
		cmd, _, _ = command(t, dir, append(args, "--kubeconfig="+cluster.KubeconfigPath, "-A")...)
		cmd.Env = append(append(os.Environ(), asCommand+"=1", "HOME="+home, "KUBECONFIG="+mine, "GOCACHE="+caches[0], "GOMODCACHE="+caches[1],
			"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"), env...)
		out, said := outputFile(t)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, said
	}
	object := func(t *testing.T, dir, name string) string {
		t.Helper()
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, []byte(fmt.Sprintf(reached, name)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, args := range map[string][]string{
		"run":             {"run", "."},
		"dev":             {"dev", "."},
		"run-as-deployed": {"run", ".", "--as-deployed"},
		"dev-as-deployed": {"dev", ".", "--as-deployed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, env, _ := sdkTree(t, reaching)
			cmd, said := start(t, dir, env, append(args, "--apply="+object(t, dir, name), "--until=settled", "--timeout=1m")...)
			if got := code(t, cmd.Wait()); got != 0 {
				t.Errorf("the exit code is %d: %s", got, said())
			}
			for _, where := range []string{"startup", "handler"} {
				// As deployed, the cluster is behind a proxy of kopf.
				want := "the " + where + " reached https://127.0.0.1:"
				if !strings.Contains(name, "deployed") {
					want = "the " + where + " reached " + cluster.Server + ": 200"
				}
				if !strings.Contains(said(), want) {
					t.Errorf("%q is not in %s", want, said())
				}
			}
			other.expectUntouched(t)
		})
	}
	t.Run("own main", func(t *testing.T) {
		dir, env, put := moduleOfOperator(t)
		put(strings.NewReplacer("package op", "package main", `"io"`, "\"io\"\n\t\"time\"").Replace(fmt.Sprintf(reaching, 0)) + reachingMain)
		cmd, said := start(t, dir, env, "run", ".")
		if got := code(t, cmd.Wait()); got != 0 || !strings.Contains(said(), "the startup reached "+cluster.Server) {
			t.Errorf("the exit code is %d: %s", got, said())
		}
		other.expectUntouched(t)
	})
	t.Run("reload", func(t *testing.T) {
		dir, env, save := sdkTree(t, reaching)
		cmd, said := start(t, dir, env, "dev", ".")
		for version := range 2 {
			eventually(t, "reached", func() bool {
				if strings.Contains(said(), "crashed") {
					t.Fatal(said())
				}
				return strings.Contains(said(), fmt.Sprintf("version %d: the startup reached %s", version, cluster.Server))
			})
			save(version + 1)
		}
		stop(t, cmd, said)
		other.expectUntouched(t)
	})
	expectNoConnections(t)
}

// expectNoConnections checks that all kubeconfigs and addresses of webhooks are removed.
func expectNoConnections(t *testing.T) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "kopf", "connections", "run-*")); err != nil || len(left) > 0 {
		t.Errorf("the folders %q are left (%v)", left, err)
	}
}
