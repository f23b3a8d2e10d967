package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
)

func TestResourceKey_MatchesInspector(t *testing.T) {
	for want, gvr := range map[string]schema.GroupVersionResource{
		"pods.v1":             {Version: "v1", Resource: "pods"},
		"things.v1.kopf.dev":  {Group: "kopf.dev", Version: "v1", Resource: "things"},
		"deployments.v1.apps": {Group: "apps", Version: "v1", Resource: "deployments"},
	} {
		if got := resourceKey(apply.Object{Resource: gvr}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestOperatorCluster_SaysWhatStaysOfAStoppedOne(t *testing.T) {
	want := "The cluster hello has stopped; its objects stay for the next run. Remove them with: kopf cluster delete hello"
	for _, test := range []struct {
		cluster *devcluster.Cluster
		want    string
	}{
		{&devcluster.Cluster{Name: "hello", Provider: devcluster.Embedded, Started: true}, want},
		{&devcluster.Cluster{Name: "hello", Provider: devcluster.Embedded}, ""}, // another command's
		{&devcluster.Cluster{Name: "ephemeral", Provider: devcluster.Embedded, Started: true, Ephemeral: true}, ""},
		{&devcluster.Cluster{Name: "staging", Provider: devcluster.Context, Started: true}, ""},
		{nil, ""},
	} {
		c := operatorCluster{cluster: test.cluster}
		if got := c.remainsStored(); got != test.want {
			t.Errorf("%+v: %q", test.cluster, got)
		}
	}
}

func TestOperatorCluster_ReopensSameContext(t *testing.T) {
	path := kubeconfig(t)
	var c operatorCluster
	options := devcluster.Options{Kubeconfig: path}
	if opened, err := c.open(t.Context(), options); err != nil || opened.Context != "here" {
		t.Fatalf("opened is %+v (%v)", opened, err)
	}
	// Another program changes the current context meanwhile.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("current-context: here", "current-context: elsewhere", "contexts: [", "contexts: [{name: elsewhere, context: {cluster: here, user: me}}, ").Replace(string(text))
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if opened, err := c.open(t.Context(), options); err != nil || opened.Context != "here" {
		t.Errorf("opened again is %+v (%v)", opened, err)
	}
}

func TestOperatorCluster_ReopensSameEmbeddedCluster(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	options := devcluster.Options{Project: "/src/hello"}
	other, err := devcluster.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	var c operatorCluster
	t.Cleanup(func() {
		if err := errors.Join(c.close(context.Background()), other.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	opened, err := c.open(t.Context(), options)
	if err != nil || other.Name != "hello" || opened.Name != "hello-2" {
		t.Fatalf("opened are %+v and %+v (%v)", other, opened, err)
	}
	// It ends, and the first one is free now.
	if err := errors.Join(c.cluster.Close(t.Context()), other.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if opened, err := c.open(t.Context(), options); err != nil || opened.Name != "hello-2" {
		t.Errorf("opened again is %+v (%v)", opened, err)
	}
}

func TestProgressOf_KnowsAllPhases(t *testing.T) {
	for _, phase := range []devcluster.Phase{
		devcluster.PhaseWait, devcluster.PhaseDownload, devcluster.PhaseCompile, devcluster.PhaseLink,
		devcluster.PhaseStart, devcluster.PhaseConnect, devcluster.PhaseReady,
	} {
		if got := progressOf(devcluster.Progress{Phase: phase}); got.Phase == "" {
			t.Errorf("%s has no phase in the workbench", phase)
		}
	}
}
