// Package webhook has the server that admission reviews arrive at, and how the cluster is told where it is.
//
// An operator with admission handlers needs a way in for the cluster's requests. A [Server] listens on a port,
// or on a Unix socket behind another listener:
//
//	operator.Settings.Admission.Server = &webhook.Server{Address: ":9443", Service: &webhook.Service{Namespace: "prod", Name: "claims"}}
//
// Operators that are made of kopf.Main have flags for it, and "kopf dev" and "kopf run" set them. See [Admission].
//
// [Admission]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
package webhook
