// Package state reads and writes the operator's records on objects, which survive restarts. It has pure functions of decoded
// objects and patches.
//
//   - The finalizer keeps an object in the cluster until its handlers are done: [AddFinalizer].
//   - The essence is the part of an object whose changes cause updates: all fields except the fields that the system and
//     operators write: [BuildEssence].
//   - The diff base is the last-handled essence, with which the current essence is compared: [DiffBaseStorage].
//   - The progress has the state of an object's handlers for the current cause: [Progress] and [ProgressStorage].
//   - The results of handlers are in the object's status: [DeliverResults].
//
// Diff bases and progress are stored in annotations by default. Kubernetes limits the part of an annotation's name after the
// prefix to 63 characters. Longer names are shortened, and a hash of the whole name is appended. In V1 names, the limit
// includes the prefix; in V2 names, it does not. If both names differ, both are written, for older operators.
package state
