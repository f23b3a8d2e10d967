package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
)

// TestUninstallHint_NamesWhatTheOperatorServed gives the printed commands to a shell, and their words to kopf uninstall.
func TestUninstallHint_NamesWhatTheOperatorServed(t *testing.T) {
	for _, test := range []struct {
		title, context string
		args           []string // arguments of kopf dev
		want           string
		words          []string // arguments of kopf uninstall
	}{
		{
			"whole cluster", "staging", []string{"./handlers"},
			"./handlers --context=staging", []string{"./handlers", "--context=staging"},
		},
		{
			"namespaces", "staging", []string{"./handlers", "-n", "mine", "--namespace=ours"},
			"./handlers --context=staging --namespace=mine --namespace=ours", []string{"./handlers", "--context=staging", "--namespace=mine", "--namespace=ours"},
		},
		{
			"patterns", "staging", []string{"./handlers", "-n", "mine", "-n", "app-*,!*-pr"},
			"./handlers --context=staging --namespace=NAME", []string{"./handlers", "--context=staging", "--namespace=NAME"},
		},
		{
			"words to quote", "it's $mine", []string{"./my handlers/...", "./other", "--kubeconfig=/tmp/my config"},
			`'./my handlers/...' ./other --kubeconfig='/tmp/my config' --context='it'\''s $mine'`,
			[]string{"./my handlers/...", "./other", "--kubeconfig=/tmp/my config", "--context=it's $mine"},
		},
		{
			"peering and lease", "staging", []string{"./handlers", "--peering=team", "--leader-elect", "--lease=replicas"},
			"./handlers --context=staging --peering=team --lease=apps/replicas", []string{"./handlers", "--context=staging", "--peering=team", "--lease=apps/replicas"},
		},
		{
			"lease with a namespace", "staging", []string{"./handlers", "--shards=2", "--lease=there/replicas"},
			"./handlers --context=staging --lease=there/replicas", []string{"./handlers", "--context=staging", "--lease=there/replicas"},
		},
	} {
		t.Run(test.title, func(t *testing.T) {
			var f operatorFlags
			dev := newDevCommand()
			dev.ResetFlags()
			f.add(dev, "plain", "json")
			if err := dev.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			c := operatorCluster{cluster: &devcluster.Cluster{Name: test.context, Provider: devcluster.Context, Context: test.context, Namespace: "apps"}}
			lines := c.uninstallLines(&f, dev.Flags().Args())
			if len(lines) != 2 || lines[1] != "  kopf uninstall "+test.want {
				t.Fatalf("got %q", lines)
			}
			if each := strings.Contains(lines[0], "in each of its namespaces"); each != (test.title == "patterns") {
				t.Errorf("got %q", lines[0])
			}
			out, err := exec.CommandContext(t.Context(), "sh", "-c", "kopf() { printf '%s\\n' \"$@\"; }\n"+lines[1]).Output()
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if !slices.Equal(words, append([]string{"uninstall"}, test.words...)) {
				t.Errorf("the shell makes %q of it", words)
			}
			if err := newUninstallCommand().ParseFlags(words[1:]); err != nil {
				t.Errorf("kopf uninstall rejects %q: %v", words, err)
			}
		})
	}
}

func TestUninstallHint_OnlyForClustersOfTheUser(t *testing.T) {
	for _, cluster := range []*devcluster.Cluster{nil, {Name: "hello", Provider: devcluster.Embedded}, {Name: "hello", Provider: devcluster.K3d}} {
		c := operatorCluster{cluster: cluster}
		if got := c.uninstallLines(&operatorFlags{}, []string{"./handlers"}); got != nil {
			t.Errorf("%+v: %q", cluster, got)
		}
	}
}
