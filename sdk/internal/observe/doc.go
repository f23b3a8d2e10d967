// Package observe is how the operator is observed. The engine tells a [Sink] what happens, as typed
// events; the subscribers are the [Inspector], [Metrics], [LogLines] and [OutcomeEvents]. The package
// also has the formats of log lines and the [Poster] of Kubernetes events.
package observe
