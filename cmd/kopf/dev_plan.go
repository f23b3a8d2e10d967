package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/tui/parts"
)

// devPlanner makes plans for kopf dev. It builds the packages of the session, copies the cluster of the session, and uses the defaults of
// kopf plan.
type devPlanner struct {
	session  *runner.Session
	flags    *operatorFlags
	patterns []string

	mu     sync.Mutex
	failed []error // errors of the clean-up after plans
}

// checkPlanReloads rejects --plan-reloads where it cannot keep its promise.
func checkPlanReloads(f *operatorFlags, screen bool) error {
	switch {
	case !f.planReloads:
		return nil
	case f.noReload:
		return usagef("--plan-reloads excludes --no-reload, with which n in the view i plans the saved code")
	case f.retryFailed:
		return usagef("--plan-reloads excludes --retry-failed: plans do not call the handlers that have failed")
	case !screen:
		return usagef("--plan-reloads needs the workbench, which shows the plan and has the key to run the build; without a terminal, use kopf plan")
	}
	if err := checkPlans(); err != nil {
		return fmt.Errorf("--plan-reloads: %w", err)
	}
	return nil
}

// checkPlans returns the reason why this machine makes no plans.
func checkPlans() (err error) {
	folder, err := newPlanFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	return box.Check(folder.Path)
}

// plan makes a plan of an executable or, if its path is empty, of the saved code.
func (d *devPlanner) plan(ctx context.Context, executable string, report func(string)) (*parts.Plan, error) {
	cluster := d.session.State().Cluster
	if cluster.Phase != runner.ClusterReady {
		return nil, errors.New("no cluster answers") // without a kubeconfig, the planner would read the cluster of the current context
	}
	var flags planFlags
	flags.add(&cobra.Command{}) // sets the defaults
	flags.kubeconfig, flags.context, flags.namespaces = cluster.Kubeconfig, cluster.Context, d.flags.namespaces
	report(firstStep(executable))
	p := &planner{
		flags: &flags, patterns: d.patterns, step: report, build: planBuild{binary: executable},
		say: func(format string, args ...any) { d.session.Say(false, fmt.Sprintf(format, args...)) },
		progress: func(progress devcluster.Progress) {
			if progress.Phase != devcluster.PhaseReady {
				report(progressText(progress))
			}
		},
	}
	plan, err := p.plan(ctx)
	d.clean(p.close(context.WithoutCancel(ctx)))
	if err != nil {
		if replaced := executable != "" && d.session.State().Build.Held != executable; ctx.Err() == nil && !replaced {
			d.session.Fault("no plan: " + oneLine(err))
		}
		return nil, shortError(err)
	}
	return planPage(plan), nil
}

// firstStep names the first step of a plan of an executable or, if its path is empty, of the saved code.
func firstStep(executable string) string {
	if executable != "" {
		return "copying the cluster"
	}
	return "building the operator and copying the cluster"
}

// clean reports an error of the clean-up after a plan in the log, and keeps it for the end of the workbench, which may be near.
func (d *devPlanner) clean(err error) {
	if err == nil {
		return
	}
	err = fmt.Errorf("clean up after a plan: %w", err)
	d.session.Fault(oneLine(err))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = append(d.failed, err)
}

// leftovers returns the errors of the clean-up after all plans, or nil.
func (d *devPlanner) leftovers() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.failed...)
}

// shortError returns an error of at most two lines.
func shortError(err error) error {
	if err == nil {
		return nil
	}
	if unavailable, ok := errors.AsType[*box.UnavailableError](err); ok {
		return fmt.Errorf("%w\nthe operator is not started outside of a box; kopf plan has the flag --box", printable.Error(unavailable))
	}
	if failure, ok := errors.AsType[*runner.BuildFailure](err); ok && len(failure.Errors) > 0 {
		first, _, _ := strings.Cut(failure.Errors[0].String(), "\n")
		text := "the saved code cannot be built: " + first
		if n := len(failure.Errors) - 1; n > 0 {
			text += fmt.Sprintf(", and %s more", explain.Count(n, "error"))
		}
		return errors.New(text)
	}
	lines := strings.Split(err.Error(), "\n")
	if exit, ok := errors.AsType[*trial.ExitError](err); ok && len(exit.Output) > 0 {
		cause := exit.Output[len(exit.Output)-1]
		if i := slices.IndexFunc(exit.Output, func(line string) bool { return strings.HasPrefix(line, "panic:") }); i >= 0 {
			cause = exit.Output[i]
		}
		lines = []string{lines[0], cause}
	}
	return errors.New(strings.Join(lines[:min(2, len(lines))], "\n"))
}

// planPage returns a plan for the workbench.
func planPage(p *shapes.Plan) *parts.Plan {
	header, sentence, texts, footer := p.Texts()
	if p.Ended != "" {
		sentence = "incomplete: " + sentence
	}
	page := &parts.Plan{
		Effect: planEffect(p), NotTried: len(p.NotTried), Header: header, Sentence: sentence, Incomplete: p.Ended != "",
		Marks: make(map[inspect.Ref]parts.PlanMark),
	}
	for i, s := range p.Shapes {
		title, text, _ := strings.Cut(strings.TrimRight(texts[i], "\n"), "\n")
		shape := parts.PlanShape{Title: strings.TrimSpace(title), Tone: verdictTones[s.Verdict], Objects: s.Objects}
		if text != "" {
			text = strings.ReplaceAll(unindent(text), ": see --report=FILE", ": kopf plan --report=FILE has them")
			shape.Lines = strings.Split(text, "\n")
		}
		page.Shapes = append(page.Shapes, shape)
		markObjects(page.Marks, s, shape)
	}
	for _, s := range p.Shapes {
		markDeletions(page.Marks, s)
	}
	for line := range strings.Lines(footer) {
		page.Footer = append(page.Footer, strings.TrimSpace(line))
	}
	return page
}

var verdictTones = map[shapes.Verdict]explain.Tone{
	shapes.VerdictFails: explain.Err, shapes.VerdictStops: explain.Warn, shapes.VerdictWaits: explain.Warn, shapes.VerdictChanges: explain.Busy,
	shapes.VerdictRecords: explain.Dim, shapes.VerdictPaused: explain.Dim, shapes.VerdictUnchanged: explain.Dim,
}

// verdictTexts are the marks of objects; objects with other verdicts have none.
var verdictTexts = map[shapes.Verdict]string{
	shapes.VerdictFails: "would fail", shapes.VerdictStops: "would stop at a step", shapes.VerdictWaits: "would wait", shapes.VerdictChanges: "would change it",
}

// unindent removes the blanks at the beginning of the first line from all lines.
func unindent(text string) string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	return strings.ReplaceAll(strings.TrimPrefix(text, indent), "\n"+indent, "\n")
}

// markObjects marks the objects of the shapes, and other objects that their requests would change.
func markObjects(marks map[inspect.Ref]parts.PlanMark, s shapes.Shape, shape parts.PlanShape) {
	for _, object := range s.Objects {
		if text := verdictTexts[s.Verdict]; text != "" && s.Resource != "" {
			own := refOf(s.Resource, object)
			if s.Verdict == shapes.VerdictChanges && !writes(s, object, own) {
				text = "would act on it"
			}
			marks[own] = parts.PlanMark{Tone: shape.Tone, Text: text, Lines: shape.Lines}
		}
	}
	for _, object := range s.Objects {
		for _, w := range s.Writes {
			ref, known := writtenRef(w, object)
			if _, marked := marks[ref]; known && !marked && len(w.Refused) == 0 && len(w.Changes) > 0 && !slices.Contains(w.Verbs, "create") {
				marks[ref] = parts.PlanMark{Tone: explain.Busy, Text: "would change it"}
			}
		}
	}
}

// markDeletions marks the objects that the requests of a shape would delete. These marks replace all others.
func markDeletions(marks map[inspect.Ref]parts.PlanMark, s shapes.Shape) {
	for _, object := range s.Objects {
		for _, w := range s.Writes {
			if ref, known := writtenRef(w, object); known && len(w.Refused) == 0 && slices.Contains(w.Verbs, "delete") && !slices.Contains(w.Verbs, "create") {
				marks[ref] = parts.PlanMark{Tone: explain.Err, Text: "would delete it", Lines: marks[ref].Lines}
			}
		}
	}
}

// writes reports whether a shape has a change of the object itself.
func writes(s shapes.Shape, object string, own inspect.Ref) bool {
	return slices.ContainsFunc(s.Writes, func(w shapes.Write) bool {
		ref, known := writtenRef(w, object)
		return known && ref == own && len(w.Refused) == 0
	})
}

// refOf returns the reference of an object, without its uid.
func refOf(resource, object string) inspect.Ref {
	namespace, name, found := strings.Cut(object, "/")
	if !found {
		namespace, name = "", object
	}
	return inspect.Ref{Resource: resource, Namespace: namespace, Name: name}
}

// writtenRef returns the written object for one of the objects of the shape. It returns false if the name of the written object has
// placeholders other than the name and the namespace of the object.
func writtenRef(w shapes.Write, object string) (ref inspect.Ref, known bool) {
	own := refOf("", object)
	written := strings.NewReplacer("{namespace}", own.Namespace, "{name}", own.Name).Replace(w.Name)
	return refOf(w.Resource, written), !strings.ContainsAny(written, "{}")
}
