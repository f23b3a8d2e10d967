package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// asOperator makes the test's binary behave as an operator with no handlers.
const asOperator = "KOPF_TEST_AS_OPERATOR"

func operatorMain() { kopf.Main(func(*kopf.Registry) {}) }

// operator runs an operator as a process.
func operator(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	cmd, out, errs := command(t, t.TempDir(), args...)
	cmd.Args[0] = "operator"
	cmd.Env = append(cmd.Env, asOperator+"=1")
	err := cmd.Run()
	return code(t, err), out.String(), errs.String()
}

// ofTheTool are the flags of kopf run that are not about the operator itself: where the
// cluster comes from, what is applied, and when it ends.
var ofTheTool = []string{"cluster", "ephemeral", "yes", "apply", "until", "timeout", "help"}

// otherwise are the flags whose absence means something else, so that their descriptions go on in
// another way.
var otherwise = []string{"kubeconfig", "context"}

// described are the flags of a help text: their names, kinds and descriptions.
func described(help string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^ +((?:-\w, )?--([\w-]+)(?: \w+)?) +(.*)$`).FindAllStringSubmatch(help, -1) {
		text := m[1] + ": " + m[3]
		if slices.Contains(otherwise, m[2]) {
			text, _, _ = strings.Cut(text, " to use")
		}
		found[m[2]] = text
	}
	return found
}

func TestRunHasTheFlagsOfOperatorsInTheSameWords(t *testing.T) {
	exit, help, stderr := operator(t, "--help")
	if exit != 0 || stderr != "" {
		t.Fatalf("%d, %s", exit, stderr)
	}
	var out bytes.Buffer
	if got := execute(t.Context(), []string{"run", "--help"}, &out, &out); got != 0 {
		t.Fatalf("%d, %s", got, &out)
	}
	theirs, ours := described(help), described(out.String())
	for _, name := range ofTheTool {
		delete(ours, name)
	}
	if len(theirs) < 10 {
		t.Fatalf("the flags of an operator are %q", theirs)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("operator and kopf run: %s", diff)
	}
}

// values are values of the operator's flags that mean something.
var values = map[string]string{
	"namespace": "ns", "log-format": "plain", "log-refkey": "ref", "inspect": "tcp:127.0.0.1:0", "liveness": "http://127.0.0.1:0/",
}

func TestEachFlagOfOperatorsIsPassedOnByRun(t *testing.T) {
	dir, config := operatorTree(t, ""), kubeconfig(t)
	var all []string
	newRunCommand().Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case slices.Contains(ofTheTool, f.Name), slices.Contains(otherwise, f.Name):
			// The cluster is told in another way.
		case f.Value.Type() == "bool":
			all = append(all, "--"+f.Name)
		case values[f.Name] == "":
			t.Errorf("no value is known for --%s", f.Name)
		default:
			all = append(all, "--"+f.Name+"="+values[f.Name])
		}
	})
	// Not all of them make sense together.
	for _, without := range [][]string{{"--quiet", "--all-namespaces"}, {"--verbose", "--debug", "--namespace=ns"}} {
		flags := slices.DeleteFunc(slices.Clone(all), func(flag string) bool { return slices.Contains(without, flag) })
		cmd, stdout, stderr := command(t, dir, append([]string{"run", ".", "--kubeconfig=" + config}, flags...)...)
		if got := code(t, cmd.Run()); got != 0 {
			t.Fatalf("%d, %s", got, stderr)
		}
		got := strings.Fields(stdout.String())
		for _, flag := range flags {
			if !slices.Contains(got, flag) {
				t.Errorf("the operator does not get %s: %s", flag, stdout)
			}
		}
		if exit, _, said := operator(t, append(flags, "--kubeconfig=/nowhere", "--log-format=none")...); exit != 1 || !strings.Contains(said, "/nowhere") {
			t.Errorf("an operator itself does not know them all: %d, %s", exit, said)
		}
	}
}

func TestMistakesInTheFlagsAreToldInTheSameWordsWithTheSameCode(t *testing.T) {
	for _, args := range [][]string{
		{"-A", "-n", "x"},
		{"-n", ""},
		{"-q", "-v"},
		{"--quiet", "--debug"},
		{"--log-format=pretty"},
		{"--bogus"},
		{"-Z"},
		{"--log-format"},
		{"--verbose=maybe"},
		{"--liveness=ftp://x"},
		{"--liveness=http://me@here/"},
		{"--inspect=tcp:0.0.0.0:80"},
		{"--liveness=http://["},
		{"--liveness=http://0.0.0.0:99999/x"},
		{"--inspect=here"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			exit, _, theirs := operator(t, args...)
			var out, errs bytes.Buffer
			got := execute(t.Context(), append([]string{"run", "."}, args...), &out, &errs)
			if exit != exitUsage || got != exitUsage {
				t.Errorf("operator %d, kopf %d", exit, got)
			}
			theirs = strings.ReplaceAll(theirs, "operator", "kopf run")
			ours := strings.Replace(errs.String(), "kopf:", "kopf run:", 1)
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Error(diff)
			}
		})
	}
}
