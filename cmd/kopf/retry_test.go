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
	address  string
	children func(parent inspect.Ref) inspect.ChildList // nil if the release does not report them
	alarms   []inspect.Alarm

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
	mux.HandleFunc("GET /v1/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		now := snapshot
		now.Operator.Alarms = o.alarms
		respond(w, now)
	})
	mux.HandleFunc("GET /v1/stream", func(w http.ResponseWriter, r *http.Request) {
		respond(w, inspect.Message{Snapshot: &snapshot})
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /v1/children", func(w http.ResponseWriter, r *http.Request) {
		if o.children == nil {
			w.Header().Set("Kopf-Inspector", strconv.Itoa(inspect.Version))
			http.NotFound(w, r)
			return
		}
		respond(w, o.children(inspect.Ref{
			Resource: r.FormValue("resource"), Namespace: r.FormValue("namespace"), Name: r.FormValue("name"), UID: r.FormValue("uid"),
		}))
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
	donePass      = inspect.HandlerState{ID: "reconcile", Kind: inspect.KindReconcile, State: inspect.PhaseDone}
)

func TestRetry_AsksTheOperator(t *testing.T) {
	folder := shortDir(t)
	op := serveInspector(t, filepath.Join(folder, "s"),
		kex("one", "a", inspect.StateFailed, failedCreate, doneFine), kex("one", "b", inspect.StateSettled, doneFine),
		kex("one", "c", inspect.StateRetrying, retryingWrite), kex("two", "c", inspect.StateFailed, failedSub),
		kex("one", "kept", inspect.StateSettled, doneFine, donePass))
	object := func(namespace, name string) *inspect.Ref {
		o := kex(namespace, name, "")
		return &o.Ref
	}
	for line, test := range map[string]struct {
		want   *inspect.Intent
		output string
		code   int
	}{
		"kex/a":                           {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "a")}, "retrying kex/a in one\n", 0},
		"KopfExample/a --handler=create":  {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "a"), Handler: "create"}, "retrying kex/a in one\n", 0},
		"kopfexamples/c -n one":           {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "c")}, "retrying kex/c in one\n", 0},
		"kopfexamples.kopf.dev/c -n two":  {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("two", "c")}, "retrying kex/c in two\n", 0},
		"kex/c -n two --handler=parent":   {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("two", "c"), Handler: "parent"}, "retrying kex/c in two\n", 0},
		"kex/kept":                        {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "kept")}, "retrying kex/kept in one\n", 0},
		"kex/kept --handler=fine":         {nil, "kopf: retry kex/kept: its handler \"fine\" neither failed nor waits for a retry\n", 1},
		"--state=failed":                  {&inspect.Intent{Kind: inspect.IntentRetryFailed}, "retrying 2 objects\n", 0},
		"--state=failed --handler=create": {&inspect.Intent{Kind: inspect.IntentRetryFailed, Handler: "create"}, "retrying 1 object\n", 0},
		"--state=failed --handler=fine":   {nil, "nothing to retry: there are no objects that are failed\n", 0},
		"--state=failed -n one":           {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "a")}, "retrying 1 object\n", 0},
		"kex --state=failed -n two":       {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("two", "c")}, "retrying 1 object\n", 0},
		"--state=retrying":                {&inspect.Intent{Kind: inspect.IntentRetry, Object: object("one", "c")}, "retrying 1 object\n", 0},
		"kex --state=stuck":               {nil, "nothing to retry: there are no kex that are stuck\n", 0},
		"kexx --state=failed":             {nil, "kopf: no running operator has the resource \"kexx\"; did you mean kex?\n", 2},
		"--state=faild":                   {nil, "kopf: --state=faild: want failed, retrying or stuck; did you mean failed?\n", 2},
		"--state=settled":                 {nil, "kopf: --state=settled: want failed, retrying or stuck\n", 2},
		"kex/a --state=failed":            {nil, "kopf: kex/a: --state excludes an object: use one or the other\n", 2},
		"kex/b":                           {nil, "kopf: retry kex/b: nothing failed or waits for a retry: it is settled\n", 1},
		"kex/a --handler=fine":            {nil, "kopf: retry kex/a: its handler \"fine\" neither failed nor waits for a retry\n", 1},
		"kex/a --handler=nope":            {nil, "kopf: retry kex/a: it has no handler \"nope\"\n", 1},
		"kex/c":                           {nil, "kopf: several objects are named kex/c; choose with -n, --inspect:\n  kex/c in ", 1},
		"kopfexampel/a":                   {nil, "kopf: no running operator has the resource \"kopfexampel\"; did you mean kopfexample", 2},
		"pods/a":                          {nil, "kopf: no running operator has the resource \"pods\"; there are kopfexamples\n", 2},
		"kex/nope -n one":                 {nil, "kopf: there is no kex/nope in the namespace one in:\n  operator 4711 at unix:", 1},
		"kex":                             {nil, "kopf: kex: want KIND/NAME, such as kex/demo, or a state, such as --state=failed\n", 2},
		"kex/a/b":                         {nil, "kopf: kex/a/b: want KIND/NAME, such as kex/demo; the namespace goes to -n\n", 2},
		"kex/a kex/b":                     {nil, "kopf: want one object, such as kopf retry kex/demo, or the objects in a state, such as kopf retry --state=failed\n", 2},
		"":                                {nil, "kopf: retry what? name an object, such as kopf retry kex/demo, or the objects in a state, such as kopf retry --state=failed\n", 2},
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
	if got, output := run("--state=failed"); got != 1 || !strings.HasPrefix(output, "kopf: no operator runs on this machine; start it with kopf run") {
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
	if got, output := run("--state=failed"); got != 0 || output != "retrying 1 object\n" || len(op.got()) != 1 {
		t.Errorf("%d, %s", got, output)
	}
	if got, output := run("kex/a"); got != 0 || len(op.got()) != 2 {
		t.Errorf("%d, %s", got, output)
	}
	serveInspector(t, filepath.Join(folder(3), "1.sock"), kex("one", "a", inspect.StateFailed, failedCreate))
	if got, output := run("--state=failed"); got != 1 || !strings.HasPrefix(output, "kopf: retry the objects that are failed: several operators have some; name one with --inspect:\n  operator 4711") {
		t.Errorf("%d, %s", got, output)
	}
	if len(op.got()) != 2 {
		t.Error("it was asked all the same")
	}
}

func TestOperatorChoice_ByProject(t *testing.T) {
	cache := shortDir(t)
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "TMPDIR"} {
		t.Setenv(name, cache)
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	operators := 0
	// start starts an operator of the project in a folder of the root.
	start := func(project string) (socket string) {
		operators++
		sockets := filepath.Join(caches, "kopf", "operators", fmt.Sprintf("run-%d", operators))
		folder := filepath.Join(root, project)
		for _, dir := range []string{sockets, filepath.Join(folder, "handlers")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for path, content := range map[string]string{filepath.Join(sockets, "project"): folder, filepath.Join(folder, "go.mod"): "module example.com/" + project} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(sockets, "1.sock")
	}
	expect := func(folder, line string, code int, output string) {
		t.Helper()
		t.Chdir(filepath.Join(root, folder))
		var got strings.Builder
		if gotCode := execute(t.Context(), strings.Fields(line), &got, &got); gotCode != code || !strings.HasPrefix(got.String(), output) {
			t.Errorf("kopf %s in %s: %d, %s", line, folder, gotCode, got.String())
		}
	}
	expect("", "get --project=hello", 1, "kopf: --project=hello: no operator of this project runs on this machine; start it with kopf run or kopf dev\n")

	hello := serveInspector(t, start("hello"), kex("one", "a", inspect.StateFailed, failedCreate))
	other := serveInspector(t, start("other"), kex("two", "a", inspect.StateFailed, failedCreate))
	several := "kopf: several operators run on this machine; name one with --project or "
	expect("", "get", 1, several+"--inspect:\n  operator 4711 of "+filepath.Join(root, "hello")+" at unix:")
	expect("", "attach", 1, several+"ADDRESS:\n")
	expect("", "retry --state=failed", 1, "kopf: retry the objects that are failed: several operators have some; name one with --project or --inspect:\n")
	expect("", "get -o json --project=other", 0, "[\n  {\n    \"resource\": \"kopfexamples.v1.kopf.dev\",\n    \"namespace\": \"two\"")
	expect("", "get -o json --project=./hello/handlers", 0, "[\n  {\n    \"resource\": \"kopfexamples.v1.kopf.dev\",\n    \"namespace\": \"one\"")
	expect("other/handlers", "get -o json", 0, "[\n  {\n    \"resource\": \"kopfexamples.v1.kopf.dev\",\n    \"namespace\": \"two\"")
	expect("hello", "retry --state=failed", 0, "retrying 1 object\n")
	expect("hello", "retry kex/a --project=other", 0, "retrying kex/a in two\n")
	if n, m := len(hello.got()), len(other.got()); n != 1 || m != 1 {
		t.Errorf("the operators got %d and %d intents", n, m)
	}
	expect("", "get --project=helo", 1, "kopf: --project=helo: no operator of this project runs on this machine; did you mean hello?\n")
	expect("", "get --project=.", 1, "kopf: --project=.: no operator of this project runs on this machine; there are hello, other\n")

	// An operator of another project that cannot be read is no obstacle; one of the same project is.
	serveVersion(t, start("old"), "999")
	expect("hello", "get", 0, "STATE ")
	expect("", "get --project=other", 0, "STATE ")
	expect("old", "get", 1, "kopf: read the state of the operator at unix:")
	expect("", "get", 1, several)
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
		"kex/b":                          {0, []string{"retrying kex/b"}},
		"--state=failed":                 {0, []string{"retrying 1 object\n"}},
		"kex/a":                          {1, []string{"there is no kex/a in:", "operator 4711", "2.sock", "version 999"}},
		"--state=failed --handler=other": {1, []string{"the operators that can be read have none", "2.sock", "version 999"}},
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
	if got := execute(t.Context(), []string{"retry", "--state=failed", "--inspect=unix:/no/such/socket"}, &output, &output); got != 1 || !strings.Contains(output.String(), "is it running?") {
		t.Errorf("%d, %s", got, output.String())
	}
	output.Reset()
	if got := execute(t.Context(), []string{"retry", "--state=failed", "--inspect=nowhere"}, &output, &output); got != 2 {
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
	got := execute(t.Context(), []string{"retry", "--state=failed", address}, &output, &output)
	if got != 1 || !strings.Contains(output.String(), "401") || strings.Contains(output.String(), "is it running?") {
		t.Errorf("%d, %s", got, output.String())
	}
}
