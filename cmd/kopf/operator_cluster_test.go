package main

import (
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
