package controllers

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func TestSelection_ExcludesKnownControllersOnly(t *testing.T) {
	if got := selection([]string{"garbage-collector-controller", "other"}, true); got != "*,-garbage-collector-controller" {
		t.Errorf("got %q", got)
	}
	known := app.KnownControllers()
	for _, name := range slices.Concat(unwanted, unwantedWithNode) {
		if !slices.Contains(known, name) {
			t.Errorf("this version of Kubernetes has no controller %q", name)
		}
	}
	with, without := selection(known, true), selection(known, false)
	if !strings.Contains(with, "-node-lifecycle-controller") || strings.Contains(without, "-node-lifecycle-controller") {
		t.Errorf("with a node it is %q, without it is %q", with, without)
	}
}
