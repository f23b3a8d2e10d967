// Command controlplane is a Kubernetes control plane for development in one process:
// the upstream kube-apiserver, etcd and kube-controller-manager, with two changes that
// make a developer's day faster (a garbage collector that follows new resources at
// once, custom resources that can be created as soon as they are established) and a
// simulated node, on which every pod is Running or Completed without any container.
//
// It is started by package devcluster of github.com/kopf-dev/kopf, and can be by hand:
//
//	controlplane --data-dir /tmp/dev
//	kubectl --kubeconfig /tmp/dev/kubeconfig get namespaces
//
// # Contract
//
// Standard output gets exactly one line of JSON. When the cluster is usable:
//
//	{"server":"https://127.0.0.1:35467","kubeconfig":"/tmp/dev/kubeconfig","context":"dev","version":"v1.37.1","pid":4711,"seconds":0.98}
//
// and when it does not get there, with the reason "in-use", "port-taken" or "failed":
//
//	{"reason":"port-taken","error":"the port 6443 is taken"}
//
// The first one is also in the file cluster.json of the data directory. There, the file
// "lock" is locked with fcntl for as long as the process lives, and tells in JSON which
// process it is. Everything else is logged to the file controlplane.log.
//
// The exit status is 0 after SIGINT, SIGTERM or the end of the guarding parent, 2 for wrong flags,
// 3 for a data directory in use, 4 for a taken port, 1 for all else.
package main
