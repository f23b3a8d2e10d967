package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// inspected is an operator as kopf retry sees it, with the intents that it got.
type inspected struct {
	address string

	mu      sync.Mutex
	intents []inspect.Intent
}

func (o *inspected) got() []inspect.Intent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.intents
}

// serveInspector serves the state of an operator at a socket.
func serveInspector(t *testing.T, socket string, objects ...*inspect.Object) *inspected {
	t.Helper()
	o := &inspected{address: "unix:" + socket}
	snapshot := inspect.Snapshot{
		Version: inspect.Version, Operator: inspect.Operator{PID: 4711, State: inspect.OperatorRunning}, Objects: objects,
	}
	respond := func(w http.ResponseWriter, answer any) {
		w.Header().Set("Kopf-Inspector", strconv.Itoa(inspect.Version))
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/snapshot", func(w http.ResponseWriter, _ *http.Request) { respond(w, snapshot) })
	mux.HandleFunc("GET /v1/stream", func(w http.ResponseWriter, r *http.Request) {
		respond(w, inspect.Message{Snapshot: &snapshot})
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /v1/intents", func(w http.ResponseWriter, r *http.Request) {
		var in inspect.Intent
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		o.mu.Lock()
		o.intents = append(o.intents, in)
		o.mu.Unlock()
		respond(w, inspect.Reply{OK: true})
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(mux)
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return o
}

func kex(namespace, name string, state inspect.ObjectState, handlers ...inspect.HandlerState) *inspect.Object {
	return &inspect.Object{
		Ref:  inspect.Ref{Resource: "kopfexamples.v1.kopf.dev", Namespace: namespace, Name: name, UID: namespace + name},
		Kind: "KopfExample", Short: "kex", State: state, Handlers: handlers,
	}
}

var (
	failedCreate  = inspect.HandlerState{ID: "create", State: inspect.PhaseFailed}
	failedSub     = inspect.HandlerState{ID: "parent/sub", Parent: "parent", State: inspect.PhaseFailed}
	retryingWrite = inspect.HandlerState{ID: "write", State: inspect.PhaseRetrying}
	doneFine      = inspect.HandlerState{ID: "fine", State: inspect.PhaseDone}
)

func TestRetry_AsksTheOperator(t *testing.T) {
	folder := shortDir(t)
	op := serveInspector(t, filepath.Join(folder, "s"),
		kex("one", "a", inspect.StateFailed, failedCreate, doneFine), kex("one", "b", inspect.StateSettled, doneFine),
		kex("one", "c", inspect.StateRetrying, retryingWrite), kex("two", "c", inspect.StateFailed, failedSub))
	object := func(namespace, name string) *inspect.Ref {
		o := kex(namespace, name, "")
		return &o.Ref
	}
	for line, test := range map[string]struct {
		want   *inspect.Intent
		output string
		code   int
	}{
		"kex/a":                          {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "a")}, "retrying kex/a in one\n", 0},
		"KopfExample/a --handler=create": {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "a"), Handler: "create"}, "retrying kex/a in one\n", 0},
		"kopfexamples/c -n one":          {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "c")}, "retrying kex/c in one\n", 0},
		"kopfexamples.kopf.dev/c -n two": {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("two", "c")}, "retrying kex/c in two\n", 0},
		"kex/c -n two --handler=parent":  {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("two", "c"), Handler: "parent"}, "retrying kex/c in two\n", 0},
		"--all-failed":                   {&inspect.Intent{Kind: inspect.IntentRetryFailed}, "retrying 2 objects\n", 0},
		"--all-failed --handler=create":  {&inspect.Intent{Kind: inspect.IntentRetryFailed, Handler: "create"}, "retrying 1 object\n", 0},
		"--all-failed --handler=fine":    {nil, "nothing has failed\n", 0},
		"kex/b":                          {nil, "kopf: retry kex/b: nothing failed or waits for a retry: it is settled\n", 1},
		"kex/a --handler=fine":           {nil, "kopf: retry kex/a: its handler \"fine\" neither failed nor waits for a retry\n", 1},
		"kex/a --handler=nope":           {nil, "kopf: retry kex/a: it has no handler \"nope\"\n", 1},
		"kex/c":                          {nil, "kopf: several objects are named kex/c; choose with -n or --inspect:\n  kex/c in ", 1},
		"kopfexampel/a":                  {nil, "kopf: no running operator has seen kopfexampel/a; did you mean kopfexample", 1},
		"pods/a":                         {nil, "kopf: no running operator has seen pods/a; the operators are:\n  operator 4711 at unix:", 1},
		"kex":                            {nil, "kopf: kex: want KIND/NAME, such as kex/demo; the namespace goes to -n\n", 2},
		"--all-failed kex/a":             {nil, "kopf: --all-failed excludes objects and namespaces: use one or the other\n", 2},
		"":                               {nil, "kopf: want one object, such as kopf retry kex/demo, or --all-failed\n", 2},
	} {
		t.Run(line, func(t *testing.T) {
			before := len(op.got())
			var output strings.Builder
			args := append([]string{"retry", "--inspect=" + op.address}, strings.Fields(line)...)
			if got := execute(t.Context(), args, &output, &output); got != test.code || !strings.HasPrefix(output.String(), test.output) {
				t.Errorf("%d, %s", got, output.String())
			}
			var want []inspect.Intent
			if test.want != nil {
				want = append(want, *test.want)
			}
			if diff := cmp.Diff(want, append([]inspect.Intent(nil), op.got()[before:]...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRetry_FindsTheOperatorsOfThisMachine(t *testing.T) {
	cache := shortDir(t)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache) // elsewhere, the cache folder is below it
	t.Setenv("TMPDIR", cache)
	run := func(args ...string) (int, string) {
		var output strings.Builder
		got := execute(t.Context(), append([]string{"retry"}, args...), &output, &output)
		return got, output.String()
	}
	if got, output := run("--all-failed"); got != 1 || !strings.HasPrefix(output, "kopf: no operator runs on this machine; start it with kopf run") {
		t.Errorf("%d, %s", got, output)
	}
	root, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := func(n int) string {
		path := filepath.Join(root, "kopf", "operators", fmt.Sprintf("run-%d", n))
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	serveInspector(t, filepath.Join(folder(1), "1.sock"), kex("one", "b", inspect.StateSettled, doneFine))
	op := serveInspector(t, filepath.Join(folder(2), "1.sock"), kex("one", "a", inspect.StateFailed, failedCreate))
	if got, output := run("--all-failed"); got != 0 || output != "retrying 1 object\n" || len(op.got()) != 1 {
		t.Errorf("%d, %s", got, output)
	}
	if got, output := run("kex/a"); got != 0 || len(op.got()) != 2 {
		t.Errorf("%d, %s", got, output)
	}
	serveInspector(t, filepath.Join(folder(3), "1.sock"), kex("one", "a", inspect.StateFailed, failedCreate))
	if got, output := run("--all-failed"); got != 1 || !strings.HasPrefix(output, "kopf: retry all: objects of several operators have failed; name one with --inspect:\n  operator 4711") {
		t.Errorf("%d, %s", got, output)
	}
	if len(op.got()) != 2 {
		t.Error("it was asked all the same")
	}
}

// serveVersion serves the inspector of an operator with another version of the protocol.
func serveVersion(t *testing.T, socket, version string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { //nolint:gosec // the client is this test
		w.Header().Set("Kopf-Inspector", version)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

func TestRetry_UnreadableOperatorsAreNamedIfNothingIsFound(t *testing.T) {
	folder := shortDir(t)
	t.Setenv("XDG_CACHE_HOME", folder)
	t.Setenv("HOME", folder) // elsewhere, the cache folder is below it
	t.Setenv("TMPDIR", folder)
	root, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sockets := filepath.Join(root, "kopf", "operators", "run-1")
	if err := os.MkdirAll(sockets, 0o700); err != nil {
		t.Fatal(err)
	}
	op := serveInspector(t, filepath.Join(sockets, "1.sock"), kex("one", "b", inspect.StateFailed, failedCreate))
	serveVersion(t, filepath.Join(sockets, "2.sock"), "999")
	for line, want := range map[string]struct {
		code  int
		texts []string
	}{
		"kex/b":                        {0, []string{"retrying kex/b"}},
		"--all-failed":                 {0, []string{"retrying 1 object\n"}},
		"kex/a":                        {1, []string{"no running operator has seen kex/a; the operators are:", "operator 4711", "2.sock", "version 999"}},
		"--all-failed --handler=other": {1, []string{"nothing has failed in the operators that can be read", "2.sock", "version 999"}},
	} {
		var output strings.Builder
		got := execute(t.Context(), append([]string{"retry"}, strings.Fields(line)...), &output, &output)
		if got != want.code {
			t.Errorf("%s: %d, %s", line, got, output.String())
		}
		for _, text := range want.texts {
			if !strings.Contains(output.String(), text) {
				t.Errorf("%s: want %q in %s", line, text, output.String())
			}
		}
	}
	if n := len(op.got()); n != 2 {
		t.Errorf("%d intents", n)
	}
}

func TestRetry_NoOperatorAtTheAddress(t *testing.T) {
	var output strings.Builder
	if got := execute(t.Context(), []string{"retry", "--all-failed", "--inspect=unix:/no/such/socket"}, &output, &output); got != 1 || !strings.Contains(output.String(), "is it running?") {
		t.Errorf("%d, %s", got, output.String())
	}
	output.Reset()
	if got := execute(t.Context(), []string{"retry", "--all-failed", "--inspect=nowhere"}, &output, &output); got != 2 {
		t.Errorf("%d, %s", got, output.String())
	}
}

func TestRetry_OperatorRefusesToken(t *testing.T) {
	t.Setenv(inspect.TokenVariable, "of another operator")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(inspect.VersionHeader, strconv.Itoa(inspect.Version))
		http.Error(w, "a token is needed", http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	var output strings.Builder
	address := "--inspect=tcp:" + server.Listener.Addr().String()
	got := execute(t.Context(), []string{"retry", "--all-failed", address}, &output, &output)
	if got != 1 || !strings.Contains(output.String(), "401") || strings.Contains(output.String(), "is it running?") {
		t.Errorf("%d, %s", got, output.String())
	}
}
