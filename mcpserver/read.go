package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// addReading adds the tools that change nothing.
func (s *Server) addReading(server *mcp.Server) {
	add(server, "status", "The state of the cluster, the build, the operator's process, and how many objects are in which state. Call it first.", s.status)
	add(server, "build_errors", "The errors of the last build, with their files, lines and the source around them.", s.buildErrors)
	add(server, "objects", "The objects that the operator has seen: the state of each, and in a sentence what happens to it and why.", s.objects)
	add(server, "object", "All that the operator knows about one object: its cause, diff, handlers, attempts and earlier causes.", s.object)
	add(server, "why", "Why an object is in its state: the cause, the changed fields, the last pass of its reconcile handler, and the state of each handler.", s.why)
	add(server, "why_not", "Why a handler was not called for an object: the first filter or reason that the object does not meet.", s.whyNot)
	add(server, "children", "The objects that reconcile handlers keep for an object, or for all objects: which of them are not ready, and why.", s.children)
	add(server, "attempts", "The attempts of an object's handlers: when each began, how long it took, its error, and when the next one is.", s.attempts)
	add(server, "log", "The newest lines of the operator's log, and of the program's output, oldest first.", s.log)
	add(server, "wait_until_settled", "Wait until the last build runs, and everything applied is handled. Returns the failed and the pending objects.", s.waitUntilSettled)
}

type nothing struct{}

// Status is the answer of the tool status.
type Status struct {
	Packages []string       `json:"packages,omitempty"`
	Attached string         `json:"attached,omitempty"` // the operator of another process
	Alarm    string         `json:"alarm,omitempty"`    // the gravest problem
	Cluster  ClusterStatus  `json:"cluster"`
	Build    BuildStatus    `json:"build"`
	Operator OperatorStatus `json:"operator"`
	Objects  map[string]int `json:"objects"` // numbers by state

	// NotServed are selectors without a resource in the cluster; Drift are fields of Go types that the schema of a
	// resource does not have.
	NotServed []string `json:"notServed,omitempty"`
	Drift     []string `json:"drift,omitempty"`

	Actions string `json:"actions"` // "allowed", or why not
}

// ClusterStatus is the state of the cluster.
type ClusterStatus struct {
	Phase    string `json:"phase"`
	Provider string `json:"provider,omitempty"`
	Name     string `json:"name,omitempty"`
	Server   string `json:"server,omitempty"`
	Message  string `json:"message,omitempty"`
	Error    string `json:"error,omitempty"`
}

// BuildStatus is the state of the build.
type BuildStatus struct {
	Phase  string   `json:"phase"`
	Took   string   `json:"took,omitempty"`
	Files  []string `json:"files,omitempty"` // changed files that triggered it
	Errors int      `json:"errors,omitempty"`

	Warnings []string `json:"warnings,omitempty"` // about the definitions of resources
}

// OperatorStatus is the state of the operator.
type OperatorStatus struct {
	Process  string    `json:"process"`
	State    string    `json:"state,omitempty"`
	PID      int       `json:"pid,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Restarts int       `json:"restarts,omitempty"` // crashes in a row
	Exit     string    `json:"exit,omitempty"`     // exit status of the last process
	Error    string    `json:"error,omitempty"`    // the last lines that it printed, if it crashed
	Panic    string    `json:"panic,omitempty"`
	PanicAt  string    `json:"panicAt,omitempty"` // file:line
}

func (s *Server) status(context.Context, nothing) (any, error) {
	state := s.state()
	out := Status{
		Packages: state.Packages, Attached: state.Attached,
		Cluster: ClusterStatus{
			Phase: string(state.Cluster.Phase), Provider: state.Cluster.Provider, Name: state.Cluster.Name, Server: state.Cluster.Server,
			Message: state.Cluster.Message, Error: state.Cluster.Error,
		},
		Build: BuildStatus{Phase: string(state.Build.Phase), Took: explain.Took(state.Build.Took), Files: state.Build.Files, Errors: len(state.Build.Errors), Warnings: state.Build.Warnings},
		Operator: OperatorStatus{
			Process: string(state.Process.Phase), PID: state.Process.PID, Started: state.Process.Started, Restarts: state.Process.Restarts,
			Exit: state.Process.Exit, Error: state.Process.Error,
		},
		Objects: map[string]int{},
		Actions: "allowed",
	}
	if alarm := state.Alarm(time.Now()); alarm.Fact != "" {
		out.Alarm = strings.TrimSuffix(alarm.Fact+": "+alarm.Rest, ": ")
	}
	if p := state.Process.Panic; p != nil {
		out.Operator.Panic = p.Message
		if p.File != "" {
			out.Operator.PanicAt = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
	}
	if err := s.options.MayAct(state.State); err != nil {
		out.Actions = err.Error()
	}
	if snapshot := state.Snapshot; snapshot != nil {
		out.Operator.State = string(snapshot.Operator.State)
		for i := range snapshot.Objects {
			out.Objects[string(snapshot.Objects[i].State)]++
		}
		for _, u := range snapshot.Unserved {
			out.NotServed = append(out.NotServed, fmt.Sprintf("%s (of %s): %s", u.Selector, strings.Join(u.Handlers, ", "), explain.UnservedReason(u.Reason)))
		}
		for _, r := range snapshot.Served {
			for i := range r.Drift {
				out.Drift = append(out.Drift, explain.DriftSentence(r.Kind, &r.Drift[i]))
			}
		}
	}
	return out, nil
}

// BuildErrors is the answer of the tool build_errors.
type BuildErrors struct {
	Phase  string       `json:"phase"` // phase of the build
	Folder string       `json:"folder,omitempty"`
	Errors []BuildError `json:"errors"`
}

// BuildError is an error of a build.
type BuildError struct {
	File     string   `json:"file,omitempty"` // relative to the folder
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Message  string   `json:"message"`
	Source   []string `json:"source,omitempty"` // the lines around the error
	SourceAt int      `json:"sourceAt,omitempty"`
}

func (s *Server) buildErrors(context.Context, nothing) (any, error) {
	state := s.source.State()
	if state.Attached != "" {
		return nil, errAttached
	}
	return buildErrorsOf(state), nil
}

func buildErrorsOf(state *runner.State) BuildErrors {
	out := BuildErrors{Phase: string(state.Build.Phase), Folder: state.Dir, Errors: []BuildError{}}
	for _, e := range state.Build.Errors {
		out.Errors = append(out.Errors, BuildError(e))
	}
	return out
}

type objectsIn struct {
	Kind      string `json:"kind,omitempty" jsonschema:"only this kind, plural or short name of a resource"`
	Namespace string `json:"namespace,omitempty" jsonschema:"only this namespace"`
	State     string `json:"state,omitempty" jsonschema:"only this state, such as failed, retrying, running, ignored or settled"`
	Limit     int    `json:"limit,omitempty" jsonschema:"the maximal number of objects (default 100)"`
}

// Objects is the answer of the tool objects.
type Objects struct {
	Total   int          `json:"total"` // number of selected objects, also beyond the limit
	Objects []ObjectLine `json:"objects"`
}

// ObjectLine sums up an object.
type ObjectLine struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Verdict   string `json:"verdict"`
	Handler   string `json:"handler,omitempty"` // handler that determines the state
}

const defaultLimit = 100

// states are the states of objects.
var states = []string{
	string(inspect.StateStuck), string(inspect.StateFailed), string(inspect.StateRunning), string(inspect.StatePaused), string(inspect.StateWaiting),
	string(inspect.StateRetrying), string(inspect.StateDeleting), string(inspect.StateIgnored), string(inspect.StateSettled),
}

func (s *Server) objects(_ context.Context, in objectsIn) (any, error) {
	if in.State != "" && !slices.Contains(states, in.State) {
		return nil, fmt.Errorf("state %q: want one of %s", in.State, strings.Join(states, ", "))
	}
	state, now := s.state(), time.Now()
	if in.Limit <= 0 {
		in.Limit = defaultLimit
	}
	out := Objects{Objects: []ObjectLine{}}
	for _, o := range state.Objects {
		if in.Kind != "" && !inspect.IsNamed(o, in.Kind) || in.Namespace != "" && o.Namespace != in.Namespace || in.State != "" && string(o.State) != in.State {
			continue
		}
		out.Total++
		if len(out.Objects) >= in.Limit {
			continue
		}
		line := ObjectLine{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, State: string(o.State), Verdict: state.VerdictOf(o, now, state.Held())}
		if h := explain.Active(o); h != nil {
			line.Handler = h.ID
		}
		out.Objects = append(out.Objects, line)
	}
	return out, nil
}

func (s *Server) object(_ context.Context, in objectName) (any, error) { return find(s.state(), in) }

// Why is the answer of the tool why.
type Why struct {
	State    string             `json:"state"`
	Verdict  string             `json:"verdict"`
	Cause    string             `json:"cause,omitempty"` // "create", "update" and so on
	Seen     time.Time          `json:"seen,omitzero"`
	Done     time.Time          `json:"done,omitzero"`
	Diff     []inspect.DiffItem `json:"diff,omitempty"` // difference from the last-handled state to the state of the cause
	Pass     string             `json:"pass,omitempty"` // causes, results and outcome of the reconcile handler's last pass
	Handlers []HandlerLine      `json:"handlers"`
}

// HandlerLine sums up a handler of an object.
type HandlerLine struct {
	ID    string `json:"id"`
	Kind  string `json:"kind,omitempty"`
	State string `json:"state"`
	Note  string `json:"note,omitempty"` // next step, reason of the failure, or filter that excluded the object

	Steps []string `json:"steps,omitempty"` // "create-bucket is recorded, 12s ago, key …"
}

func (s *Server) why(_ context.Context, in objectName) (any, error) {
	state, now := s.state(), time.Now()
	o, err := find(state, in)
	if err != nil {
		return nil, err
	}
	out := Why{State: string(o.State), Verdict: state.VerdictOf(o, now, state.Held()), Handlers: []HandlerLine{}}
	if c := o.Cause; c != nil {
		out.Cause, out.Seen, out.Done, out.Diff = explain.ReasonWord(c.Reason), c.Seen, c.Done, c.Diff
	}
	if o.Pass != nil {
		out.Pass = explain.PassText(o.Pass, now, state.HeldOf(o))
	}
	for _, h := range explain.CalledFirst(o) {
		line := HandlerLine{ID: h.ID, Kind: string(h.Kind), State: string(h.State), Note: state.NoteOf(h, now, state.Held())}
		for k := range h.Steps {
			line.Steps = append(line.Steps, explain.StepText(&h.Steps[k], now))
		}
		out.Handlers = append(out.Handlers, line)
	}
	return out, nil
}

type handlerIn struct {
	objectName
	Handler string `json:"handler" jsonschema:"the id of the handler"`
}

// WhyNot is the answer of the tool why_not.
type WhyNot struct {
	State    string            `json:"state"` // state of the handler
	Verdict  string            `json:"verdict"`
	Mismatch *inspect.Mismatch `json:"mismatch,omitempty"` // the first condition that is not met
}

func (s *Server) whyNot(_ context.Context, in handlerIn) (any, error) {
	state, now := s.state(), time.Now()
	o, err := find(state, in.objectName)
	if err != nil {
		return nil, err
	}
	h := o.Handler(in.Handler)
	if h == nil {
		return nil, noHandler(state, o, in.Handler)
	}
	out := WhyNot{State: string(h.State), Mismatch: h.Why, Verdict: explain.HandlerWordOf(h).Text}
	if note := state.NoteOf(h, now, state.Held()); note != "" {
		out.Verdict += ": " + note
	}
	return out, nil
}

// noHandler says why an object has no handler of an id.
func noHandler(state *explain.State, o *inspect.Object, id string) error {
	ids := make([]string, len(o.Handlers))
	for i := range o.Handlers {
		ids[i] = o.Handlers[i].ID
	}
	if i := slices.IndexFunc(state.Snapshot.Handlers, func(h inspect.Handler) bool { return h.ID == id }); i >= 0 {
		return fmt.Errorf("handler %s is for %s, not for %s; its handlers are %s", id, state.Snapshot.Handlers[i].Selector, o.Resource, strings.Join(ids, ", "))
	}
	return fmt.Errorf("the operator has no handler %s; those of the object are %s", id, strings.Join(ids, ", "))
}

type attemptsIn struct {
	objectName
	Handler string `json:"handler,omitempty" jsonschema:"only the handler with this id"`
}

// Attempts is the answer of the tool attempts.
type Attempts struct {
	Handlers []inspect.HandlerState `json:"handlers"` // handlers that were called
}

func (s *Server) attempts(_ context.Context, in attemptsIn) (any, error) {
	state := s.state()
	o, err := find(state, in.objectName)
	if err != nil {
		return nil, err
	}
	if in.Handler != "" && o.Handler(in.Handler) == nil {
		return nil, noHandler(state, o, in.Handler)
	}
	out := Attempts{Handlers: []inspect.HandlerState{}}
	for _, h := range explain.CalledFirst(o) {
		if (in.Handler == "" || h.ID == in.Handler) && (h.Attempt > 0 || len(h.Attempts) > 0 || len(h.Steps) > 0) {
			out.Handlers = append(out.Handlers, *h)
		}
	}
	return out, nil
}

type logIn struct {
	Level    string `json:"level,omitempty" jsonschema:"the lowest level: debug, info, warn or error"`
	Contains string `json:"contains,omitempty" jsonschema:"only lines with this text"`
	Handler  string `json:"handler,omitempty" jsonschema:"only lines of the handler with this id"`
	Object   string `json:"object,omitempty" jsonschema:"only lines about the object with this name"`
	Limit    int    `json:"limit,omitempty" jsonschema:"the maximal number of lines (default 100)"`
}

// Log is the answer of the tool log.
type Log struct {
	Lines []inspect.LogLine `json:"lines"`
}

func (s *Server) log(_ context.Context, in logIn) (any, error) {
	level := inspect.LogLevel(in.Level)
	if in.Level != "" && !slices.Contains(explain.LogLevels, level) {
		return nil, fmt.Errorf("level %q: want debug, info, warn or error", in.Level)
	}
	if in.Limit <= 0 {
		in.Limit = defaultLimit
	}
	out := Log{Lines: []inspect.LogLine{}}
	lines := s.source.State().Log
	for i := len(lines) - 1; i >= 0 && len(out.Lines) < in.Limit; i-- {
		line := &lines[i]
		if in.Level != "" && explain.LevelRank(line.Level) < explain.LevelRank(level) || !strings.Contains(line.Message, in.Contains) ||
			in.Handler != "" && line.Handler != in.Handler || in.Object != "" && (line.Object == nil || line.Object.Name != in.Object) {
			continue
		}
		out.Lines = append(out.Lines, *line)
	}
	slices.Reverse(out.Lines)
	return out, nil
}
