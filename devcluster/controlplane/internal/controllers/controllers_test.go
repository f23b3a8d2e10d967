package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func TestOnlyControllersThatExistAreExcluded(t *testing.T) {
	if got := selection([]string{"garbage-collector-controller", "other"}, true); got != "*,-garbage-collector-controller" {
		t.Errorf("it is %q", got)
	}
	known := app.KnownControllers()
	for _, name := range slices.Concat(unwanted, unwantedWithNode) {
		if !slices.Contains(known, name) {
			t.Errorf("there is no controller %q any more", name)
		}
	}
	with, without := selection(known, true), selection(known, false)
	if !strings.Contains(with, "-node-lifecycle-controller") || strings.Contains(without, "-node-lifecycle-controller") {
		t.Errorf("with a node it is %q, without it is %q", with, without)
	}
}

func crd(established apiextensionsv1.ConditionStatus, at time.Time) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{
		Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)},
			{Type: apiextensionsv1.Established, Status: established, LastTransitionTime: metav1.NewTime(at)},
		},
	}}
}

func TestOnlyJustEstablishedCRDsAreBackdated(t *testing.T) {
	now := time.Unix(1000, 0)
	if got := backdated(crd(apiextensionsv1.ConditionFalse, now), now); got != nil {
		t.Errorf("one that is not established: %+v", got.Status)
	}
	if got := backdated(crd(apiextensionsv1.ConditionTrue, now.Add(-3*time.Second)), now); got != nil {
		t.Errorf("one that is settled: %+v", got.Status)
	}
	fresh := crd(apiextensionsv1.ConditionTrue, now)
	got := backdated(fresh, now)
	if got == nil || now.Sub(got.Status.Conditions[1].LastTransitionTime.Time) != backdating || !got.Status.Conditions[0].LastTransitionTime.Time.Equal(now) {
		t.Fatalf("a fresh one: %+v", got)
	}
	if again := backdated(got, now); again != nil {
		t.Error("it is backdated twice")
	}
	if !fresh.Status.Conditions[1].LastTransitionTime.Time.Equal(now) {
		t.Error("the CRD of the cache was changed")
	}
}

// countingDiscovery counts how often it is asked.
type countingDiscovery struct {
	discovery.ServerResourcesInterface
	asked int
	err   error
}

func (d *countingDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.asked++
	return []*metav1.APIResourceList{{GroupVersion: "v1"}}, d.err
}

func TestTheServerIsAskedAgainOnlyAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &countingDiscovery{err: errors.New("one group failed")}
		d := newFollowingDiscovery(server, time.Now)
		ask := func() int {
			t.Helper()
			before := server.asked
			if list, err := d.ServerPreferredResources(); len(list) != 1 || !errors.Is(err, server.err) {
				t.Errorf("the answer is %v (%v)", list, err)
			}
			return server.asked - before
		}
		if first, second := ask(), ask(); first != 1 || second != 1 {
			t.Error("at first it is not asked")
		}
		time.Sleep(hotPeriod)
		if ask() != 0 {
			t.Error("it is asked without a change")
		}
		d.changed()
		if first, second := ask(), ask(); first != 1 || second != 1 {
			t.Error("after a change it is not asked")
		}
		time.Sleep(hotPeriod)
		if ask() != 0 {
			t.Error("it is asked for too long")
		}
		time.Sleep(coldPeriod)
		if ask() != 1 || ask() != 0 {
			t.Error("an old answer is not renewed once")
		}
	})
}
