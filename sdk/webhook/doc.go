// Package webhook has the server for admission reviews, and the address that it announces to the cluster.
//
// The API server must be able to call an operator with admission handlers. A [Server] listens on a port, or on a Unix
// socket behind another listener:
//
//	operator.Settings.Admission.Server = &webhook.Server{Address: ":9443", Service: &webhook.Service{Namespace: "prod", Name: "claims"}}
//
// kopf.Main has flags for the server; "kopf dev" and "kopf run" set them. See [Admission].
//
// [Admission]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
package webhook
