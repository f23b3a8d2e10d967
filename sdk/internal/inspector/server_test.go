package inspector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// serve serves the hub on a socket, and returns its address and a function that stops it.
func serve(t *testing.T, hub *Hub) (address string, stop func() error) {
	t.Helper()
	address = "unix:" + filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := listen(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, hub) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return address, stop
}

func dial(t *testing.T, address string) *inspect.Client {
	t.Helper()
	client, err := inspect.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClient_SnapshotAndStream(t *testing.T) {
	hub := NewHub(HubOptions{})
	hub.PutObject(object(1, "1"))
	address, _ := serve(t, hub)
	client := dial(t, address)

	snapshot, err := client.Snapshot(t.Context())
	if err != nil || len(snapshot.Objects) != 1 {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	var seen []int
	for s, err := range client.Stream(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, len(s.Objects))
		switch len(s.Objects) {
		case 1:
			hub.PutObject(object(2, "2"))
		case 2:
			hub.PutObject(object(3, "3"))
			hub.Bye("done")
		}
	}
	if fmt.Sprint(seen) != "[1 2 3]" {
		t.Errorf("it saw %v objects", seen)
	}
}

func TestServe_LoopbackPort(t *testing.T) {
	hub := NewHub(HubOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := listen(ctx, "tcp:127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, hub) }()
	client := dial(t, "tcp:"+listener.Addr().String())
	for { // until the token is written
		if _, err := client.Snapshot(t.Context()); err == nil {
			break
		} else if !strings.Contains(err.Error(), "401") || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	file, err := inspect.TokenFile(port)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(file, runtime) {
		t.Errorf("the token is in %s: %v, %v", file, info, err)
	}
	// Another user of the machine can connect, but has no such file.
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	refused := func() {
		t.Helper()
		_, err := client.Snapshot(t.Context())
		intent := client.Do(t.Context(), inspect.Intent{Kind: inspect.IntentStop})
		for _, err := range []error{err, intent} {
			if err == nil || !strings.Contains(err.Error(), "wrong token") {
				t.Errorf("without the token: %v", err)
			}
		}
	}
	refused()
	t.Setenv(inspect.TokenVariable, "guessed")
	refused()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(inspect.TokenVariable, strings.TrimSpace(string(text)))
	if _, err := client.Snapshot(t.Context()); err != nil {
		t.Errorf("with the token in the environment: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the token is left behind: %v", err)
	}
}

func TestServe_TokenOfEnvironmentIsInNoFile(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Setenv(inspect.TokenVariable, "given")
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := listen(ctx, "tcp:127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, NewHub(HubOptions{})) }()
	client := dial(t, "tcp:"+listener.Addr().String())
	if _, err := client.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	t.Setenv(inspect.TokenVariable, "other")
	if _, err := client.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), inspect.TokenVariable) {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(runtime); err != nil || len(files) > 0 {
		t.Errorf("there are %v, %v", files, err)
	}
}

func TestServe_TokenFolderOfOthersIsRefused(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	if err := os.MkdirAll(filepath.Join(runtime, "kopf", "inspectors"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), "tcp:127.0.0.1:0", NewHub(HubOptions{})); err == nil || !strings.Contains(err.Error(), "others have access") {
		t.Error(err)
	}
}

func TestListen_SocketIsPrivateFromTheBeginning(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "s")
	listener, err := listenPrivately(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// strangerVariable makes the test's program a client of an address.
const strangerVariable = "KOPF_TEST_STRANGER"

// strange reads an inspector as another user, and prints the error.
func strange(address string) {
	client, err := inspect.Dial(address)
	if err == nil {
		_, err = client.Snapshot(context.Background())
	}
	fmt.Println("stranger:", err)
}

func TestListen_OtherUsersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	// A root operator trusts only root; a wrong mode opens its socket to all users.
	dir, err := os.MkdirTemp("/tmp", "kopf-stranger-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skipf("needs /proc, to run a copy of this program as another user: %v", err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "stranger"), program, 0o755)); err != nil {
		t.Fatal(err)
	}
	listener, err := listen(t.Context(), "unix:"+filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, NewHub(HubOptions{})) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for mode, want := range map[os.FileMode]string{0o600: "permission denied", 0o666: ""} {
		if err := os.Chmod(filepath.Join(dir, "s"), mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "stranger"))
		cmd.Env = []string{strangerVariable + "=unix:" + filepath.Join(dir, "s")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "stranger:") {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(string(out), "<nil>") || !strings.Contains(string(out), want) {
			t.Errorf("with the mode %o: %s", mode, out)
		}
	}
}

func TestServe_RejectsOtherAddresses(t *testing.T) {
	for _, address := range []string{
		"", "unix:", "tcp:", "tcp:8080", "tcp::8080", "tcp:0.0.0.0:8080", "tcp:[::]:8080", "tcp:example.com:80",
		"http://127.0.0.1:80", "unix:" + strings.Repeat("x", 200),
	} {
		_, err := inspect.Dial(address)
		served := Serve(t.Context(), address, NewHub(HubOptions{}))
		for _, err := range []error{err, served} {
			if _, ok := errors.AsType[*inspect.AddressError](err); !ok {
				t.Errorf("%q: %v", address, err)
			}
		}
	}
}

func TestServe_ReplacesOnlyStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t.Context(), "unix:"+path); err == nil {
		t.Fatal("a socket in use was taken over")
	}
	left.SetUnlinkOnClose(false) // as if it had been killed
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}

func TestClient_IntentsAreAnswered(t *testing.T) {
	var got inspect.Intent
	hub := NewHub(HubOptions{Intents: func(in inspect.Intent) inspect.Reply {
		got = in
		if in.Kind == inspect.IntentRetry {
			return inspect.Reply{Error: "nothing to retry"}
		}
		return inspect.Reply{OK: true}
	}})
	address, _ := serve(t, hub)
	client := dial(t, address)
	if err := client.Do(t.Context(), inspect.Intent{Kind: inspect.IntentPause}); err != nil {
		t.Error(err)
	}
	err := client.Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetry, Object: &inspect.Ref{Name: "x"}})
	refused, ok := errors.AsType[*inspect.RefusedError](err)
	if !ok || refused.Reason != "nothing to retry" || got.Object.Name != "x" {
		t.Errorf("%v, of %+v", err, got)
	}
}

func TestServe_MalformedIntentIsBadRequest(t *testing.T) {
	for body, reason := range map[string]string{
		"{":                           "unexpected EOF",
		"":                            "the request is empty",
		`{"kind":"stop"}garbage`:      "something follows the JSON object",
		`{"kind":"stop"}{"kind":"x"}`: "something follows the JSON object",
		`{"kind":"stop"} null`:        "something follows the JSON object",
		`{"kind":"stop"}]`:            "something follows the JSON object",
		`{"kind":"stop","force":1}`:   `unknown field "force"`,
		`{"kind":"retry","object":{"name":"x","kind":"y"}}`:             `unknown field "kind"`,
		`{"kind":"stop","value":"` + strings.Repeat("x", 64<<10) + `"}`: "too large",
	} {
		hub := NewHub(HubOptions{Intents: func(in inspect.Intent) inspect.Reply {
			t.Errorf("%.40s: the operator carries out %+v", body, in)
			return inspect.Reply{OK: true}
		}})
		w := httptest.NewRecorder()
		protocol(hub, token{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost"+inspect.IntentsPath, strings.NewReader(body)))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "decode the intent: ") {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
		var reply inspect.Reply
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || reply.OK || !strings.Contains(reply.Error, reason) {
			t.Errorf("%.40s: %+v, %v", body, reply, err)
		}
	}
}

func TestServe_AcceptsIntentWithLineBreak(t *testing.T) {
	hub := NewHub(HubOptions{Intents: func(inspect.Intent) inspect.Reply { return inspect.Reply{OK: true} }})
	w := httptest.NewRecorder()
	protocol(hub, token{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost"+inspect.IntentsPath, strings.NewReader("{\"kind\":\"stop\"}\r\n")))
	if w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestServe_EscapesInvisibleCharacters reads the bytes of the responses, as curl prints them.
func TestServe_EscapesInvisibleCharacters(t *testing.T) {
	const evil = "a\u202eb\u009bc\u2066d\U000e0041e\x7f\u2028"
	hub := NewHub(HubOptions{Intents: func(inspect.Intent) inspect.Reply { return inspect.Reply{Error: evil} }})
	hub.Log(inspect.LogLine{Level: "info", Message: evil})
	h := protocol(hub, token{})
	read := func(method, path, body string) string {
		ctx, cancel := context.WithCancel(t.Context())
		w := &firstWrite{ResponseRecorder: httptest.NewRecorder(), then: cancel}
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body)))
		return w.Body.String()
	}
	for _, got := range []string{
		read(http.MethodGet, inspect.SnapshotPath, ""), read(http.MethodGet, inspect.StreamPath, ""),
		read(http.MethodPost, inspect.IntentsPath, `{"kind":"pause"}`),
	} {
		if want := `a\u202eb\u009bc\u2066d\udb40\udc41e\u007f\u2028`; !strings.Contains(got, want) || !strings.HasSuffix(got, "}\n") {
			t.Errorf("%s is not in %s", want, got)
		}
		for _, r := range evil {
			if r > 'e' && strings.ContainsRune(got, r) {
				t.Errorf("%q is in %q", r, got)
			}
		}
	}
}

// firstWrite calls a function after the response was flushed.
type firstWrite struct {
	*httptest.ResponseRecorder
	then func()
}

func (w *firstWrite) Flush() {
	w.ResponseRecorder.Flush()
	w.then()
}

func TestServe_RefusesWebPages(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"an origin":      func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a foreign host": func(r *http.Request) { r.Host = "evil.example:80" },
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+inspect.SnapshotPath, nil)
		change(r)
		w := httptest.NewRecorder()
		protocol(NewHub(HubOptions{}), token{}).ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

func TestServe_SendsLastChangesAtTheEnd(t *testing.T) {
	hub := NewHub(HubOptions{Interval: time.Hour}) // so that only the end sends them
	address, stop := serve(t, hub)
	var last inspect.Message
	for m, err := range dial(t, address).Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Snapshot != nil {
			hub.PutObject(object(1, "1"))
			hub.Bye("stopped")
			go func() { _ = stop() }() // its error is seen at the test's end
		}
		last = m
	}
	if last.Bye == nil || *last.Bye != "stopped" {
		t.Errorf("the last message is %+v", last)
	}
}

func TestServe_BlockedReaderDelaysNoOther(t *testing.T) {
	hub := NewHub(HubOptions{Interval: time.Nanosecond, LogLines: 10})
	address, stop := serve(t, hub)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "unix", strings.TrimPrefix(address, "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET "+inspect.StreamPath+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// It reads the first line, so that it is known to be subscribed, and then no more.
	if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	big, objects, changes := strings.Repeat("x", 1000), 1000, 50_000
	if testing.Short() {
		objects, changes = 500, 10_000
	}
	for n := range changes { // far more than the buffers between the two hold
		o := object(n%objects, fmt.Sprint(n))
		o.Kind = big
		hub.PutObject(o)
		hub.Log(inspect.LogLine{Level: "info", Message: big})
	}
	// Meanwhile another reader is served, and is up to date.
	snapshot, err := dial(t, address).Snapshot(t.Context())
	if err != nil || len(snapshot.Objects) != objects || snapshot.Revision != hub.Snapshot().Revision {
		t.Errorf("%v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
