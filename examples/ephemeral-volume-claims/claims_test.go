package claims

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

// TestTutorial_VolumeClaimFollowsItsOwner does all steps of the tutorial.
func TestTutorial_VolumeClaimFollowsItsOwner(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml", "storage.yaml")
	cluster.Object("pv", "ephemeral-1").WaitValue("status.phase", "Available")
	operator := cluster.Run(Register)

	claim := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(claim)
	claim.WaitValue("status.create.pvc-name", "my-claim")

	volume := cluster.Object("pvc", "my-claim")
	volume.WaitValue("metadata.labels", map[string]any{"application": "some-app"})
	volume.WaitValue("spec.resources.requests.storage", "1Gi")
	volume.WaitValue("metadata.ownerReferences[0].name", "my-claim")
	volume.WaitValue("status.phase", "Bound") // only a bound claim can grow

	claim.Set("spec.size", "2Gi")
	operator.WaitHandled(claim)
	volume.WaitValue("spec.resources.requests.storage", "2Gi")

	claim.Set("spec.size", "1Gi")
	failed := operator.WaitFailed(claim)
	if h := failed.Handlers[0]; h.ID != "resize/spec.size" || h.Attempt != 1 {
		t.Errorf("shrinking a volume did not fail: %+v", h)
	}

	volume.Label("somebodys", "own")
	claim.Label("application", "other-app")
	claim.Label("owner", "me")
	operator.WaitHandled(claim)
	volume.WaitValue("metadata.labels", map[string]any{"application": "other-app", "owner": "me", "somebodys": "own"})

	claim.Unlabel("owner")
	operator.WaitHandled(claim)
	volume.WaitValue("metadata.labels", map[string]any{"application": "other-app", "somebodys": "own"})

	claim.Delete()
	claim.WaitGone()
	volume.WaitGone()
}

func TestOperator_MissingSizeFailsPermanently(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	claim := cluster.Apply(`
apiVersion: kopf.dev/v1
kind: EphemeralVolumeClaim
metadata: {name: nothing}
spec: {}
`)
	failed := operator.WaitFailed(claim)
	if h := failed.Handlers[0]; h.ID != "create" || h.Error == nil || h.Error.Message != "spec.size must be set" || h.Attempt != 1 {
		t.Errorf("%+v", h)
	}
	if cluster.Object("pvc", "nothing").Exists() {
		t.Error("a volume claim was created")
	}
}

func TestResize_WaitsForVolume(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	claim := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(claim)

	claim.Set("spec.size", "2Gi")
	retrying := operator.WaitRetrying(claim)
	if h := retrying.Handlers[0]; h.ID != "resize/spec.size" || h.Error == nil || h.Error.Kind != "temporary" {
		t.Errorf("%+v", h)
	}
}

func TestCreate_MissingSizeIsPermanentError(t *testing.T) {
	c := kopftest.Change[Claim](t, "spec: {}")
	err := create(t.Context(), c)
	if _, permanent := errors.AsType[kopf.PermanentError](err); !permanent {
		t.Errorf("%v is not permanent", err)
	}
}

func TestVolume_FailedCreationIsPermanentError(t *testing.T) {
	const old, current = "spec: {size: 1Gi}", "{metadata: {labels: {a: b}}, spec: {size: 2Gi}}"
	for name, call := range map[string]func() error{
		"resize": func() error { return resize(t.Context(), kopftest.Update[Claim](t, old, current)) },
		"relabel": func() error {
			return relabel(t.Context(), kopftest.FieldChange[map[string]string](t, "metadata.labels", old, current))
		},
	} {
		err := call()
		if _, permanent := errors.AsType[kopf.PermanentError](err); !permanent || !strings.Contains(err.Error(), "has no volume claim") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVolume_DeletedOneFailsPermanently(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	claim := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(claim)
	volume := cluster.Object("pvc", "my-claim")
	volume.Delete()
	volume.WaitGone()

	const want = "the volume claim my-claim does not exist: delete this object and create it again"
	expectFailure := func(id string) {
		t.Helper()
		for _, h := range operator.WaitFailed(claim).Handlers {
			if h.ID == id && h.Error != nil && h.Error.Message == want && h.Attempt == 1 {
				return
			}
		}
		t.Errorf("%s did not fail permanently: %+v", id, operator.WaitFailed(claim).Handlers)
	}
	claim.Set("spec.size", "2Gi")
	expectFailure("resize/spec.size")
	claim.Label("owner", "me")
	expectFailure("relabel/metadata.labels")
}
