package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// published is a source with one state.
type published struct {
	state    *runner.State
	changes  chan struct{}
	intents  []runner.Intent
	children func(parent inspect.Ref) (*inspect.ChildList, error)
}

func (p *published) State() *runner.State     { return p.state }
func (p *published) Changes() <-chan struct{} { return p.changes }
func (p *published) Children(_ context.Context, parent inspect.Ref) (*inspect.ChildList, error) {
	return p.children(parent)
}
func (p *published) Do(_ context.Context, in runner.Intent) error {
	p.intents = append(p.intents, in)
	return nil
}

// connect returns a client of a server for a state. The server must not act for the reason, if there is one.
func connect(t *testing.T, state *runner.State, mayNot error) (*mcp.ClientSession, *published) {
	t.Helper()
	source := &published{state: state, changes: make(chan struct{})}
	ours, theirs := mcp.NewInMemoryTransports()
	server := New(source, Options{Version: "v0", MayAct: func(*runner.State) error { return mayNot }})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(context.WithoutCancel(t.Context()), theirs) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return session, source
}

// ask calls a tool, and returns the text of its answer.
func ask(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

func object(namespace, name string, state inspect.ObjectState, handlers ...inspect.HandlerState) *inspect.Object {
	return &inspect.Object{
		Ref:  inspect.Ref{Resource: "kopfexamples.v1.kopf.dev", Namespace: namespace, Name: name, UID: namespace + name},
		Kind: "KopfExample", Short: "kex", State: state, Handlers: handlers, ResourceVersion: "7",
	}
}

func running() *runner.State {
	label := &inspect.Mismatch{Kind: inspect.MismatchLabel, Path: "tier", Absent: true, Wants: "gold"}
	return &runner.State{
		Live: true, Process: runner.Process{Phase: runner.ProcessRunning}, Cluster: runner.Cluster{Phase: runner.ClusterReady}, Build: runner.Build{Phase: runner.BuildBuilt},
		Snapshot: &inspect.Snapshot{
			Operator: inspect.Operator{State: inspect.OperatorRunning, Settled: true},
			Served:   []inspect.Resource{{Key: "kopfexamples.v1.kopf.dev", Kind: "KopfExample", Listed: true}},
			Handlers: []inspect.Handler{{ID: "create"}, {ID: "gold"}, {ID: "other", Selector: "pods"}},
			Objects: []*inspect.Object{
				object("one", "a", inspect.StateFailed, inspect.HandlerState{ID: "create", Kind: inspect.KindCreate, State: inspect.PhaseFailed, Attempt: 1,
					Error: &inspect.HandlerError{Message: "no"}, Attempts: []inspect.Attempt{{Took: inspect.Duration(time.Second)}}}),
				object("two", "a", inspect.StateIgnored, inspect.HandlerState{ID: "gold", Kind: inspect.KindCreate, State: inspect.PhaseFiltered, Why: label,
					Steps: []inspect.Step{{Name: "bucket", State: inspect.StepRecorded, Key: "4f0k"}}}),
			},
		},
		Log: []inspect.LogLine{{Level: inspect.LevelInfo, Message: "hello"}, {Level: inspect.LevelError, Message: "bad"}, {Level: runner.LevelPrint, Message: "printed"}},
	}
}

// TestServer_EscapesInvisibleCharacters reads the answers as clients show them.
func TestServer_EscapesInvisibleCharacters(t *testing.T) {
	const evil = "no\u202e\u009b31m\u2066"
	state := running()
	state.Snapshot.Objects[0].Handlers[0].Error.Message = evil
	state.Log = append(state.Log, inspect.LogLine{Level: inspect.LevelError, Message: evil})
	session, _ := connect(t, state, nil)
	for tool, arguments := range map[string]map[string]any{
		"object": {"kind": "kex", "name": "a", "namespace": "one"},
		"log":    {"level": "error"},
		"why":    {"kind": "kex", "name": evil}, // an error, which repeats the name
	} {
		text, _ := ask(t, session, tool, arguments)
		if !strings.Contains(text, `no\u202e\u009b31m\u2066`) || strings.ContainsAny(text, "\u202e\u009b\u2066") {
			t.Errorf("%s: %q", tool, text)
		}
	}
}

func TestServer_AnswersAboutObjects(t *testing.T) {
	state := running()
	state.Snapshot.Objects[1].Pass = &inspect.Pass{Outcome: inspect.PassComplete, Applied: 2, Unchanged: 2, Wakes: []inspect.Wake{{Kind: inspect.WakeRequest}}}
	session, _ := connect(t, state, nil)
	for _, test := range []struct {
		tool      string
		arguments map[string]any
		want      []string
		failed    bool
	}{
		{"objects", nil, []string{`"total":2`, `"verdict":`}, false},
		{"objects", map[string]any{"state": "failed"}, []string{`"total":1`, `"handler":"create"`}, false},
		{"objects", map[string]any{"state": "broken"}, []string{"want one of stuck, failed, running"}, true},
		{"objects", map[string]any{"limit": 1}, []string{`"total":2`}, false},
		{"object", map[string]any{"kind": "kex", "name": "a", "namespace": "one"}, []string{`"resourceVersion":"7"`}, false},
		{"why", map[string]any{"kind": "kex", "name": "a"}, []string{"several objects are named kex/a; name the namespace: one, two"}, true},
		{"why", map[string]any{"kind": "kex", "name": "b"}, []string{"the operator does not know kex/b"}, true},
		{"why", map[string]any{"kind": "kex", "name": "a", "namespace": "two"}, []string{"No handler matches", `"state":"filtered"`, `"steps":["bucket is recorded, key 4f0k"]`, `"pass":"woken by a request · 2 applied, unchanged"`}, false},
		{"why_not", map[string]any{"kind": "kex", "name": "a", "namespace": "two", "handler": "gold"}, []string{`"path":"tier"`, `"wants":"gold"`}, false},
		{"why_not", map[string]any{"kind": "kex", "name": "a", "namespace": "two", "handler": "other"}, []string{"handler other is for pods"}, true},
		{"attempts", map[string]any{"kind": "kex", "name": "a", "namespace": "one"}, []string{`"took":1`, `"message":"no"`}, false},
		{"log", map[string]any{"level": "error"}, []string{"bad", "printed"}, false},
		{"log", map[string]any{"level": "loud"}, []string{"want debug, info, warn or error"}, true},
		{"log", map[string]any{"limit": 1}, []string{"printed"}, false},
		{"wait_until_settled", nil, []string{`"settled":false`, "create: failed permanently (attempt 1): no"}, false},
		{"wait_until_settled", map[string]any{"seconds": 601}, []string{"want at most 600"}, true},
		{"retry", nil, []string{"retry: which object? give its kind and name, or all_failed"}, true},
		{"release_brake", nil, []string{"release_brake: no pruning has stopped"}, true},
		{"status", nil, []string{`"failed":1`, `"ignored":1`, `"actions":"allowed"`}, false},
	} {
		text, failed := ask(t, session, test.tool, test.arguments)
		if failed != test.failed {
			t.Errorf("%s %v: %s", test.tool, test.arguments, text)
		}
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s %v: %q is not in %s", test.tool, test.arguments, want, text)
			}
		}
	}
	if text, _ := ask(t, session, "log", map[string]any{"level": "error"}); strings.Contains(text, "hello") {
		t.Errorf("the errors are %s", text)
	}
}

func TestServer_ActsOnlyIfItMay(t *testing.T) {
	session, source := connect(t, running(), errors.New("this is production"))
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var acting []string
	for _, tool := range tools.Tools {
		if !tool.Annotations.ReadOnlyHint {
			acting = append(acting, tool.Name)
			if text, failed := ask(t, session, tool.Name, nil); !failed || text != tool.Name+": this is production" {
				t.Errorf("%s: %s", tool.Name, text)
			}
		}
	}
	slices.Sort(acting)
	if want := []string{"apply", "pause", "rebuild", "release_brake", "resume", "retry"}; !slices.Equal(acting, want) {
		t.Errorf("the tools that act are %q", acting)
	}
	if len(source.intents) > 0 {
		t.Errorf("it did %+v", source.intents)
	}
	if text, _ := ask(t, session, "status", nil); !strings.Contains(text, `"actions":"this is production"`) {
		t.Errorf("the status is %s", text)
	}
}

func TestServer_CrashOfFormerBuildIsNotThatOfNew(t *testing.T) {
	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	state := &runner.State{
		Cluster: runner.Cluster{Phase: runner.ClusterReady},
		Build:   runner.Build{Phase: runner.BuildBuilt, Started: start, Took: 2 * time.Second},
		Process: runner.Process{Phase: runner.ProcessCrashed, Exit: "exit status 2", Panic: &runner.Panic{Message: "boom", File: "a.go", Line: 7}},
	}
	for started, want := range map[time.Duration]string{time.Second: "", 3 * time.Second: "panic: boom at a.go:7"} {
		state.Process.Started = start.Add(started)
		s := New(&published{state: state}, Options{})
		if out, ended := s.settlement(state); out.Crash != want || ended != (want != "") {
			t.Errorf("a process that was started after %s: %+v, ended %t", started, out, ended)
		}
	}
}

func TestServer_SendsIntents(t *testing.T) {
	session, source := connect(t, running(), nil)
	one := map[string]any{"kind": "kex", "name": "a", "namespace": "one"}
	for _, call := range []struct {
		tool      string
		arguments map[string]any
	}{{"rebuild", nil}, {"pause", nil}, {"resume", nil}, {"pause", one}, {"resume", one}, {"apply", map[string]any{"path": "x.yaml"}}} {
		if text, failed := ask(t, session, call.tool, call.arguments); failed {
			t.Errorf("%s: %s", call.tool, text)
		}
	}
	var got []string
	for _, in := range source.intents {
		got = append(got, strings.TrimSpace(string(in.Kind)+" "+in.Value))
	}
	if want := []string{"rebuild", "pause", "resume", "pauseobject by kopf mcp", "pauseobject", "apply x.yaml"}; !slices.Equal(got, want) {
		t.Errorf("it did %q", got)
	}
	for _, wrong := range []map[string]any{{"all_failed": true, "kind": "kex"}, {"kind": "kex", "name": "a"}, {"kind": "kex", "name": "a", "namespace": "one", "handler": "none"}} {
		if text, failed := ask(t, session, "retry", wrong); !failed {
			t.Errorf("%v: %s", wrong, text)
		}
	}
}

func TestServer_ReleasesTheBrakeOfAKindOrOfAll(t *testing.T) {
	state := running()
	own, other := state.Snapshot.Objects[0].Resource, "shops.v1.example.com"
	state.Snapshot.Served = []inspect.Resource{{Key: own, Kind: "KopfExample", Short: "kex"}}
	for children, parents := range map[string]string{"configmaps.v1": own, "jobs.v1.batch": other, "deployments.v1.apps": own} {
		state.Snapshot.Operator.Alarms = append(state.Snapshot.Operator.Alarms,
			inspect.Alarm{Kind: inspect.AlarmBrake, Object: &inspect.Ref{Resource: parents}, Resource: children, Count: 3})
	}
	for kind, want := range map[string]struct {
		done    string
		intents []string
	}{
		"":      {"continuing to prune configmaps, deployments, jobs", []string{own, other}},
		"kex":   {"continuing to prune configmaps, deployments", []string{own}},
		"shops": {"continuing to prune jobs", []string{other}},
		"pods":  {"release_brake: no pruning has stopped", nil},
	} {
		session, source := connect(t, state, nil)
		text, _ := ask(t, session, "release_brake", map[string]any{"kind": kind})
		if !strings.Contains(text, want.done) {
			t.Errorf("%q: %s", kind, text)
		}
		var got []string
		for _, in := range source.intents {
			if got = append(got, in.Value); in.Kind != runner.IntentUnbrake {
				t.Errorf("%q: it did %+v", kind, in)
			}
		}
		if !slices.Equal(got, want.intents) {
			t.Errorf("%q: released %q, want %q", kind, got, want.intents)
		}
	}
}

// TestServer_ToolsAreDocumented compares the tools and their arguments with the documentation.
func TestServer_ToolsAreDocumented(t *testing.T) {
	session, _ := connect(t, running(), nil)
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	documented := documentedTools(t)
	for _, tool := range tools.Tools {
		text, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		row, ok := documented[tool.Name]
		if !ok {
			t.Errorf("tool %s is not documented", tool.Name)
		}
		for name := range schema.Properties {
			if !strings.Contains(row, "`"+name+"`") {
				t.Errorf("argument %s of tool %s is not documented", name, tool.Name)
			}
		}
		delete(documented, tool.Name)
	}
	for name := range documented {
		t.Errorf("tool %s is documented, but does not exist", name)
	}
}
