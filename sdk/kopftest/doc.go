// Package kopftest tests operators: against a real cluster inside of "go test", or by
// calling handlers with requests made by hand.
//
//	func TestAVolumeClaimIsMade(t *testing.T) {
//		cluster := kopftest.New(t)
//		cluster.ApplyFile("crd.yaml")
//		operator := cluster.Run(Register)
//		claim := cluster.ApplyFile("obj.yaml")
//		operator.WaitHandled(claim)
//		claim.WaitValue("status.create.pvc-name", "my-claim")
//	}
//
// # Where the cluster comes from
//
// By default, it is the embedded control plane: a real API server and the controllers, in
// one process that the first test of a binary starts and that ends with the binary. Its
// program is found in the user's cache, where "kopf cluster prepare" puts it, or where
// KOPF_CONTROLPLANE says. Each test has a namespace of its own, so tests can be parallel.
//
// These environment variables choose:
//
//   - KOPFTEST_KUBECONFIG is the kubeconfig file of a cluster to use instead;
//     KOPFTEST_CONTEXT a context of it other than the current one.
//   - KOPF_CONTROLPLANE is the program of the embedded control plane.
//   - KOPFTEST_TIMEOUT is how long to wait for what a test waits for, such as "1m"; 30s.
//   - KOPF_SKIP_CLUSTER_TESTS, if it is set to anything, skips tests that need a cluster.
//
// # What a test does not do
//
// It does not sleep: all that waits follows the cluster and goes on when the awaited has
// come. It does not handle errors: what goes wrong fails the test, on the test's own line. It
// does not clean up: at its end, the operators are stopped, and what it has made is deleted,
// finalizers or not; definitions of custom resources stay for other tests, see [Main]. And it
// needs no logs: the operator's log is shown with a test that fails, and whatever was waited
// for in vain is told together with where the handlers stand, with the object as it is, and
// with the last lines of the log.
//
// # Handlers alone
//
// Requests to call handlers with, without any cluster, are made by [Change], [Update],
// [FieldChange], [Event], [Timer], [IndexRequest] and [Activity]; [Daemon] drives a daemon.
// [Patched] and [Changes] show what a handler did to the patch, [Posted] the events that it
// has posted. [Context] is for handlers
// that call [kopf.RESTConfig], [WithIndices] for those that read indices.
package kopftest
