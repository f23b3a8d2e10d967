// Package admission has the decisions about admission webhooks: how reviews are read and answered, which error
// of several handlers is reported, and which webhooks the cluster must know. It performs no I/O and reads no
// clock.
//
//   - [Decode] reads a review of the API server, and [Response.Encode] answers it in the same version.
//   - [Choose] returns the one error that denies a request.
//   - [Names] returns the name of each handler's webhook, and [Build] the webhooks.
package admission
