// Package inspect is the inspector protocol: how an operator shows its inner state.
//
// An operator that publishes its state serves HTTP on a Unix socket or on a loopback
// port. There are four requests, all with JSON bodies:
//
//	GET  /v1/snapshot  one [Snapshot]: everything that is known now
//	GET  /v1/stream    a [Message] a line: first the snapshot, then what changes
//	GET  /v1/index     one [IndexPage], of the index ?id=, from ?offset=, ?limit= entries
//	POST /v1/intents   one [Intent]: something the reader wishes to happen; a [Reply]
//
// Reasons are data, never prose: readers make sentences of them. A reader that is slow
// does not slow the operator: it misses intermediate states of an object, never the
// last one, and is told how many log lines it lost.
//
// The [Hub] is the operator's side, [Client] the reader's.
package inspect

// Version is the version of the protocol. It changes when a reader of the former
// version would misunderstand the messages; new fields do not change it.
const Version = 1
