// Package handlers holds registered handlers and the pure decisions about them: the cause of an event, the handlers
// that match it, the order of their calls, and the outcome of an attempt. It performs no I/O and reads no clock.
//
//   - [Handler], [Registry] and [Set] are the handlers, of an operator and of one resource.
//   - [DetectReason] concludes the reason of a [Cause]: create, update, delete, resume or none of these.
//   - [Set.Selected] matches handlers with a cause, by their reasons and filters on labels,
//     annotations, fields and functions. [Set.Explain] returns the first [Mismatch] of each handler.
//   - A [Lifecycle] chooses which of the handlers that are due are called in this cycle; the others
//     wait for the next one.
//   - [Decide] turns the error of an attempt into an [Outcome]: done, failed permanently, or to be
//     retried later.
package handlers
