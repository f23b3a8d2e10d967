package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/plan/copy"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// answer makes the plan of a trial.
func (p *planner) answer(result *trial.Result) *shapes.Plan {
	s := p.copied.Summary()
	plan := &shapes.Plan{
		Version: shapes.Version, Packages: p.patterns, As: p.flags.as, Box: "namespaces", Ended: result.Ended,
		Copy:       shapes.Copy{Context: s.Context, Server: s.Version, From: s.From, To: s.To, Redacted: s.Redacted},
		NotTried:   notTried(result),
		CannotTell: []string{"other controllers", "quotas", "webhooks of others", "timing", "objects changed since " + s.To.Format(time.TimeOnly)},
	}
	if reason := undefined(s, result.Snapshot.Unserved); plan.Ended == "" && reason != "" {
		plan.Ended = reason
	}
	if n := p.leftOut.Load(); n > 0 {
		why := "in deletion already, or owned by handled objects"
		if p.flags.as == "delete" {
			why = "without a finalizer, so that they would be deleted at once"
		}
		plan.NotTried = append(plan.NotTried, fmt.Sprintf("objects that were left out: %d (%s)", n, why))
	}
	if p.marks != nil {
		var left []string
		plan.Rehandle = true
		plan.Rehandled, left = p.marks.answer(result)
		plan.NotTried = append(plan.NotTried, left...)
	}
	if p.flags.box == boxNone {
		plan.Box = boxNone
	}
	for _, r := range s.Resources {
		plan.Copy.Objects += r.Count
	}
	if minor(s.Version) != minor(p.cluster.Version) {
		plan.CannotTell = append(plan.CannotTell, fmt.Sprintf("a server of %s (the copy is %s)", s.Version, p.cluster.Version))
	}
	plan.Shapes, plan.Requests = shapes.Group(recordOf(result))
	return plan
}

// undefined returns why handlers see no objects although the cluster may have some: the copy has no definitions of their resources.
func undefined(s copy.Summary, unserved []inspect.Unserved) string {
	isRefused := slices.ContainsFunc(s.Refused, func(r copy.Refusal) bool {
		return r.Scope.Resource.GroupResource() == copy.Definitions.GroupResource() && r.Code != http.StatusNotFound
	})
	var selectors []string
	for _, u := range unserved {
		if isRefused && u.Reason == inspect.UnservedUnresolved {
			selectors = append(selectors, u.Selector)
		}
	}
	if len(selectors) == 0 {
		return ""
	}
	return "you may not list the definitions of resources, so the copy has no " + strings.Join(selectors, ", ") + ": get the permission, or name the definitions with --apply"
}

// minor returns the minor version of a version such as v1.37.1.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// notTried returns everything that a trial leaves out.
func notTried(result *trial.Result) []string {
	background, steps, waiting := make(map[string]int), 0, 0
	for _, o := range result.Objects {
		if o.Pass != nil && o.Pass.Outcome == inspect.PassWaiting {
			waiting++
		}
		for _, h := range o.Handlers {
			switch {
			case (h.Kind == inspect.KindDaemon || h.Kind == inspect.KindTimer) && h.State == inspect.PhaseNext:
				background[fmt.Sprintf("%s %s", h.Kind, h.ID)]++
			case h.Error != nil && strings.HasSuffix(h.Error.Message, inspect.PlanStep):
				steps++
			}
		}
	}
	var all []string
	if waiting > 0 {
		all = append(all, fmt.Sprintf("passes of %d objects after their waits, because no other controllers run", waiting))
	}
	if steps > 0 {
		all = append(all, fmt.Sprintf("%d steps outside of the cluster", steps))
	}
	for _, name := range slices.Sorted(maps.Keys(background)) {
		all = append(all, fmt.Sprintf("%s on %d objects", name, background[name]))
	}
	for _, h := range result.Snapshot.Handlers {
		if h.Kind == inspect.KindValidate || h.Kind == inspect.KindMutate {
			all = append(all, "admission handler "+h.ID)
		}
	}
	all = append(all, untried(result)...)
	for _, u := range result.Snapshot.Unserved {
		all = append(all, fmt.Sprintf("%s: %s (handlers: %s)", u.Selector, u.Reason, strings.Join(u.Handlers, ", ")))
	}
	for _, a := range result.Snapshot.Operator.Alarms {
		all = append(all, "alarm "+string(a.Kind)+": "+a.Message)
	}
	return all
}

// untried returns the reasons why the copy of a trial differs from the cluster.
func untried(result *trial.Result) []string {
	var all []string
	for _, u := range result.Untried {
		text := u.Resource.GroupResource().String()
		if u.Namespace != "" {
			text += " in " + u.Namespace
		}
		all = append(all, text+": "+u.Reason)
	}
	return all
}
