package observe

// EventKey is the key of the attribute that names what a log line is about. Unlike the texts, the
// names are stable. JSON has the attribute; the text formats leave it out.
const EventKey = "event"

// EventName is a value of [EventKey]: logger.Info(text, observe.EventKey, observe.LogLoginStarted).
// It is a type of its own so that attributes of users with the same key stay what they are.
type EventName string

// The names of what log lines are about. docs/logging.md says what each means.
const (
	LogHandlerInvoked    EventName = "handler.invoked"
	LogHandlerSucceeded  EventName = "handler.succeeded"
	LogHandlerRetrying   EventName = "handler.retrying"
	LogHandlerFailed     EventName = "handler.failed"
	LogHandlerExhausted  EventName = "handler.exhausted"
	LogHandlerIgnored    EventName = "handler.ignored"
	LogHandlerUnfinished EventName = "handler.unfinished"
	LogHandlerCancelled  EventName = "handler.cancelled"
	LogHandlerMisfit     EventName = "handler.misfit"

	LogCauseStarted     EventName = "cause.started"
	LogCauseDiff        EventName = "cause.diff"
	LogCauseSuperseded  EventName = "cause.superseded"
	LogCauseProcessed   EventName = "cause.processed"
	LogCauseNoop        EventName = "cause.noop"
	LogCauseFree        EventName = "cause.free"
	LogCauseGone        EventName = "cause.gone"
	LogProgressOrphaned EventName = "progress.orphaned"

	LogProcessingFinished    EventName = "processing.finished"
	LogProcessingDelayed     EventName = "processing.delayed"
	LogProcessingInterrupted EventName = "processing.interrupted"
	LogProcessingFailed      EventName = "processing.failed"
	LogProcessingRecovered   EventName = "processing.recovered"
	LogConsistencyWaiting    EventName = "consistency.waiting"
	LogConsistencyOvertaken  EventName = "consistency.overtaken"
	LogConsistencyTimeout    EventName = "consistency.timeout"
	LogFinalizerAdded        EventName = "finalizer.added"
	LogFinalizerRemoved      EventName = "finalizer.removed"
	LogTouchFailed           EventName = "touch.failed"

	LogPatchSent           EventName = "patch.sent"
	LogPatchSkipped        EventName = "patch.skipped"
	LogPatchPostponed      EventName = "patch.postponed"
	LogPatchRepeated       EventName = "patch.repeated"
	LogPatchRejected       EventName = "patch.rejected"
	LogPatchFailed         EventName = "patch.failed"
	LogPatchPruned         EventName = "patch.pruned"
	LogResultRejected      EventName = "result.rejected"
	LogAnnotationsFull     EventName = "annotations.full"
	LogAnnotationsDropped  EventName = "annotations.dropped"
	LogAnnotationsRestored EventName = "annotations.restored"

	LogDaemonSignalled EventName = "daemon.signalled"
	LogDaemonExiting   EventName = "daemon.exiting"
	LogDaemonExited    EventName = "daemon.exited"
	LogDaemonAbandoned EventName = "daemon.abandoned"

	LogIndexComplete  EventName = "index.complete"
	LogIndexFailed    EventName = "index.failed"
	LogIndexSlow      EventName = "index.slow"
	LogIndexPatched   EventName = "index.patched"
	LogIndexAbandoned EventName = "index.abandoned"

	LogStreamStarted     EventName = "stream.started"
	LogStreamRestarted   EventName = "stream.restarted"
	LogStreamPostponed   EventName = "stream.postponed"
	LogStreamInterrupted EventName = "stream.interrupted"
	LogStreamStopped     EventName = "stream.stopped"
	LogStreamDetail      EventName = "stream.detail"
	LogAPIRequest        EventName = "api.request"
	LogAPIWarning        EventName = "api.warning"
	LogLibraryMessage    EventName = "library.message"
	LogLoginStarted      EventName = "login.started"
	LogLoginFinished     EventName = "login.finished"
	LogLoginFailed       EventName = "login.failed"

	LogDiscoveryStarted      EventName = "discovery.started"
	LogDiscoveryRetrying     EventName = "discovery.retrying"
	LogDiscoveryFailed       EventName = "discovery.failed"
	LogDiscoveryForbidden    EventName = "discovery.forbidden"
	LogResourcesUnserved     EventName = "resources.unserved"
	LogNamespacesForbidden   EventName = "namespaces.forbidden"
	LogNamespacesUnspecified EventName = "namespaces.unspecified"

	LogOperatorReady      EventName = "operator.ready"
	LogOperatorPaused     EventName = "operator.paused"
	LogOperatorResumed    EventName = "operator.resumed"
	LogStartupInterrupted EventName = "startup.interrupted"
	LogShutdownAbandoned  EventName = "shutdown.abandoned"
	LogEndpointServed     EventName = "endpoint.served"
	LogEndpointFailed     EventName = "endpoint.failed"
	LogEventsDropped      EventName = "events.dropped"
	LogEventsFailed       EventName = "events.failed"
)
