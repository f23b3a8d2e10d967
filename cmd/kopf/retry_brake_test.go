package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestRetry_ReleasesTheBrake(t *testing.T) {
	op := serveInspector(t, filepath.Join(shortDir(t), "s"), kex("one", "a", inspect.StateSettled, donePass))
	run := func(line string) (output string, code int, intents []inspect.Intent) {
		before := len(op.got())
		var printed strings.Builder
		code = execute(t.Context(), append([]string{"retry", "--inspect=" + op.address}, strings.Fields(line)...), &printed, &printed)
		return printed.String(), code, op.got()[before:]
	}
	if output, code, intents := run("--brake"); output != "nothing to continue: no pruning has stopped\n" || code != 0 || len(intents) > 0 {
		t.Errorf("%d, %s, %v", code, output, intents)
	}
	of := func(resource, children string) inspect.Alarm {
		return inspect.Alarm{Kind: inspect.AlarmBrake, Object: &inspect.Ref{Resource: resource}, Resource: children}
	}
	const own, other = "kopfexamples.v1.kopf.dev", "tenants.v1.example.com"
	op.alarms = []inspect.Alarm{{Kind: inspect.AlarmMemory}, of(own, "configmaps.v1"), of(own, "deployments.v1.apps"), of(other, "namespaces.v1")}
	unbrake := func(resource string) inspect.Intent {
		return inspect.Intent{Kind: inspect.IntentUnbrake, Value: resource}
	}
	for line, test := range map[string]struct {
		output string
		code   int
		want   []inspect.Intent
	}{
		"--brake":                {"continuing to prune configmaps, deployments, namespaces\n", 0, []inspect.Intent{unbrake(own), unbrake(other)}},
		"kopfexamples --brake":   {"continuing to prune configmaps, deployments\n", 0, []inspect.Intent{unbrake(own)}},
		"kexx --brake":           {"kopf: no running operator has the resource \"kexx\"; did you mean kex?\n", 2, nil},
		"kex/a --brake":          {"kopf: kex/a: --brake is for all objects of a KIND; ", 2, nil},
		"--brake --state=failed": {"kopf: --brake excludes --state, --handler and --namespace\n", 2, nil},
		"kex pods --brake":       {"kopf: want one object, ", 2, nil},
	} {
		output, code, intents := run(line)
		if diff := cmp.Diff(test.want, append([]inspect.Intent(nil), intents...)); code != test.code || !strings.HasPrefix(output, test.output) || diff != "" {
			t.Errorf("%s: %d, %s, %s", line, code, output, diff)
		}
	}
}
