package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
)

func TestExecute_InvalidCommandLineExitCode(t *testing.T) {
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
		"dev . --log-format=none":                         "kopf: --log-format=none: want full, plain or json\nSee: kopf dev --help\n",
		"run . --bogus":                                   "kopf: unknown flag: --bogus\nSee: kopf run --help\n",
		"version -o yaml":                                 "kopf: unknown output format \"yaml\"; use json, or omit the flag\nSee: kopf version --help\n",
		"frobnicate":                                      "kopf: unknown command \"frobnicate\" for \"kopf\"\nSee: kopf --help\n",
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

func TestReport_SignalIsReportedAsInterruption(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&runner.InterruptError{Signal: syscall.SIGTERM})
	var errs bytes.Buffer
	err := fmt.Errorf("asking the server: %w", context.Canceled)
	if got := report(ctx, newRootCommand(), err, &errs); got != 143 || errs.String() != "kopf: terminated\n" {
		t.Errorf("%d, %s", got, &errs)
	}
}
