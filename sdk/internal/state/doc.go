// Package state reads and writes the operator's records on objects, which survive restarts and which the next
// operator understands: pure functions of decoded objects and patches.
//
//   - The finalizer keeps an object in the cluster until its handlers are done: [AddFinalizer].
//   - The essence is the part of an object whose changes count: the fields that people and
//     controllers mean, without those of the system and of operators: [BuildEssence].
//   - The diff base is the essence as last handled, with which the current one is compared:
//     [DiffBaseStorage].
//   - Progress is how far the handlers of an object are in the current cause: [Progress] and
//     [ProgressStorage].
//   - Results are what handlers returned, in the object's status: [DeliverResults].
//
// Diff bases and progress are stored in annotations by default. Kubernetes limits the part of an
// annotation's name after the prefix to 63 characters. Longer names are cut, and a hash of the
// whole name is appended. There are two ways to do so: V1 counts the prefix too, V2 does not. For
// older operators, both names are written where they differ.
package state
