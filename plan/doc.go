// Package plan answers which requests an operator would send to a cluster, without a request to that cluster but get and
// list.
//
// Its packages are the way of the objects, in this order: source reads the cluster, redaction replaces values of Secrets,
// copy keeps the objects in memory or in a file, and proxy stands between the operator and an embedded control plane. The
// proxy loads a resource from the copy when the operator first needs it, and records the operator's writing requests.
package plan
