package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// operator runs an operator in a process.
func operator(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	cmd, out, errs := command(t, t.TempDir(), args...)
	cmd.Args[0] = "operator"
	cmd.Env = append(cmd.Env, asOperator+"=1")
	err := cmd.Run()
	return code(t, err), out.String(), errs.String()
}

// toolFlags are the flags of kopf run that the operator itself does not have.
var toolFlags = []string{"cluster", "ephemeral", "feature-gates", "yes", "proxy", "as-deployed", "apply", "until", "timeout", "report", "help"}

// clusterFlags are the flags that kopf run passes on in another way.
var clusterFlags = []string{"kubeconfig", "context"}

// sameUntil are flags with different defaults in kopf run and in operators, and where their
// descriptions begin to differ.
var sameUntil = map[string]string{"kubeconfig": " to use", "context": " to use", "inspect": ", not at"}

// flagDescriptions parses the flags of a help text: name, type and description.
func flagDescriptions(help string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^ +((?:-\w, )?--([\w-]+)(?: \w+)?) +(.*)$`).FindAllStringSubmatch(help, -1) {
		text := m[1] + ": " + m[3]
		if end, differs := sameUntil[m[2]]; differs {
			text, _, _ = strings.Cut(text, end)
		}
		found[m[2]] = text
	}
	return found
}

func TestOperatorFlags_DescribedAsByOperator(t *testing.T) {
	exit, help, stderr := operator(t, "--help")
	if exit != 0 || stderr != "" {
		t.Fatalf("%d, %s", exit, stderr)
	}
	var out bytes.Buffer
	if got := execute(t.Context(), []string{"run", "--help"}, &out, &out); got != 0 {
		t.Fatalf("%d, %s", got, &out)
	}
	theirs, ours := flagDescriptions(help), flagDescriptions(out.String())
	// The tool chooses the tunnel for admission reviews, and passes it to the operator in these flags.
	isWebhook := func(name, _ string) bool { return strings.HasPrefix(name, "webhook") }
	maps.DeleteFunc(theirs, isWebhook)
	maps.DeleteFunc(ours, isWebhook)
	for _, name := range toolFlags {
		delete(ours, name)
	}
	if len(theirs) < 10 {
		t.Fatalf("the flags of an operator are %q", theirs)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("operator and kopf run: %s", diff)
	}
}

// values are valid values of the operator's flags.
var values = map[string]string{
	"namespace": "ns", "log-format": "plain", "log-refkey": "ref", "inspect": "tcp:127.0.0.1:0", "liveness": "http://127.0.0.1:0/",
	"watch-label-selector": "tier=gold", "shards": "3", "shard-key": "namespace", "lease": "ns/name",
	"peering": "example", "priority": "5", "identity": "me",
}

func TestOperatorFlags_AllArePassedOn(t *testing.T) {
	dir, config := operatorTree(t, ""), kubeconfig(t)
	var all []string
	newRunCommand().Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case slices.Contains(toolFlags, f.Name), slices.Contains(clusterFlags, f.Name), strings.HasPrefix(f.Name, "webhook"):
		case f.Name == "leader-elect": // is passed on with its value
			all = append(all, "--leader-elect=true")
		case f.Value.Type() == "bool":
			all = append(all, "--"+f.Name)
		case values[f.Name] == "":
			t.Errorf("no value is known for --%s", f.Name)
		default:
			all = append(all, "--"+f.Name+"="+values[f.Name])
		}
	})
	// Some flags exclude each other.
	for _, without := range [][]string{
		{"--quiet", "--all-namespaces", "--standalone", "--leader-elect=true"},
		{"--verbose", "--debug", "--namespace=ns", "--peering=example", "--shards=3", "--shard-key=namespace"},
	} {
		flags := slices.DeleteFunc(slices.Clone(all), func(flag string) bool { return slices.Contains(without, flag) })
		cmd, stdout, stderr := command(t, dir, append([]string{"run", ".", "--kubeconfig=" + config}, flags...)...)
		if got := code(t, cmd.Run()); got != 0 {
			t.Fatalf("%d, %s", got, stderr)
		}
		got := strings.Fields(stdout.String())
		for _, flag := range flags {
			if !slices.Contains(got, flag) {
				t.Errorf("the operator was started without %s: %s", flag, stdout)
			}
		}
		if exit, _, said := operator(t, append(flags, "--kubeconfig=/nowhere", "--log-format=none")...); exit != 1 || !strings.Contains(said, "/nowhere") {
			t.Errorf("an operator rejects them: %d, %s", exit, said)
		}
	}
}

func TestOperatorFlags_MistakesReportedAsByOperator(t *testing.T) {
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
		{"--watch-label-selector=in in in"},
		{"--shards=0", "--lease=x"},
		{"--shard-key=uid"},
		{"--shards=2", "--shard-key=name", "--lease=x"},
		{"--shards=2", "--leader-elect", "--lease=x"},
		{"--leader-elect"},
		{"--lease=x"},
		{"--standalone", "--peering=x"},
		{"--priority=high"},
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

func TestOperatorFlags_ManifestsAreReadFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(path, []byte("a: b\n  c: d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if got := execute(t.Context(), []string{"run", "./nowhere", "--apply", path}, &out, &errs); got != exitFailure || !strings.HasPrefix(errs.String(), "kopf: "+path+":2: ") {
		t.Errorf("%d, %s", got, &errs)
	}
}
