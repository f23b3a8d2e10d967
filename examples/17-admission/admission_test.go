package admission

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

// Reviews that a test constructs need neither a cluster nor a webhook.

func TestCheckField_DeniesOneValue(t *testing.T) {
	a := kopftest.Admission[Example](t, nil, `spec: {field: wrong}`)
	var denial kopf.AdmissionError
	if err := checkField(t.Context(), a); !errors.As(err, &denial) || !strings.Contains(denial.Message, "Change the field") {
		t.Errorf("%v", err)
	}
	a = kopftest.Admission[Example](t, nil, `spec: {field: right}`)
	if err := checkField(t.Context(), a); err != nil {
		t.Error(err)
	}
}

func TestSetDefaults_OnlyWhereMissing(t *testing.T) {
	a := kopftest.Admission[Example](t, nil, `spec: {}`)
	if err := setDefaults(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got := kopftest.Patched(t, a.Patch).Get("spec.field"); got != "value" {
		t.Errorf("the field is %v", got)
	}
}

// Real requests pass through the API server.

func example(name, field string, labels map[string]string) map[string]any {
	return map[string]any{
		"apiVersion": "kopf.dev/v1", "kind": "KopfExample",
		"metadata": map[string]any{"name": name, "labels": labels}, "spec": map[string]any{"field": field},
	}
}

func TestOperator_ReviewsRealRequests(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	operator.WaitWebhooks(example("probe", "right", nil))
	denied := func(answer *kopftest.Answer, says string) {
		t.Helper()
		if answer.Err == nil || !strings.Contains(answer.Err.Error(), says) {
			t.Errorf("want %q, got %v", says, answer.Err)
		}
	}

	// Apply.
	denied(cluster.TryCreate(example("a", "wrong", nil)), "Change the field")
	denied(cluster.TryCreate(example("a", "not-allowed", nil)), "too lazy")
	applied := cluster.TryCreate(example("a", "", map[string]string{"somelabel": "somevalue", "protected": "yes"}))
	if applied.Err != nil || applied.Object.Get("spec.injected") != int64(123) || applied.Object.Get("spec.field") != "value" {
		t.Errorf("%v: %v", applied.Err, applied.Object.Get(""))
	}
	if warnings := strings.Join(applied.Warnings, "; "); !strings.Contains(warnings, "CREATE by ") || !strings.Contains(warnings, "Also set status.field") {
		t.Errorf("warnings: %s", warnings)
	}
	object := cluster.Object("kopfexamples.kopf.dev", "a")

	// Dry run.
	denied(object.TryPatch(`spec: {field: wrong}`, kopftest.DryRun()), "Change the field")
	if dry := object.TryPatch(`spec: {field: other}`, kopftest.DryRun()); dry.Err != nil || object.Get().Get("spec.field") != "value" {
		t.Errorf("%v: %v", dry.Err, object.Get().Get("spec"))
	}

	// Subresource.
	denied(object.TryPatch(`status: {field: other}`, kopftest.InSubresource("status")), "MUST be equal")
	if equal := object.TryPatch(`status: {field: value}`, kopftest.InSubresource("status")); equal.Err != nil || len(equal.Warnings) > 0 {
		t.Errorf("%v, %q", equal.Err, equal.Warnings)
	}

	// Delete.
	denied(object.TryDelete(), "a is protected")
	object.Unlabel("protected")
	if deleted := object.TryDelete(); deleted.Err != nil {
		t.Error(deleted.Err)
	}
	object.WaitGone()
}

func TestOperator_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		c.WaitUntil("a wrong object is denied", func() bool {
			answer := c.TryCreate(example("a", "wrong", nil), kopftest.DryRun())
			return answer.Err != nil && strings.Contains(answer.Err.Error(), "Change the field")
		})
		right := example("a", "", map[string]string{"somelabel": "somevalue"})
		c.WaitUntil("an object gets its defaults", func() bool {
			answer := c.TryCreate(right, kopftest.DryRun())
			return answer.Err == nil && answer.Object.Get("spec.injected") == int64(123) && answer.Object.Get("spec.field") == "value"
		})
		c.Create(right)
	})
}
