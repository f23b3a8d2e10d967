// Package plan predicts the requests that an operator would send to a cluster. It sends only get and list requests to that
// cluster.
//
// The objects pass through the packages in this order: source reads the cluster, redaction replaces values of Secrets,
// copy keeps the objects in memory or in a file, and proxy stands between the operator and an embedded control plane. The
// proxy loads a resource from the copy when the operator first needs it, and records the operator's writing requests.
package plan
