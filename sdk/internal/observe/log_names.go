package observe

// EventKey is the key of the attribute that names what a log line is about. Unlike the texts, the
// names are stable. JSON has the attribute; the text formats leave it out.
const EventKey = "event"

// LogName is a value of [EventKey]: logger.Info(text, observe.EventKey, observe.LogLoginStarted).
// It is a type of its own so that attributes of users with the same key stay what they are.
type LogName string

// The names of what log lines are about. docs/logging.md says what each means.
const (
	LogHandlerInvoked    LogName = "handler.invoked"
	LogHandlerSucceeded  LogName = "handler.succeeded"
	LogHandlerRetrying   LogName = "handler.retrying"
	LogHandlerFailed     LogName = "handler.failed"
	LogHandlerExhausted  LogName = "handler.exhausted"
	LogHandlerIgnored    LogName = "handler.ignored"
	LogHandlerUnfinished LogName = "handler.unfinished"
	LogHandlerCancelled  LogName = "handler.cancelled"
	LogHandlerMisfit     LogName = "handler.misfit"

	LogCauseStarted     LogName = "cause.started"
	LogCauseDiff        LogName = "cause.diff"
	LogCauseSuperseded  LogName = "cause.superseded"
	LogCauseProcessed   LogName = "cause.processed"
	LogCauseNoop        LogName = "cause.noop"
	LogCauseFree        LogName = "cause.free"
	LogCauseGone        LogName = "cause.gone"
	LogProgressOrphaned LogName = "progress.orphaned"
	LogMarkBroken       LogName = "mark.broken"
	LogFailureForgotten LogName = "failure.forgotten"
	LogFailureRetried   LogName = "failure.retried"

	LogProcessingFinished    LogName = "processing.finished"
	LogProcessingDelayed     LogName = "processing.delayed"
	LogProcessingInterrupted LogName = "processing.interrupted"
	LogProcessingFailed      LogName = "processing.failed"
	LogProcessingRecovered   LogName = "processing.recovered"
	LogConsistencyWaiting    LogName = "consistency.waiting"
	LogConsistencyOvertaken  LogName = "consistency.overtaken"
	LogConsistencyTimeout    LogName = "consistency.timeout"
	LogFinalizerAdded        LogName = "finalizer.added"
	LogFinalizerRemoved      LogName = "finalizer.removed"
	LogTouchFailed           LogName = "touch.failed"

	LogPatchSent           LogName = "patch.sent"
	LogPatchSkipped        LogName = "patch.skipped"
	LogPatchPostponed      LogName = "patch.postponed"
	LogPatchRepeated       LogName = "patch.repeated"
	LogPatchRejected       LogName = "patch.rejected"
	LogPatchFailed         LogName = "patch.failed"
	LogPatchMisplaced      LogName = "patch.misplaced"
	LogPatchHeld           LogName = "patch.held"
	LogPatchWritten        LogName = "patch.written"
	LogPatchPruned         LogName = "patch.pruned"
	LogResultRejected      LogName = "result.rejected"
	LogAnnotationsFull     LogName = "annotations.full"
	LogAnnotationsDropped  LogName = "annotations.dropped"
	LogAnnotationsRestored LogName = "annotations.restored"

	LogDaemonSignalled LogName = "daemon.signalled"
	LogDaemonExiting   LogName = "daemon.exiting"
	LogDaemonExited    LogName = "daemon.exited"
	LogDaemonAbandoned LogName = "daemon.abandoned"

	LogIndexComplete  LogName = "index.complete"
	LogIndexFailed    LogName = "index.failed"
	LogIndexSlow      LogName = "index.slow"
	LogIndexAbandoned LogName = "index.abandoned"

	LogStreamStarted     LogName = "stream.started"
	LogStreamRestarted   LogName = "stream.restarted"
	LogStreamPostponed   LogName = "stream.postponed"
	LogStreamInterrupted LogName = "stream.interrupted"
	LogStreamStopped     LogName = "stream.stopped"
	LogStreamDetail      LogName = "stream.detail"
	LogAPIRequest        LogName = "api.request"
	LogAPIWarning        LogName = "api.warning"
	LogLibraryMessage    LogName = "library.message"
	LogLoginStarted      LogName = "login.started"
	LogLoginFinished     LogName = "login.finished"
	LogLoginFailed       LogName = "login.failed"

	LogDiscoveryStarted      LogName = "discovery.started"
	LogDiscoveryRetrying     LogName = "discovery.retrying"
	LogDiscoveryFailed       LogName = "discovery.failed"
	LogDiscoveryRecovered    LogName = "discovery.recovered"
	LogDiscoveryForbidden    LogName = "discovery.forbidden"
	LogHandlerForeign        LogName = "handler.foreign"
	LogResourcesUnserved     LogName = "resources.unserved"
	LogNamespacesForbidden   LogName = "namespaces.forbidden"
	LogNamespacesUnspecified LogName = "namespaces.unspecified"

	LogOperatorReady      LogName = "operator.ready"
	LogOperatorPaused     LogName = "operator.paused"
	LogOperatorResumed    LogName = "operator.resumed"
	LogStartupInterrupted LogName = "startup.interrupted"
	LogShutdownAbandoned  LogName = "shutdown.abandoned"
	LogEndpointServed     LogName = "endpoint.served"
	LogEndpointFailed     LogName = "endpoint.failed"
	LogEventsDropped      LogName = "events.dropped"
	LogEventsFailed       LogName = "events.failed"
)
