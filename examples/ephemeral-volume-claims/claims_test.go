package claims

import (
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
	volume := cluster.Object("pvc", "my-claim")
	volume.WaitValue("spec.resources.requests.storage", "1Gi")
	volume.WaitValue("metadata.labels.application", "some-app")
	volume.WaitValue("metadata.ownerReferences[0].name", "my-claim")
	volume.WaitValue("status.phase", "Bound")
	claim.WaitValue("status.size", "1Gi")

	claim.Set("spec.size", "2Gi")
	volume.WaitValue("spec.resources.requests.storage", "2Gi")

	mark := operator.LogMark()
	claim.Set("spec.size", "1Gi")
	operator.WaitLogSince(mark, "field can not be less than")
	claim.Set("spec.size", "3Gi")
	volume.WaitValue("spec.resources.requests.storage", "3Gi")

	volume.Label("somebodys", "own")
	volume.Label("application", "drifted")
	operator.WaitLog("Took a field of PersistentVolumeClaim my-claim back: metadata.labels.application")
	volume.WaitValue("metadata.labels.application", "some-app")
	claim.Label("owner", "me")
	volume.WaitValue("metadata.labels.owner", "me")
	claim.Unlabel("owner")
	volume.WaitFor("the label is gone", func(o *kopf.Object) bool { return o.Get("metadata.labels.owner") == nil })
	volume.WaitValue("metadata.labels.somebodys", "own")

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
	operator.WaitLog("failed permanently: spec.size must be set")
	if cluster.Object("pvc", "nothing").Exists() {
		t.Error("a volume claim was created")
	}
	claim.Set("spec.size", "1Gi")
	volume := cluster.Object("pvc", "nothing")
	volume.WaitValue("spec.resources.requests.storage", "1Gi")
	claim.Delete()
	volume.WaitGone() // otherwise, it would take the storage of the next test
}

func TestOperator_DeletedVolumeClaimIsCreatedAgain(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	cluster.Run(Register)
	claim, volume := cluster.ApplyFile("obj.yaml"), cluster.Object("pvc", "my-claim")
	first := volume.WaitFor("it exists", func(*kopf.Object) bool { return true }).Get("metadata.uid")
	volume.Delete()
	volume.WaitFor("it is another one", func(o *kopf.Object) bool { return o.Get("metadata.uid") != first })
	claim.Delete()
	volume.WaitGone()
}

func TestClaim_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("crd.yaml", "storage.yaml")
		c.Object("pv", "ephemeral-1").WaitValue("status.phase", "Available")
		c.Start()
		claim, volume := c.ApplyFile("obj.yaml"), c.Object("pvc", "my-claim")
		volume.WaitValue("status.phase", "Bound")
		claim.WaitValue("status.size", "1Gi")
		claim.Patch("{metadata: {labels: {owner: me}}, spec: {size: 2Gi}}")
		claim.WaitValue("status.size", "2Gi")
		first := volume.WaitValue("spec.resources.requests.storage", "2Gi").Get("metadata.uid")
		volume.Delete()
		volume.WaitFor("it is another one", func(o *kopf.Object) bool { return o.Get("metadata.uid") != first })
		claim.Delete()
		claim.WaitGone()
		volume.WaitGone()
	})
}
