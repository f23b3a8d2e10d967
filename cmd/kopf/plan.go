package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/plan/copy"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// The exit codes of kopf plan with --exit-code.
const (
	exitChanges  = 3
	exitFailures = 4
)

// planFlags are the flags of kopf plan.
type planFlags struct {
	context, kubeconfig string
	namespaces          []string
	allNamespaces       bool
	selector            string

	as        string
	rehandle  bool
	manifests []string
	against   string

	againstCommand string

	attempts, maxWrites, limit int
	timeout                    time.Duration

	save, from string
	box        string
	env        []string
	visible    []string

	output    string
	maxOutput int
	report    string
	exitCode  bool
}

// The values of --box.
const (
	boxAuto = "auto"
	boxNone = "none"
)

func newPlanCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan PACKAGE...",
		Short: "Show the changes that an operator would make to a cluster",
		Long: `Show the changes that an operator would make to the objects of a cluster, without touching
the cluster.

The objects that the operator would see are copied to a control plane on this machine; the
cluster gets only requests to get and list. The operator runs there, in a box without a network,
until nothing is left to do. The answer groups the objects by the behaviour of the operator:
the handlers that it would call, the requests that it would send, and the failures. Values of
Secrets are replaced before they are stored.

With --against, another build runs on identical copies, twice, and only differences are shown.
Fields that differ between its two runs, such as random names, are counted as noise. With
--against-command, the other operator is any program that uses $KUBECONFIG, such as the Python
operator that is being replaced. Its handlers are not known, so only its requests and the final
states of the objects are compared.

Without --context and --kubeconfig, the cluster is the one of the current context.

` + exitCodes + `
  With --exit-code, 3 means that objects would change, and 4 that a handler would fail; with
  --against, 3 means that the behaviour differs, and 4 that something newly fails.`,
		Example: `  # The changes when this version starts
  kopf plan ./handlers --context=prod

  # The same for objects like yours, if they were new
  kopf plan ./handlers --context=prod --as=create

  # The same after kopf rehandle --confirm
  kopf plan ./handlers --context=prod --rehandle

  # With a new definition, and one that you changed
  kopf plan ./handlers --context=prod --apply crd.yaml

  # The differences from a release, for objects like yours if they were new
  kopf plan ./handlers --context=prod --as=create --against=v1.4

  # The differences from the Python operator that it replaces
  kopf plan ./handlers --context=prod --against-command='kopf run old.py -A --standalone'

  # Keep a copy, and use it in CI without a cluster
  kopf plan ./handlers --context=prod --save=prod.kopfcopy
  kopf plan ./handlers --from=prod.kopfcopy --exit-code -o markdown`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return runPlan(cmd, &f, args)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *planFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.context, "context", "", "the context of the kubeconfig to copy from (default: the current context)")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig file to use")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "a namespace to serve, or a pattern such as 'myapp-*,!*-pr-*' (repeatable)")
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "serve the whole cluster (the default)")
	set.StringVarP(&f.selector, "selector", "l", "", "handle only objects with these labels, such as 'tier=gold'")
	set.StringVar(&f.as, "as", "now", "the question: now (when the operator starts), create (if the objects were new), delete (if they were deleted)")
	set.BoolVar(&f.rehandle, "rehandle", false, "also call the handlers whose kopf.Version has changed, as kopf rehandle would")
	set.StringArrayVar(&f.manifests, "apply", nil, "a manifest, or a folder of manifests, to apply to the copy first (repeatable)")
	set.StringVar(&f.against, "against", "", "show only differences from another build: a git ref such as v1.4, or a program that kopf build has made")
	set.StringVar(&f.againstCommand, "against-command", "", "show only differences from the operator that this shell command runs, with $KUBECONFIG")
	set.IntVar(&f.attempts, "attempts", 2, "the number of calls of a handler that asks for a retry")
	set.DurationVar(&f.timeout, "timeout", 10*time.Minute, "end the run after this time")
	set.IntVar(&f.maxWrites, "max-writes", 50000, "end the run after this number of requests that write")
	set.IntVar(&f.limit, "limit", copy.DefaultLimit, "the largest number of objects to copy, with all objects of the kinds of children")
	set.StringVar(&f.save, "save", "", "write the copy to this file, without the values of Secrets")
	set.StringVar(&f.from, "from", "", "use the copy of this file instead of a cluster")
	set.StringVar(&f.box, "box", boxAuto, "where the operator runs: auto (in a box without a network), none (with your network, files and credentials)")
	set.StringArrayVar(&f.env, "env", nil, "the name of an environment variable that the operator gets (repeatable)")
	set.StringArrayVar(&f.visible, "visible", nil, "a folder of your home folder that is readable in the box (repeatable)")
	set.StringVarP(&f.output, "output", "o", "text", "the format: text, json or markdown")
	set.IntVar(&f.maxOutput, "max-output", 60000, "the largest number of bytes of text and markdown")
	set.StringVar(&f.report, "report", "", "write the whole plan to this file, in JSON")
	set.BoolVar(&f.exitCode, "exit-code", false, "exit with 3 if objects would change, and with 4 if a handler would fail; with --against, only for differences")
	completeWith(cmd, "as", "now", "create", "delete")
	completeWith(cmd, "box", boxAuto, boxNone)
	completeWith(cmd, "output", "text", "json", "markdown")
	registerCompletion(cmd, "context", func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return (&operatorFlags{kubeconfig: f.kubeconfig}).completeContexts(cmd, args, word)
	})
	for name, ends := range map[string][]string{"kubeconfig": nil, "apply": {"yaml", "yml", "json"}, "against": nil, "visible": nil, "save": nil, "from": nil, "report": {"json"}} {
		if err := cmd.MarkFlagFilename(name, ends...); err != nil {
			panic(err) // the flag is not defined: a bug in this function
		}
	}
}

// check rejects command lines before anything is started.
func (f *planFlags) check() error {
	wants := func(name, value string, known ...string) error {
		if slices.Contains(known, value) {
			return nil
		}
		return usagef("--%s=%s: want %s", name, value, anyOf(known))
	}
	if err := errors.Join(wants("as", f.as, "now", "create", "delete"), wants("box", f.box, boxAuto, boxNone), wants("output", f.output, "text", "json", "markdown")); err != nil {
		return err
	}
	switch {
	case f.allNamespaces && len(f.namespaces) > 0:
		return usagef("--all-namespaces excludes --namespace: use one or the other")
	case f.against != "" && f.againstCommand != "":
		return usagef("--against excludes --against-command: compare with one other operator at a time")
	case f.againstCommand != "" && strings.TrimSpace(f.againstCommand) == "":
		return usagef("--against-command has no command")
	case f.from != "" && (f.context != "" || f.kubeconfig != ""):
		return usagef("--from excludes --context and --kubeconfig: the copy comes from the file")
	case f.rehandle && f.againstCommand != "":
		return usagef("--rehandle excludes --against-command: the other program ignores versions of handlers")
	case f.rehandle && f.as != "now":
		return usagef("--rehandle excludes --as=%s: handlers are called again only for existing objects", f.as)
	case f.attempts < 1 || f.maxWrites < 1 || f.limit < 1 || f.timeout <= 0:
		return usagef("--attempts, --max-writes, --limit and --timeout must be positive")
	case f.maxOutput < 2000:
		return usagef("--max-output=%d: must be at least 2000, or nothing but the summary has room", f.maxOutput)
	}
	if len(f.manifests) > 0 {
		if _, err := apply.Read(f.manifests); err != nil {
			return err
		}
	}
	if _, err := box.Environment(os.Environ(), f.env); err != nil {
		return usagef("--env: %w", err)
	}
	return f.findVisible()
}

func runPlan(cmd *cobra.Command, f *planFlags, patterns []string) (err error) {
	line := newProgressLine(cmd.ErrOrStderr())
	defer line.end()
	p := &planner{
		flags: f, patterns: patterns,
		say: func(format string, args ...any) {
			line.end()
			fmt.Fprintf(cmd.ErrOrStderr(), "kopf: %s\n", printable.Line(fmt.Sprintf(format, args...)))
		},
		progress: func(progress devcluster.Progress) {
			if progress.Phase != devcluster.PhaseStart || line.live {
				line.report(progress)
			}
		},
		step: line.step,
	}
	defer func() { err = errors.Join(err, p.close(context.WithoutCancel(cmd.Context()))) }()
	plan, err := p.plan(cmd.Context())
	line.end()
	if err != nil {
		return err
	}
	if f.report != "" {
		if err := writePlan(f.report, plan); err != nil {
			return err
		}
	}
	switch f.output {
	case "json":
		var text []byte
		if text, err = planJSON(plan); err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
	case "markdown":
		err = plan.WriteMarkdown(cmd.OutOrStdout(), f.maxOutput)
	default:
		err = plan.WriteText(cmd.OutOrStdout(), f.maxOutput)
	}
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	if code := planCode(plan); f.exitCode && code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// planCode returns the exit code for a plan, with --exit-code.
func planCode(p *shapes.Plan) int {
	code := 0
	if p.Ended != "" || p.Against != nil && p.Against.Ended != "" {
		code = exitFailures
	}
	if p.Against != nil {
		for _, d := range p.Against.Differences {
			if code = max(code, exitChanges); d.Verdict == shapes.NewlyFails {
				return exitFailures
			}
		}
		return code
	}
	for _, s := range p.Shapes {
		switch s.Verdict {
		case shapes.VerdictFails:
			return exitFailures
		case shapes.VerdictChanges, shapes.VerdictStops, shapes.VerdictWaits:
			code = max(code, exitChanges)
		}
	}
	return code
}

// planJSON returns the whole plan in JSON, without characters that act on a terminal.
func planJSON(p *shapes.Plan) ([]byte, error) {
	text, err := json.MarshalIndent(p, "", "  ")
	return append(printable.JSON(text), '\n'), err
}

// writePlan writes the report.
func writePlan(path string, p *shapes.Plan) error {
	text, err := planJSON(p)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
