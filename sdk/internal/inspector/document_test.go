package inspector

import (
	"bufio"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// endpointsInCode returns the requests that the server handles, as its source registers them.
func endpointsInCode(t *testing.T) []string {
	t.Helper()
	paths := map[string]string{
		"SnapshotPath": inspect.SnapshotPath, "StreamPath": inspect.StreamPath, "IndexPath": inspect.IndexPath,
		"ObjectPath": inspect.ObjectPath, "EventsPath": inspect.EventsPath, "ChildrenPath": inspect.ChildrenPath,
		"RequestsPath": inspect.RequestsPath, "IntentsPath": inspect.IntentsPath,
	}
	file, err := parser.ParseFile(gotoken.NewFileSet(), "server.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "HandleFunc" {
			return true
		}
		sum, ok := call.Args[0].(*ast.BinaryExpr)
		if !ok {
			t.Fatalf("cannot read the pattern of an endpoint: %T", call.Args[0])
		}
		method, err := strconv.Unquote(sum.X.(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, method+paths[sum.Y.(*ast.SelectorExpr).Sel.Name])
		return true
	})
	slices.Sort(all)
	return all
}

// document returns the documentation of the protocol.
func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/inspector.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var documentedEndpoint = regexp.MustCompile("(?m)^\\| `((?:GET|POST|PUT|PATCH|DELETE) /[^` ]*)` \\|")

func documentedEndpoints(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, m := range documentedEndpoint.FindAllStringSubmatch(document(t), -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return all
}

func TestDocument_HasTheEndpointsOfTheServer(t *testing.T) {
	documented := documentedEndpoints(t)
	if code := endpointsInCode(t); !slices.Equal(documented, code) || len(code) == 0 {
		t.Errorf("the document has %q, the server %q", documented, code)
	}
	if want := "with the version of the protocol, which is " + strconv.Itoa(inspect.Version) + "."; !strings.Contains(document(t), want) {
		t.Errorf("the document does not say %q", want)
	}
}

// TestDocument_HoldsForTheServer sends the document's requests to a server, without the client of package inspect.
func TestDocument_HoldsForTheServer(t *testing.T) {
	hub := NewHub(HubOptions{})
	hub.PutObject(object(1, "1"))
	address, _ := serve(t, hub)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(address, "unix:"))
	}}}
	ask := func(method, path, body string, header ...string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		if got := response.Header.Get("Kopf-Inspector"); got != strconv.Itoa(inspect.Version) {
			t.Errorf("%s %s has the version %q", method, path, got)
		}
		return response
	}
	for _, endpoint := range documentedEndpoints(t) {
		method, path, _ := strings.Cut(endpoint, " ")
		want := http.StatusOK
		if path == inspect.IndexPath {
			want = http.StatusNotFound // there is no index
		}
		if response := ask(method, path, `{"kind":"retryfailed"}`); response.StatusCode != want {
			t.Errorf("%s: %s", endpoint, response.Status)
		}
	}
	for _, test := range []struct {
		method, path, body string
		header             []string
		want               int
	}{
		{"POST", "/v1/intents", "{", nil, 400},
		{"POST", "/v1/intents", `{"kind":"x","value":"` + strings.Repeat("x", 64<<10) + `"}`, nil, 400},
		{"GET", "/v1/index?id=x&offset=y", "", nil, 400},
		{"GET", "/v1/snapshot", "", []string{"Origin", "http://localhost"}, 403},
		{"GET", "/v1/none", "", nil, 404},
	} {
		if response := ask(test.method, test.path, test.body, test.header...); response.StatusCode != test.want {
			t.Errorf("%s %.30s: %s", test.method, test.path, response.Status)
		}
	}
	refused := ask("POST", "/v1/intents", `{"kind":"dance"}`)
	if text, err := io.ReadAll(refused.Body); err != nil || refused.StatusCode != http.StatusOK || !strings.Contains(string(text), `"ok":false`) {
		t.Errorf("an unknown intent: %s %s (%v)", refused.Status, text, err)
	}

	// Each message has one part, and the last one is bye.
	lines := bufio.NewScanner(ask("GET", "/v1/stream", "").Body)
	known := map[string]bool{}
	for field := range reflect.TypeFor[inspect.Message]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = true
	}
	var parts []string
	for lines.Scan() {
		var message map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil {
			t.Fatal(err)
		}
		n := 0
		for name := range message {
			if !known[name] {
				t.Errorf("a message has %q, which is not documented", name)
			}
			if name != "revision" && name != "more" && name != "dropped" {
				n++
				parts = append(parts, name)
			}
		}
		if n != 1 {
			t.Errorf("a message has %d parts: %s", n, lines.Text())
		}
		if len(parts) == 1 {
			hub.PutObject(object(2, "2"))
			hub.DropObject(object(1, "1").Ref)
			hub.Log(inspect.LogLine{Level: inspect.LevelInfo, Message: "hello"})
			hub.UpdateOperator(func(o *inspect.Operator) { o.State = inspect.OperatorRunning })
			hub.Bye("done")
		}
	}
	slices.Sort(parts[1:])
	if want := []string{"snapshot", "bye", "gone", "log", "objects", "operator"}; !slices.Equal(parts, want) {
		t.Errorf("the stream has %q, want %q", parts, want)
	}
}
