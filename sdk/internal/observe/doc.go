// Package observe makes the operator observable. The engine emits typed events to a [Sink]; the subscribers are the
// [Inspector], [Metrics], [LogLines] and [OutcomeEvents]. The package also has the formats of log lines and the
// [Poster] of Kubernetes events.
package observe
