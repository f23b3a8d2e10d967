// Package kopftest tests operators: against a real cluster inside of "go test", or by calling handlers with requests
// that the test constructs.
//
//	func TestClaim_GetsVolume(t *testing.T) {
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
// By default, it is the embedded control plane: a real API server and the controllers, in one process that the first test
// of a binary starts and that ends with the binary. "kopf cluster prepare" puts its program into the user's cache; the
// variable KOPF_CONTROLPLANE can name another program. Each test has its own namespace, so tests can be parallel.
//
// These environment variables configure the tests:
//
//   - KOPFTEST_KUBECONFIG is the kubeconfig file of a cluster to use instead, and KOPFTEST_CONTEXT the name of its context.
//     Defaults to the current context of the file.
//   - KOPF_CONTROLPLANE is the program of the embedded control plane.
//   - KOPFTEST_UPDATE writes golden files instead of comparing with them: see [Golden].
//   - KOPFTEST_SEED replays a test that uses [Seed].
//   - KOPFTEST_TIMEOUT limits each wait of a test, such as "1m". Defaults to 30s.
//   - KOPFTEST_CRASH_BUDGET is the time after which [EveryCrash] starts no further run. Defaults to 1m.
//   - KOPF_SKIP_CLUSTER_TESTS skips tests that need a cluster if it is not empty.
//
// # Work that a test is spared
//
// A test need not sleep: methods that wait follow the cluster and return as soon as the condition is met. It need not
// handle errors: an error fails the test, on the test's own line. It need not clean up: at the end, the operators are
// stopped and all objects that the test created are deleted, with or without finalizers. Custom resource definitions stay
// for other tests, see [Main]. It need not print logs: a failure shows the operator's log. When a wait times out, the
// failure shows the state of each handler, the object, and the end of the log.
//
// # When things break
//
// [Cluster.FaultProxy] starts a server between the operator and the API server that drops, delays, refuses and damages requests,
// answers and events, by rules: see [Faults]. [Chaos] runs an operator under all of this, with restarts of the server, jumps of the
// [Clock] and kills at any write; it depends only on a [Seed]. [EveryCrash] kills an operator at each of its writes and calls, and
// compares the results. [Cluster.StartProcess] starts an operator that a test can freeze and continue.
//
// # Handlers alone
//
// [Change], [Update], [FieldChange], [Pass], [Event], [Timer], [IndexRequest] and [Activity] return requests to call handlers with,
// without a cluster; [Daemon] runs a daemon. [Passed] returns the children that a pass has applied, and the effects of the pass.
// [Patched] and [Changes] return the contents of a handler's patch, and [Posted] the events that the handler posted. [Context] is
// for handlers that call [kopf.RESTConfig], and [WithIndices] for handlers that read indices.
package kopftest
