package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// errAttached is the answer to what only a session that builds the operator can do.
var errAttached = errors.New("another process builds the operator; start kopf mcp with its packages instead of --attach")

// addActing adds the tools that change something: in clusters to develop with only.
func (s *Server) addActing(server *mcp.Server) {
	act(s, server, "apply", false, "Apply manifests to the development cluster: a file, a folder, a text of YAML, or the session's manifests. Returns the change of each object.", s.apply)
	act(s, server, "retry", false, "Call failed and delayed handlers again now: those of one object, or with all_failed, the failed ones of all objects.", s.retry)
	act(s, server, "rebuild", false, "Build the operator now and start it again, even if no file has changed. Then call wait_until_settled.", s.rebuild)
	act(s, server, "release_brake", true, "Continue to prune children after the operator has stopped it, because it pruned many after its start (status has the alarm). It deletes the children that the brake keeps: of all objects, or of those of a kind.", s.releaseBrake)
	act(s, server, "pause", false, "Pause the operator: it handles nothing until resume is called. With an object, pause only that one, by an annotation.", s.pause)
	act(s, server, "resume", false, "End the effect of the tool pause, for the operator or for one object.", s.resume)
}

// act adds a tool that needs a cluster to develop with.
func act[In any](s *Server, server *mcp.Server, name string, destructive bool, description string, do func(context.Context, In) (any, error)) {
	tool := &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive}}
	addTool(server, tool, func(ctx context.Context, in In) (any, error) {
		if err := s.options.MayAct(s.source.State()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return do(ctx, in)
	})
}

// Done is the answer of tools that only do something.
type Done struct {
	Done string `json:"done"`
}

type applyIn struct {
	Path     string `json:"path,omitempty" jsonschema:"a file or a folder with manifests; without path and manifest, those of the session are applied"`
	Manifest string `json:"manifest,omitempty" jsonschema:"the text of one or more manifests in YAML"`
}

// Applied is the answer of the tool apply.
type Applied struct {
	Objects []string `json:"objects"` // "pods default/web created"
	Refused []string `json:"refused,omitempty"`
}

func (s *Server) apply(ctx context.Context, in applyIn) (any, error) {
	if s.source.State().Attached != "" {
		return nil, errAttached
	}
	switch {
	case in.Path != "" && in.Manifest != "":
		return nil, errors.New("apply: path excludes manifest: use one or the other")
	case in.Manifest != "":
		path, err := writeManifest(in.Manifest)
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.Remove(path) }() // it is temporary
		in.Path = path
	}
	err := s.source.Do(ctx, runner.Intent{Kind: runner.IntentApply, Value: in.Path})
	result := s.source.State().Application
	out := Applied{Objects: []string{}, Refused: result.Refused}
	for _, o := range result.Objects {
		out.Objects = append(out.Objects, o.String())
	}
	if err != nil && (len(out.Refused) == 0 || len(out.Objects) == 0) {
		return nil, fmt.Errorf("apply: %w", err)
	}
	return out, nil
}

// writeManifest writes a text to a temporary file.
func writeManifest(text string) (string, error) {
	file, err := os.CreateTemp("", "kopf-*.yaml")
	if err != nil {
		return "", fmt.Errorf("write the manifest: %w", err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write the manifest: %w", err), os.Remove(file.Name()))
	}
	return file.Name(), nil
}

type retryIn struct {
	Kind      string `json:"kind,omitempty" jsonschema:"the kind, the plural or the short name of the resource"`
	Name      string `json:"name,omitempty" jsonschema:"the name of the object"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace; only needed if several objects have the name"`
	Handler   string `json:"handler,omitempty" jsonschema:"only the handler with this id"`
	AllFailed bool   `json:"all_failed,omitempty" jsonschema:"the failed handlers of all objects, instead of those of one"`
}

// retryNoted is how long the tool retry waits until the operator reports the call.
const retryNoted = 5 * time.Second

func (s *Server) retry(ctx context.Context, in retryIn) (any, error) {
	if in.AllFailed {
		if in.Kind != "" || in.Name != "" {
			return nil, errors.New("retry: all_failed excludes an object: use one or the other")
		}
		failed := s.state().Failures(in.Handler)
		if failed == 0 {
			return nil, errors.New("retry: nothing has failed")
		}
		if err := s.source.Do(ctx, runner.Intent{Kind: runner.IntentRetryFailed, Handler: in.Handler}); err != nil {
			return nil, fmt.Errorf("retry: %w", err)
		}
		_, err := s.wait(ctx, retryNoted, func(state *runner.State) bool { return explain.NewState(state, nil).Failures(in.Handler) < failed })
		return Done{fmt.Sprintf("retrying the handlers of %s", explain.Count(failed, "object"))}, err
	}
	if in.Kind == "" || in.Name == "" {
		return nil, errors.New("retry: which object? give its kind and name, or all_failed")
	}
	o, err := find(s.state(), objectName{in.Kind, in.Name, in.Namespace})
	if err != nil {
		return nil, fmt.Errorf("retry: %w", err)
	}
	if in.Handler != "" && o.Handler(in.Handler) == nil {
		return nil, fmt.Errorf("retry: %w", noHandler(s.state(), o, in.Handler))
	}
	if err := s.source.Do(ctx, runner.Intent{Kind: runner.IntentRetry, Object: &o.Ref, Handler: in.Handler}); err != nil {
		return nil, fmt.Errorf("retry: %w", err)
	}
	_, err = s.wait(ctx, retryNoted, func(state *runner.State) bool { return isRetried(state, o) })
	return Done{"retrying " + objectName{o.Short, o.Name, o.Namespace}.String()}, err
}

// isRetried reports whether an object is no longer as it was: a handler was called, or is no longer failed.
func isRetried(state *runner.State, before *inspect.Object) bool {
	if state.Snapshot == nil {
		return false
	}
	i := slices.IndexFunc(state.Snapshot.Objects, func(o *inspect.Object) bool { return o.Ref == before.Ref })
	if i < 0 {
		return true
	}
	return !slices.EqualFunc(state.Snapshot.Objects[i].Handlers, before.Handlers, func(a, b inspect.HandlerState) bool {
		return a.ID == b.ID && a.State == b.State && a.Attempt == b.Attempt && len(a.Attempts) == len(b.Attempts) && a.Started.Equal(b.Started)
	})
}

func (s *Server) rebuild(ctx context.Context, _ nothing) (any, error) {
	if s.source.State().Attached != "" {
		return nil, errAttached
	}
	if err := s.source.Do(ctx, runner.Intent{Kind: runner.IntentRebuild}); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	return Done{"the build has begun"}, nil
}

type releaseBrakeIn struct {
	Kind string `json:"kind,omitempty" jsonschema:"the kind, the plural or the short name of the only resource whose objects lose their children"`
}

func (s *Server) releaseBrake(ctx context.Context, in releaseBrakeIn) (any, error) {
	state := s.state()
	if state.Snapshot == nil {
		return nil, errNoOperator
	}
	brakes := explain.Brakes(state.Snapshot, in.Kind)
	if len(brakes) == 0 {
		return nil, errors.New("release_brake: no pruning has stopped")
	}
	var pruned []string
	for _, b := range brakes {
		if err := s.source.Do(ctx, runner.Intent{Kind: runner.IntentUnbrake, Value: b.Resource}); err != nil {
			return nil, fmt.Errorf("release_brake: %w", err)
		}
		for _, k := range b.Kept {
			pruned = append(pruned, k.Plural)
		}
	}
	slices.Sort(pruned)
	return Done{"continuing to prune " + strings.Join(slices.Compact(pruned), ", ")}, nil
}

type pauseIn struct {
	Kind      string `json:"kind,omitempty" jsonschema:"the kind, the plural or the short name of the resource; without it, the operator is meant"`
	Name      string `json:"name,omitempty" jsonschema:"the name of the object"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace; only needed if several objects have the name"`
	Reason    string `json:"reason,omitempty" jsonschema:"why the object is paused, for people"`
}

func (s *Server) pause(ctx context.Context, in pauseIn) (any, error) {
	return s.setPause(ctx, in, runner.IntentPause, "paused", cmp.Or(in.Reason, "by kopf mcp"))
}

func (s *Server) resume(ctx context.Context, in pauseIn) (any, error) {
	return s.setPause(ctx, in, runner.IntentResume, "resumed", "")
}

func (s *Server) setPause(ctx context.Context, in pauseIn, ofOperator runner.IntentKind, word, reason string) (any, error) {
	if in.Kind == "" && in.Name == "" {
		if err := s.source.Do(ctx, runner.Intent{Kind: ofOperator}); err != nil {
			return nil, fmt.Errorf("%s: %w", ofOperator, err)
		}
		return Done{"the operator is " + word}, nil
	}
	o, err := find(s.state(), objectName{in.Kind, in.Name, in.Namespace})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ofOperator, err)
	}
	if err := s.source.Do(ctx, runner.Intent{Kind: runner.IntentPauseObject, Object: &o.Ref, Value: reason}); err != nil {
		return nil, fmt.Errorf("%s: %w", ofOperator, err)
	}
	return Done{objectName{o.Short, o.Name, o.Namespace}.String() + " is " + word}, nil
}
