package stream

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// progressSteps is the number of lines about the compilation of the control plane, which
// takes minutes.
const progressSteps = 10

func (p *printer) clusterEntries(s *runner.State) []entry {
	c := s.Cluster
	word := explain.ClusterWord(c.Phase)
	e := entry{Noun: "cluster", State: word.Text, tone: word.Tone}
	key := string(c.Phase)
	switch c.Phase {
	case runner.ClusterNone:
		return nil
	case runner.ClusterBuilding:
		e.What = c.Message
		if c.Total > 0 {
			e.What = c.Message + ", " + explain.Packages(c)
			key += fmt.Sprint(c.Done * progressSteps / c.Total)
		}
		e.What = strings.TrimPrefix(e.What, ", ")
	case runner.ClusterStarting:
		if c.Message == "" {
			return nil // the message follows in a moment
		}
		e.What = c.Message
		key += c.Message
	case runner.ClusterReady:
		e.What = strings.Join(strings.Fields(c.Provider+" "+c.Name+" "+c.Version+" "+c.Server), " ")
		if c.Reason != "" {
			e.What += " (" + c.Reason + ")"
		}
	case runner.ClusterGone:
		e.State, e.What, e.Error, e.urgent = "gone", c.Error, c.Error, true
	case runner.ClusterFailed:
		e.State, e.What, e.Error, e.urgent = "failed", c.Error, c.Error, true
	}
	if !p.cluster.changed(key) {
		return nil
	}
	return []entry{e}
}

func (p *printer) buildEntries(s *runner.State) []entry {
	b := s.Build
	word := explain.BuildWord(b.Phase)
	e := entry{Noun: "build", State: word.Text, tone: word.Tone}
	key := fmt.Sprint(b.Phase, b.Started.UnixNano())
	if b.Phase == runner.BuildIdle || !p.build.changed(key) {
		return nil
	}
	files := strings.Join(b.Files, ", ")
	switch b.Phase {
	case runner.BuildBuilding:
		e.What = files
	case runner.BuildBuilt:
		e.What = strings.TrimSpace("in " + explain.Took(b.Took) + " " + files)
	case runner.BuildFailed:
		e.State, e.What, e.urgent = "failed", explain.Count(len(b.Errors), "error"), true
		if s.Process.Phase == runner.ProcessRunning {
			e.What += ", the old code keeps running"
		}
	}
	entries := []entry{e}
	if b.Phase == runner.BuildFailed {
		for _, x := range b.Errors {
			entries = append(entries, entry{
				Noun: "build", State: "error", tone: explain.Err, urgent: true, multiline: true,
				What: x.String(), File: x.File, Line: x.Line, Error: x.Message,
			})
		}
	}
	return entries
}

func (p *printer) operatorEntries(s *runner.State) []entry {
	x := s.Process
	word := explain.OperatorWord(s)
	e := entry{Noun: "operator", State: word.Text, tone: word.Tone}
	switch {
	case x.Phase == runner.ProcessNone && x.Exit == "":
		return nil
	case x.Phase == runner.ProcessNone:
		e.State, e.What = "ended", x.Exit
	case x.Phase == runner.ProcessCrashed:
		e.urgent = true
		e.What, e.Error = x.Exit, x.Error
		if x.Panic != nil {
			e.What = strings.TrimSpace(fmt.Sprintf("panic: %s %s", x.Panic.Message, at(x.Panic)))
			e.Error, e.File, e.Line = "panic: "+x.Panic.Message, x.Panic.File, x.Panic.Line
		} else if x.Error != "" {
			e.What += ": " + x.Error
		}
	case s.Snapshot != nil && s.Live:
		switch o := s.Snapshot.Operator; o.State {
		case inspect.OperatorRunning:
			e.What = serving(s.Snapshot)
		case inspect.OperatorPaused:
			e.What, e.urgent = o.Reason, true
		}
	}
	key := fmt.Sprint(e.State, x.PID, x.Restarts)
	var entries []entry
	if p.operator.changed(key) {
		entries = append(entries, e)
	}
	return append(append(entries, p.unservedEntries(s)...), p.driftEntries(s)...)
}

func at(p *runner.Panic) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("at %s:%d in %s", p.File, p.Line, p.Function)
}

// serving describes the resources and namespaces that a running operator serves.
func serving(s *inspect.Snapshot) string {
	var keys []string
	for _, r := range s.Served {
		keys = append(keys, r.Key)
	}
	what := explain.Count(len(s.Handlers), "handler")
	if len(keys) > 0 {
		what += ", watching " + strings.Join(keys, ", ")
	}
	if len(s.Reviewed) > 0 {
		what += ", reviewing " + strings.Join(s.Reviewed, ", ")
	}
	return what
}

// unservedEntries returns the selectors that are not served. It repeats a selector only if the
// selector was served in the meantime.
func (p *printer) unservedEntries(s *runner.State) []entry {
	if s.Snapshot == nil || !s.Live {
		return nil
	}
	var entries []entry
	now := map[string]bool{}
	for _, u := range s.Snapshot.Unserved {
		key := u.Selector + " " + string(u.Reason)
		now[key] = true
		if p.unserved[key] {
			continue
		}
		what := u.Selector
		if len(u.Handlers) > 0 {
			what += ", kept waiting: " + strings.Join(u.Handlers, ", ")
		}
		if len(u.Matches) > 0 {
			what += "; it could be " + strings.Join(u.Matches, ", ")
		}
		entries = append(entries, entry{Noun: "resource", State: string(u.Reason), tone: explain.Warn, urgent: true, What: what})
	}
	p.unserved = now
	return entries
}

// driftEntries returns the fields of Go types that the schemas lack. It repeats a field only if the
// schema had the field in the meantime.
func (p *printer) driftEntries(s *runner.State) []entry {
	if s.Snapshot == nil || !s.Live {
		return nil
	}
	var entries []entry
	now := map[string]bool{}
	for i := range s.Snapshot.Served {
		res := &s.Snapshot.Served[i]
		for j := range res.Drift {
			what := explain.DriftSentence(res.Key, &res.Drift[j])
			now[what] = true
			if !p.drifted[what] {
				entries = append(entries, entry{Noun: "resource", State: "drift", tone: explain.Warn, urgent: true, What: what})
			}
		}
	}
	p.drifted = now
	return entries
}
