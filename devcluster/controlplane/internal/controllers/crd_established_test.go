package controllers

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func crd(established apiextensionsv1.ConditionStatus, at time.Time) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{
		Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)},
			{Type: apiextensionsv1.Established, Status: established, LastTransitionTime: metav1.NewTime(at)},
		},
	}}
}

func TestBackdated_JustEstablishedCRDsOnly(t *testing.T) {
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
