package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestAdmission_UnknownHandlerFollowsFailurePolicyOfItsWebhook(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnValidate(r, own.selector(), func(context.Context, *admission) error { return nil }, kopf.ID("check"))
	}, withWebhooks(cluster))
	op.WaitWebhooks(named(own, "probe", "x"))
	webhooks, _ := cluster.Object("validatingwebhookconfigurations", cluster.Namespace+".kopf.dev").Get().Get("webhooks").([]any)
	managed := webhooks[0].(tree)["clientConfig"].(tree)
	leftBehind := func(policy string) *kopftest.Object {
		return cluster.Create(tree{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
			"metadata": tree{"name": strings.ToLower(policy) + "." + cluster.Namespace + ".kopf.dev"},
			"webhooks": []any{tree{
				"name": "removed.example.com", "failurePolicy": policy, "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
				"clientConfig": tree{"url": strings.TrimSuffix(managed["url"].(string), "check") + "removed", "caBundle": managed["caBundle"]},
				"rules": []any{tree{
					"apiGroups": []any{own.group}, "apiVersions": []any{"v1"}, "resources": []any{own.plural}, "operations": []any{"CREATE"},
				}},
			}},
		})
	}
	strict := leftBehind("Fail")
	var answer *kopftest.Answer
	cluster.WaitUntil("the webhook is called", func() bool {
		answer = cluster.TryCreate(named(own, "strict", "x"), kopftest.DryRun())
		return answer.Err != nil
	})
	for _, says := range []string{`no admission handler \"removed\"`, "remove its webhook from the configuration"} {
		if !strings.Contains(answer.Err.Error(), says) {
			t.Errorf("want %q in: %v", says, answer.Err)
		}
	}
	strict.Delete()
	lenient := leftBehind("Ignore")
	cluster.WaitUntil("the strict webhook is no longer called", func() bool {
		return cluster.TryCreate(named(own, "lenient", "x"), kopftest.DryRun()).Err == nil
	})
	lenient.Delete()
}
