package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

const (
	defaultWait = time.Minute
	maxWait     = 10 * time.Minute
)

type waitIn struct {
	Seconds int `json:"seconds,omitempty" jsonschema:"how long to wait at most (default 60, maximum 600)"`
}

// Settled is the answer of the tool wait_until_settled.
type Settled struct {
	Settled bool     `json:"settled"`           // nothing is pending, and nothing has failed
	Failed  []string `json:"failed,omitempty"`  // handlers that failed permanently, and objects that nothing handles
	Pending []string `json:"pending,omitempty"` // objects that are not settled yet
	Refused []string `json:"refused,omitempty"` // manifests that were not applied

	Build *BuildErrors `json:"build,omitempty"` // if the build failed
	Crash string       `json:"crash,omitempty"` // if the operator crashed
}

func (s *Server) waitUntilSettled(ctx context.Context, in waitIn) (any, error) {
	limit := defaultWait
	if in.Seconds != 0 {
		limit = time.Duration(in.Seconds) * time.Second
	}
	if limit < 0 || limit > maxWait {
		return nil, fmt.Errorf("seconds is %d: want at most %d", in.Seconds, int(maxWait.Seconds()))
	}
	var out Settled
	_, err := s.wait(ctx, limit, func(state *runner.State) bool {
		var ended bool
		out, ended = s.settlement(state)
		return ended
	})
	return out, err
}

// settlement returns the settled objects of a state, and whether further waiting is useless.
func (s *Server) settlement(state *runner.State) (out Settled, ended bool) {
	out.Refused = state.Application.Refused
	switch {
	case state.Build.Phase == runner.BuildFailed:
		errors := buildErrorsOf(state)
		out.Build = &errors
		return out, true
	case state.Cluster.Phase == runner.ClusterFailed:
		out.Pending = []string{"there is no cluster: " + state.Cluster.Error}
		return out, true
	case state.Process.Phase == runner.ProcessCrashed && runsLastBuild(state):
		out.Crash = crash(state.Process)
		return out, true
	}
	s.mu.Lock()
	s.progress.Note(state)
	pending, failed := s.progress.Unsettled(time.Now())
	s.mu.Unlock()
	for _, u := range pending {
		out.Pending = append(out.Pending, u.String())
	}
	for _, u := range failed {
		out.Failed = append(out.Failed, u.String())
	}
	out.Settled = len(pending)+len(failed)+len(out.Refused) == 0
	return out, len(pending) == 0
}

// runsLastBuild reports whether the last process was started after the last build, rather than during it.
func runsLastBuild(state *runner.State) bool {
	return state.Build.Phase == runner.BuildBuilt && !state.Process.Started.Before(state.Build.Started.Add(state.Build.Took))
}

// crash says how an operator crashed.
func crash(p runner.Process) string {
	if p.Panic != nil {
		text := "panic: " + p.Panic.Message
		if p.Panic.File != "" {
			text += fmt.Sprintf(" at %s:%d", p.Panic.File, p.Panic.Line)
		}
		return text
	}
	if p.Error != "" {
		return p.Exit + ": " + p.Error
	}
	return p.Exit
}
