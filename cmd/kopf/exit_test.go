package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
)

func TestExecute_InvalidCommandLineExitCode(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for args, want := range map[string]string{
		"run":                 "kopf: no package is named; try: kopf run ./handlers\nSee: kopf run --help\n",
		"build":               "kopf: no package is named; try: kopf build ./handlers\nSee: kopf build --help\n",
		"dev":                 "kopf: no package is named; try: kopf dev ./handlers\nSee: kopf dev --help\n",
		"run . --until=later": "kopf: --until=later: the only value is settled\nSee: kopf run --help\n",
		"run . --timeout=1s":  "kopf: --timeout needs --until=settled\nSee: kopf run --help\n",
		"run . --until=settled --inspect=tcp:127.0.0.1:0": "kopf: --inspect=tcp:127.0.0.1:0: --until needs a fixed port\nSee: kopf run --help\n",
		"run . --until=settled --inspect=tcp:[::1]:":      "kopf: --inspect=tcp:[::1]:: --until needs a fixed port\nSee: kopf run --help\n",
		"run . --until=settled --timeout=-1s":             "kopf: --timeout=-1s: must not be negative\nSee: kopf run --help\n",
		"run . -A -n x":                                   "kopf: --all-namespaces excludes --namespace: use one or the other\nSee: kopf run --help\n",
		"run . -q -v":                                     "kopf: --quiet excludes --verbose and --debug: use one or the other\nSee: kopf run --help\n",
		"dev . --log-format=none":                         "kopf: --log-format=none is a format of the operator's own log, which kopf run prints; kopf dev prints lines of its own: plain or json\nSee: kopf dev --help\n",
		"dev . --log-format=full":                         "kopf: --log-format=full is a format of the operator's own log, which kopf run prints; kopf dev prints lines of its own: plain or json\nSee: kopf dev --help\n",
		"dev . --log-format=jsn":                          "kopf: --log-format=jsn: want plain or json\nSee: kopf dev --help\n",
		"run . --cluster=cloud":                           "kopf: --cluster=cloud: want auto, embedded, k3d, context, or a name of kopf cluster list\nSee: kopf run --help\n",
		"dev . --cluster=embdded":                         "kopf: --cluster=embdded: want auto, embedded, k3d, context, or a name of kopf cluster list; did you mean embedded?\nSee: kopf dev --help\n",
		"run . --cluster=embedded --context=x":            "kopf: an embedded cluster has its own kubeconfig; omit the context and the kubeconfig, or use the provider context\nSee: kopf run --help\n",
		"run . --ephemeral --context=x":                   "kopf: an existing cluster cannot be ephemeral; use the provider embedded\nSee: kopf run --help\n",
		"run . --cluster=A_B --ephemeral":                 "kopf: invalid cluster name \"A_B\"; use up to 40 lower-case letters, digits and dashes, such as dev-2\nSee: kopf run --help\n",
		"dev . --log-prefix":                              "kopf: --log-prefix is about the operator's own log, which kopf run prints; the lines of kopf dev always name the object\nSee: kopf dev --help\n",
		"dev . --no-log-prefix":                           "kopf: --no-log-prefix is about the operator's own log, which kopf run prints; the lines of kopf dev always name the object\nSee: kopf dev --help\n",
		"dev . --log-refkey=k8s":                          "kopf: --log-refkey is about the operator's own log, which kopf run prints; the lines of kopf dev always name the object\nSee: kopf dev --help\n",
		"run . --bogus":                                   "kopf: unknown flag: --bogus\nSee: kopf run --help\n",
		"version -o yaml":                                 "kopf: unknown output format \"yaml\"; use json, or omit the flag\nSee: kopf version --help\n",
		"frobnicate":                                      "kopf: unknown command \"frobnicate\" for \"kopf\"\nSee: kopf --help\n",
		"clutser":                                         "kopf: unknown command \"clutser\" for \"kopf\"; did you mean cluster?\nSee: kopf --help\n",
		"rnu ./handlers --apply x":                        "kopf: unknown command \"rnu\" for \"kopf\"; did you mean run?\nSee: kopf --help\n",
		"cluster delte":                                   "kopf: unknown command \"delte\" for \"kopf cluster\"; did you mean delete?\nSee: kopf cluster --help\n",
		"completion bsh":                                  "kopf: unknown command \"bsh\" for \"kopf completion\"; did you mean bash or zsh?\nSee: kopf completion --help\n",
		"help clutser":                                    "kopf: unknown help topic \"clutser\"; did you mean cluster?\nSee: kopf --help\n",
		"help nothing":                                    "kopf: unknown help topic \"nothing\"\nSee: kopf --help\n",
		"help cluster sart":                               "kopf: unknown help topic \"cluster sart\"; did you mean start?\nSee: kopf --help\n",
		"run . --aply=x":                                  "kopf: unknown flag: --aply; did you mean --apply?\nSee: kopf run --help\n",
		"run . --namespaces=x":                            "kopf: unknown flag: --namespaces; did you mean --namespace?\nSee: kopf run --help\n",
		"run . -cluster=x":                                "kopf: unknown shorthand flag: 'c' in -cluster=x; did you mean --cluster?\nSee: kopf run --help\n",
		"run . --apply=/no/such.yaml":                     "kopf: read manifests: /no/such.yaml: no such file or directory\nSee: kopf run --help\n",
		"build ./nowhere":                                 "kopf: ./nowhere: no such folder\nSee: kopf build --help\n",
		"build testdata/failing":                          "kopf: testdata/failing: no such package; the folder of this name is ./testdata/failing\nSee: kopf build --help\n",
		"cluster create Not_Good":                         "kopf: invalid cluster name \"Not_Good\"; use up to 40 lower-case letters, digits and dashes, such as dev-2\nSee: kopf cluster create --help\n",
	} {
		var out, errs bytes.Buffer
		got := execute(t.Context(), strings.Fields(args), &out, &errs)
		if got != exitUsage || out.String() != "" {
			t.Errorf("kopf %s: %d, %s", args, got, &out)
		}
		if diff := cmp.Diff(want, errs.String()); diff != "" {
			t.Errorf("kopf %s: %s", args, diff)
		}
	}
}

func TestExecute_HelpAndVersion(t *testing.T) {
	for args, want := range map[string]string{
		"--version":       readBuildInfo().String() + "\n",
		"help cluster ls": "List the clusters that kopf manages",
		"help help":       "Show the help of a command",
		"help":            "Kopf builds and runs Kubernetes operators",
		"completion":      "Generate the autocompletion script",
	} {
		var out, errs bytes.Buffer
		if got := execute(t.Context(), strings.Fields(args), &out, &errs); got != 0 || !strings.HasPrefix(out.String(), want) || errs.String() != "" {
			t.Errorf("kopf %s: %d, %s%s", args, got, &out, &errs)
		}
	}
}

func TestReport_SignalIsReportedAsInterruption(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&runner.InterruptError{Signal: syscall.SIGTERM})
	var errs bytes.Buffer
	err := fmt.Errorf("asking the server: %w", context.Canceled)
	if got := report(ctx, newRootCommand(), err, &errs); got != 143 || errs.String() != "kopf: terminated\n" {
		t.Errorf("%d, %s", got, &errs)
	}
}

// hostile has bytes that must not reach a terminal: colors, the clipboard, a title, a forged line, 8-bit
// controls, a change of direction, NUL, and invalid UTF-8.
const hostile = "x\x1b[31m\x1b]52;c;cm0=\x07\x1b]0;title\x1b\\\r\nkopf: forged\u009b2J\u202egnp\u2066\u2028\x00\x7f\x08\x9b31m\xff"

// wantPrintable fails the test if a text has characters that are not visible, or a forged line.
func wantPrintable(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.Contains(text, "\nkopf: forged") || !strings.Contains(text, "forged") {
		t.Errorf("%s: %q", what, text)
	}
	for _, r := range text {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' {
			t.Errorf("%s: %U in %q", what, r, text)
		}
	}
}

func TestOutput_TextOfOthersIsPrintable(t *testing.T) {
	build := &runner.BuildFailure{Errors: []runner.BuildError{{Message: strings.ReplaceAll(hostile, "\n", "")}}}
	for _, err := range []error{errors.New(hostile), usagef("%s", hostile), build, errors.Join(errors.New("one"), errors.New(hostile))} {
		var out bytes.Buffer
		report(t.Context(), newRootCommand(), err, &out)
		wantPrintable(t, fmt.Sprintf("%T", err), out.String())
	}
	for _, format := range []string{"full", "json"} {
		cmd := newRootCommand()
		var out bytes.Buffer
		cmd.SetErr(&out)
		printer := &progressPrinter{cmd: cmd, flags: &operatorFlags{logFormat: format}, line: newProgressLine(&out)}
		printer.progress(devcluster.Progress{Phase: devcluster.PhaseCompile, Message: hostile, Done: 1, Total: 2})
		printer.say(false, hostile)
		wantPrintable(t, format, out.String())
	}
	info := devcluster.Info{Name: hostile, Provider: hostile, State: devcluster.State(hostile), Project: hostile + "\t", Server: hostile, Version: hostile, Kubeconfig: hostile}
	for what, show := range map[string]func(io.Writer) error{
		"table": func(w io.Writer) error { return printClustersTable(w, []devcluster.Info{info}, time.Now()) },
		"json":  func(w io.Writer) error { return printClustersJSON(w, []devcluster.Info{info}) },
		"started": func(w io.Writer) error {
			cmd := newRootCommand()
			cmd.SetOut(w)
			cmd.SetErr(w)
			return printStarted(cmd, "started", info)
		},
	} {
		var out bytes.Buffer
		if err := show(&out); err != nil {
			t.Error(err)
		}
		wantPrintable(t, what, out.String())
		if lines := strings.Count(out.String(), "\n"); what == "table" && lines != 2 {
			t.Errorf("the table has %d lines: %q", lines, out.String())
		}
	}
	var out bytes.Buffer
	logs := &libraryLogs{w: &out, warned: make(map[string]bool)}
	logs.HandleWarningHeader(299, "", hostile)
	logs.HandleWarningHeader(299, "", hostile)
	wantPrintable(t, "a warning", out.String())
	if lines := strings.Count(out.String(), "\n"); lines != 1 {
		t.Errorf("the warning has %d lines: %q", lines, out.String())
	}
	out.Reset()
	if _, err := logs.Write([]byte(hostile)); err != nil {
		t.Error(err)
	}
	wantPrintable(t, "klog", out.String())
	if names, _ := completions([]string{"good", hostile}); len(names) != 1 {
		t.Errorf("the shell is offered %q", names)
	}
}

func TestLibraryLogs_HiddenOnlyWhileTheScreenIsShown(t *testing.T) {
	var out bytes.Buffer
	logs := &libraryLogs{w: &out, warned: make(map[string]bool)}
	failed := errors.New("no terminal")
	err := logs.hideWhile(func() error {
		if _, err := logs.Write([]byte("hidden")); err != nil {
			t.Error(err)
		}
		return failed
	})
	if err != failed || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	if _, err := logs.Write([]byte("shown")); err != nil || !strings.Contains(out.String(), "shown") {
		t.Errorf("%v, %q", err, out.String())
	}
}
