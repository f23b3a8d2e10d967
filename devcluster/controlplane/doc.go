// Command controlplane is a Kubernetes control plane for development in one process: the
// upstream kube-apiserver, etcd and controllers, and a simulated node, on which
// every pod becomes Running or Completed without any container. Two changes make it faster:
// the garbage collector watches new resources at once, and custom resources can be created as
// soon as their CRD is established.
//
// Package devcluster of github.com/kopf-dev/kopf starts it. To start it by hand:
//
//	controlplane --data-dir /tmp/dev
//	kubectl --kubeconfig /tmp/dev/kubeconfig get namespaces
//
// With --copy, it holds objects of another cluster: it stores the JSON objects that are posted to
//
//	http://any/?group=apps&resource=deployments
//
// on the socket load.sock in the data directory, as they are, and runs no controllers that would change them. It saves
// memory: it caches no objects, and collects garbage more often than a busy development cluster.
//
// # Contract
//
// It prints exactly one line of JSON to standard output. When the cluster is usable:
//
//	{"server":"https://127.0.0.1:35467","kubeconfig":"/tmp/dev/kubeconfig","context":"dev","version":"v1.37.1","pid":4711,"seconds":0.98}
//
// and if the start fails, with the reason "in-use", "port-taken" or "failed":
//
//	{"reason":"port-taken","error":"the port 6443 is taken"}
//
// The first one is also written to the file cluster.json of the data directory. The process
// locks the file "lock" there with fcntl while it runs, and describes itself in it in JSON.
// Everything else is logged to the file controlplane.log.
//
// The exit status is 0 after SIGINT, SIGTERM or the end of the guarding parent, 2 for invalid
// flags, 3 for a data directory in use, 4 for a taken port, and 1 otherwise.
package main
