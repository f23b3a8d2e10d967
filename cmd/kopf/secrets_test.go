package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kopf-dev/kopf/cmd/kopf/testdata/planted"
	"github.com/kopf-dev/kopf/listing"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// output is a text that is written while others read it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the output so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// plantation is an operator with a secret in every place, and everything that was written about it.
type plantation struct {
	t       *testing.T
	cluster *kopftest.Cluster
	op      *kopftest.Operator
	address string // address of the inspector
}

// wrote fails the test if a text has a secret, or does not mention something.
func (p *plantation) wrote(where, text, mentions string) {
	p.t.Helper()
	if !strings.Contains(text, mentions) {
		p.t.Errorf("%s does not mention %q: %.3000s", where, mentions, text)
	}
	for i := range planted.Places {
		place := &planted.Places[i]
		for _, spelling := range []string{place.Value(), base64.StdEncoding.EncodeToString([]byte(place.Value()))} {
			if at := strings.Index(text, spelling); at >= 0 {
				p.t.Errorf("%s shows the secret of %s: …%s…", where, place.Name, text[max(0, at-300):min(len(text), at+len(spelling)+20)])
			}
		}
	}
}

// follow runs a command of kopf until the context ends. It returns the output.
func (p *plantation) follow(ctx context.Context, running *sync.WaitGroup, args ...string) *output {
	var out output
	running.Go(func() { execute(ctx, args, &out, &out) })
	return &out
}

// get reads the path of the inspector as any HTTP client could.
func (p *plantation) get(path string) string {
	p.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(p.address, "unix:"))
	}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("http://localhost" + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s, %s, %v", path, resp.Status, text, err)
	}
	return string(text)
}

// TestE2E_SecretsAreInNothingThatIsWritten plants a secret in each place from which one could be written, and searches everything
// that is written.
func TestE2E_SecretsAreInNothingThatIsWritten(t *testing.T) {
	p := &plantation{t: t, cluster: kopftest.New(t), address: "unix:" + filepath.Join(shortDir(t), "i")}
	p.cluster.ApplyFile("testdata/planted/crd.yaml")
	logs := map[string]*output{"full": {}, "plain": {}, "json": {}}
	p.op = p.cluster.Run(planted.Register, func(o *kopf.Operator) {
		o.Settings.Process.Inspector = p.address
		o.Settings.Redaction.Fields = planted.Hidden // for golden files
		o.Settings.Posting.Loggers = true
		o.Settings.Admission.Server = &webhook.Server{}
		o.Settings.Admission.Managed = p.cluster.Namespace + ".example.com"
		all := []slog.Handler{o.Logger.Handler()}
		for format, out := range logs {
			all = append(all, logging.NewHandler(out, &logging.Options{Format: format, Level: slog.LevelDebug}))
		}
		o.Logger = slog.New(slog.NewMultiHandler(all...))
	})
	if err := p.op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentLogLevel, Value: "debug"}); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	followed := map[string]*output{
		"attach":         p.follow(ctx, &running, "attach", p.address, "-v"),
		"attach, json":   p.follow(ctx, &running, "attach", p.address, "-v", "--log-format=json"),
		"get --watch":    p.follow(ctx, &running, "get", "resources", "-o", "wide", "--watch", "--inspect="+p.address),
		"get -w, json":   p.follow(ctx, &running, "get", "resources", "-o", "json", "--watch", "--inspect="+p.address),
		"inspect.Stream": {},
	}
	running.Go(func() {
		for m, err := range p.op.Inspector().Messages(ctx) {
			if err == nil {
				err = json.NewEncoder(followed["inspect.Stream"]).Encode(m)
			}
			if err != nil {
				return
			}
		}
	})

	p.plant()
	p.checkInspector()
	p.checkKubernetesEvents()
	p.checkGet()
	p.checkMCP()
	p.checkGolden()
	t.Run("workbench", p.checkWorkbench)
	p.op.Stop()
	stop()
	running.Wait()
	for name, out := range followed {
		p.wrote(name, out.String(), "permanent")
	}
	for format, out := range logs {
		p.wrote("the log, "+format, out.String(), "no login at permanent")
	}
	p.checkRun()
}

// plant creates the objects of all places, and waits until their handlers have run.
func (p *plantation) plant() {
	p.t.Helper()
	objects := map[string]*kopftest.Object{}
	for i := range planted.Places {
		place := &planted.Places[i]
		objects[place.Name] = p.cluster.Create(place.Manifest(p.cluster.Namespace))
	}
	for i := range planted.Places {
		place := &planted.Places[i]
		if place.Change != nil {
			if place.Register != nil {
				p.op.WaitHandled(objects[place.Name])
			}
			objects[place.Name].TryPatch(place.Change(place.Value())) // a review may deny it
		}
	}
	for i := range planted.Places {
		place := &planted.Places[i]
		if place.Says != "" {
			p.op.WaitLog(place.Says)
		}
		p.op.WaitInspect("it knows "+place.Name, func(s *inspect.Snapshot) bool {
			return slices.ContainsFunc(s.Objects, func(o *inspect.Object) bool { return o.Name == place.Name })
		})
		o, posted := objects[place.Name].Get(), place.Value()
		if place.Unreadable {
			posted = "nothing"
		}
		p.cluster.Create(map[string]any{
			"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": place.Name}, "type": "Warning", "reason": "Odd",
			"message":        "posted by another with " + posted,
			"involvedObject": map[string]any{"name": place.Name, "namespace": p.cluster.Namespace, "uid": o.Get("metadata.uid")},
		})
	}
}

func (p *plantation) checkInspector() {
	p.t.Helper()
	p.wrote("the snapshot", p.get(inspect.SnapshotPath), "no login at permanent")
	p.wrote("the requests", p.get(inspect.RequestsPath), "{")
	for _, id := range []string{"index", "secret-index"} {
		p.wrote("the index", p.get(inspect.IndexPath+"?id="+id), `"value":"[redacted]"`)
	}
	snapshot, err := p.op.Inspector().Snapshot(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, o := range snapshot.Objects {
		query := "?" + url.Values{"resource": {o.Resource}, "namespace": {o.Namespace}, "name": {o.Name}, "uid": {o.UID}}.Encode()
		p.wrote("the object", p.get(inspect.ObjectPath+query), `"[redacted]`)
		p.wrote("the events", p.get(inspect.EventsPath+query), "posted by another")
	}
}

// checkKubernetesEvents reads the Kubernetes events that the operator has posted.
func (p *plantation) checkKubernetesEvents() {
	p.t.Helper()
	var own []string
	p.cluster.WaitList("events.v1", "failures are posted", func(list []*kopf.Object) bool {
		own = nil
		for _, e := range list {
			if e.Get("reason") != "Odd" {
				own = append(own, fmt.Sprint(e.Get("")))
			}
		}
		all := strings.Join(own, "\n")
		return strings.Contains(all, "no login at permanent") && strings.Contains(all, "posted at log") && strings.Contains(all, "refused at old")
	})
	p.wrote("a Kubernetes event", strings.Join(own, "\n"), "[redacted]")
}

func (p *plantation) checkGet() {
	p.t.Helper()
	for _, kind := range listing.Kinds() {
		for _, format := range listing.Formats() {
			var out bytes.Buffer
			if got := execute(p.t.Context(), []string{"get", kind, "-o", format, "--inspect=" + p.address}, &out, &out); got != 0 {
				p.t.Errorf("get %s -o %s: %d, %s", kind, format, got, &out)
			}
			p.wrote("get "+kind+" -o "+format, out.String(), "")
			if kind == "resources" {
				p.wrote("get "+kind+" -o "+format, out.String(), "permanent")
			}
		}
	}
}

// checkMCP calls all reading tools of kopf mcp for all objects.
func (p *plantation) checkMCP() {
	p.t.Helper()
	cmd, _, stderr := command(p.t, p.t.TempDir(), "mcp", "--attach", p.address)
	cmd.Stdout = nil
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(p.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		p.t.Fatalf("%v: %s", err, stderr)
	}
	defer func() {
		if err := session.Close(); err != nil {
			p.t.Errorf("%v: %s", err, stderr)
		}
	}()
	list, err := session.ListTools(p.t.Context(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	var all strings.Builder
	for _, tool := range list.Tools {
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Name == "wait_until_settled" {
			continue
		}
		for i := range planted.Places {
			place := &planted.Places[i]
			given := map[string]any{"kind": place.Manifest("")["kind"], "name": place.Name, "handler": place.Name, "id": place.Name}
			arguments := map[string]any{}
			if schema, ok := tool.InputSchema.(map[string]any); ok {
				properties, _ := schema["properties"].(map[string]any)
				for name, value := range given {
					if _, ok := properties[name]; ok {
						arguments[name] = value
					}
				}
			}
			result, err := session.CallTool(p.t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
			if err != nil {
				p.t.Fatalf("%s: %v", tool.Name, err)
			}
			for _, content := range result.Content {
				fmt.Fprintf(&all, "%s %s: %s\n", tool.Name, place.Name, content.(*mcp.TextContent).Text)
			}
		}
	}
	p.wrote("mcp", all.String(), "no login at permanent")
	p.wrote("mcp", all.String(), "refused at old")
}

// checkGolden writes a golden file of kopftest.
func (p *plantation) checkGolden() {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "golden.yaml")
	p.t.Setenv("KOPFTEST_UPDATE", "1")
	p.op.Golden(path, p.cluster.Object("vaults.v1.planted.example.com", "status"), p.cluster.Object("vaults.v1.planted.example.com", "result"))
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.wrote("the golden file", string(text), "user:[redacted]")
}

// checkWorkbench looks at objects in a terminal that shows all of their text.
func (p *plantation) checkWorkbench(t *testing.T) {
	term := newTerminal(t, terminalOptions{dir: "testdata"}, "attach", p.address)
	term.resize(300, 200)
	for _, place := range []string{"old", "long-id", "annotation", "nested", "broken", "orphan", "status", "api-error", "secret"} {
		term.shows("need you") // the list of objects
		term.types("/", "C-u")
		term.types(strings.Split(place, "")...)
		term.types("Enter", "y")
		term.shows("/"+place+"  ", "name: "+place)
		p.wrote("the YAML of "+place, term.screen(), "redacted")
		term.types("v")
		term.shows("posted by another")
		p.wrote("the events of "+place, term.screen(), "Odd")
		term.types("h")
		term.hides("posted by another")
		p.wrote("the handlers of "+place, term.screen(), place)
		term.types("Escape")
	}
	term.shows("need you")
	term.types("q")
	term.shows("ended with 0")
}

// checkRun runs the operator by kopf run for an object that fails, for its report.
func (p *plantation) checkRun() {
	p.t.Helper()
	at := slices.IndexFunc(planted.Places, func(place planted.Place) bool { return place.Name == "permanent" })
	folder := p.t.TempDir()
	manifest := planted.Places[at].Manifest(p.cluster.Namespace)
	manifest["metadata"].(map[string]any)["name"] = "reported"
	text, err := json.Marshal(manifest)
	if err != nil {
		p.t.Fatal(err)
	}
	object, report := filepath.Join(folder, "o.json"), filepath.Join(folder, "report.xml")
	writeFile(p.t, object, string(text), 0o600)
	cmd, stdout, stderr := command(p.t, "testdata", "run", "./planted", "--kubeconfig="+p.cluster.Kubeconfig(), "-n", p.cluster.Namespace,
		"--apply", object, "--until=settled", "--report="+report, "-v")
	cmd.Env = inCheckout(cmd.Env)
	if got := code(p.t, cmd.Run()); got != 1 {
		p.t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	p.wrote("kopf run", stdout.String()+stderr.String(), "no login at permanent")
	written, err := os.ReadFile(report)
	if err != nil {
		p.t.Fatal(err)
	}
	p.wrote("the report", string(written), "no login at permanent")
}
