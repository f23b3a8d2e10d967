package observe

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Inspector is a subscriber that publishes the state of the operator in an [inspector.Hub].
type Inspector struct {
	hub      *inspector.Hub
	registry *handlers.Registry
	places   map[*handlers.Handler]int // index of a handler in the hub's list
	indices  inspectedIndices
	objects  inspectedObjects

	mu      sync.Mutex
	served  inspect.Served
	drift   map[string][]inspect.Drift    // fields of the handlers' Go types that the schema lacks, by resource key
	busy    map[inspect.Ref]struct{}      // objects that are not settled
	pending map[resources.Scope]struct{}  // streams whose first list is incomplete
	unseen  map[objectKey]resources.Scope // objects that were listed but not processed yet, and objects with unwritten conditions

	alarming sync.Mutex
	alarms   []inspect.Alarm // replaced by each change, never modified

	lost     atomic.Bool // the cluster does not respond
	lostTurn sync.Mutex  // held while lost and the published state change together
}

// InspectorOptions describe an operator. All fields are required, except Namespaces, Redaction and Identity. Without
// Namespaces, the operator serves the whole cluster. Without Redaction, only the data of Secrets are hidden.
type InspectorOptions struct {
	Hub        *inspector.Hub
	Registry   *handlers.Registry
	Indices    *index.Indices
	Namespaces []string // names and patterns; empty for the whole cluster
	Started    time.Time
	Identity   string // defaults to the user, the host and the process
	Redaction  redact.Policy
}

// NewInspector publishes the handlers of a starting operator, and returns its inspector.
func NewInspector(options InspectorOptions) *Inspector {
	i := &Inspector{
		hub:      options.Hub,
		registry: options.Registry,
		places:   map[*handlers.Handler]int{},
		busy:     map[inspect.Ref]struct{}{},
		pending:  map[resources.Scope]struct{}{},
		unseen:   map[objectKey]resources.Scope{},
	}
	all := options.Registry.All()
	described := make([]inspect.Handler, len(all))
	for at, h := range all {
		i.places[h] = at
		described[at] = describeHandler(h, &options.Redaction)
		described[at].Slots = slotsOf(h, all)
	}
	i.hub.SetHandlers(described)
	i.indices.init(options.Registry, options.Indices)
	i.indices.publishResources(i.hub, nil)
	i.hub.UpdateOperator(func(op *inspect.Operator) {
		op.Identity, op.PID, op.Started = cmp.Or(options.Identity, operatorIdentity()), os.Getpid(), options.Started
		op.State, op.Namespaces = inspect.OperatorStarting, options.Namespaces
		for _, field := range options.Redaction.Fields {
			op.Hidden = append(op.Hidden, field)
		}
	})
	return i
}

// SetRecords publishes the name of the finalizer, and the paths of the fields with the operator's records.
func (i *Inspector) SetRecords(finalizer string, fields [][]string) {
	i.hub.UpdateOperator(func(op *inspect.Operator) { op.Finalizer, op.Records = finalizer, fields })
}

// operatorIdentity returns an id that distinguishes operators of the same program without a configured identity.
func operatorIdentity() string {
	user, host := os.Getenv("USER"), "localhost"
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	if user == "" {
		user = "operator"
	}
	return fmt.Sprintf("%s@%s/%d", strings.ToLower(user), host, os.Getpid())
}

// Kinds implements [Subscriber].
func (i *Inspector) Kinds() []Kind {
	return []Kind{
		KindEventDispatched, KindPlanned, KindMarkBroken, KindSlotAwaited, KindAttemptStarted, KindStepChanged, KindAttemptEnded, KindChildrenChanged, KindRecorded, KindPatchPending, KindSent, KindEnded,
		KindBackgroundStopped, KindObjectIndexed, KindObjectForgotten,
		KindOperatorChanged, KindPeersChanged, KindShardsChanged, KindClusterConnected, KindClusterLost, KindAlarmChanged, KindResourcesServed, KindTypesCompared,
		KindStreamChanged, KindCatchUpChanged, KindEventReceived, KindIndexChanged, KindRequestEnded, KindWebhooksChanged, KindReviewEnded,
	}
}

// Receive implements [Subscriber].
func (i *Inspector) Receive(event Event) {
	switch e := event.(type) {
	case OperatorChanged:
		i.hub.UpdateOperator(func(op *inspect.Operator) {
			op.State = e.State
			if e.State != inspect.OperatorStopping {
				op.Reason, op.Pauses = e.Reason, e.Pauses
			}
		})
	case ShardsChanged:
		i.hub.UpdateOperator(func(op *inspect.Operator) {
			op.Shards = &inspect.Shards{Total: e.Division.Shards, Key: string(e.Division.Key), Own: e.Own}
		})
	case PeersChanged:
		i.hub.UpdateOperator(func(op *inspect.Operator) { op.Peerings = withPeering(op.Peerings, e) })
	case ClusterConnected:
		i.hub.UpdateOperator(func(op *inspect.Operator) { op.Server = e.Server })
	case ClusterLost:
		i.setLost(e.Reason)
	case AlarmChanged:
		i.changeAlarm(e)
	case RequestEnded:
		i.noteAnswer(e.Call)
		i.countRequest(e.Call)
	case ResourcesServed:
		i.setServed(e)
	case TypesCompared:
		i.setDrift(e.Resource, e.Drift)
	case StreamChanged:
		i.streamChanged(e)
	case CatchUpChanged:
		i.setCatchUp(e)
	case EventReceived:
		i.eventReceived(e)
		if e.Event.Object.Deleting && e.Event.Type != watch.Deleted {
			i.findKey(keyOf(e.Stream.Resource, e.Event.Object)).receive(e)
		}
	case WebhooksChanged:
		i.webhooksChanged(e)
	case ReviewEnded:
		i.reviewEnded(e)
	case IndexChanged:
		i.indices.publishSizes(i.hub, e.IDs)
	default:
		i.receiveOfObject(event)
	}
}

// receiveOfObject handles the events about one object.
func (i *Inspector) receiveOfObject(event Event) {
	switch e := event.(type) {
	case EventDispatched:
		i.recall(e.Subject).receive(e)
	case Planned:
		i.recall(e.Subject).receive(e)
	case MarkBroken:
		i.recall(e.Subject).receive(e)
	case SlotAwaited:
		i.recall(e.Subject).receive(e)
	case AttemptStarted:
		if !e.Exhausted && e.Handler.Family != handlers.Index {
			i.recall(e.Subject).receive(e)
		}
	case StepChanged:
		i.recall(e.Subject).receive(e)
	case AttemptEnded:
		i.count(e)
		i.recall(e.Subject).receive(e)
	case ChildrenChanged:
		i.findKey(keyOf(e.Resource, e.Parent)).receive(e)
	case Recorded:
		i.recall(e.Subject).receive(e)
	case PatchPending:
		i.recall(e.Subject).receive(e)
	case Sent:
		i.recall(e.Subject).receive(e)
	case Ended:
		i.recall(e.Subject).receive(e)
		if e.Err == nil || e.Deleted {
			i.processed(objectKeyOf(e.Subject), e.Unwritten)
		}
	case BackgroundStopped:
		i.find(e.Identity).receive(e)
	case ObjectIndexed:
		i.recall(e.Subject).receive(e)
	case ObjectForgotten:
		i.forget(e.Identity)
	}
}

// count counts an attempt in the statistics of its handler. Sub-handlers have no statistics.
func (i *Inspector) count(e AttemptEnded) {
	place, known := i.places[e.Handler]
	if !known {
		return
	}
	run := inspector.Run{At: e.Began.Add(e.Took), Took: e.Took}
	if err := failure(e.Outcome.Err); err != nil {
		run.Error = err.Error()
		switch meteredOutcome(e) {
		case Waiting:
			run.Outcome, run.Error = inspector.RunWaiting, ""
		case Denied:
			run.Outcome, run.Error = inspector.RunDenied, ""
		case Failed:
			run.Outcome = inspector.RunFailed
		default:
			run.Outcome = inspector.RunRetried
		}
	} else if ignored := failure(e.Err); ignored != nil {
		run.Error = ignored.Error()
	}
	i.hub.HandlerRan(place, run)
}

// setLost publishes that the cluster does not respond.
func (i *Inspector) setLost(reason string) {
	i.lostTurn.Lock()
	defer i.lostTurn.Unlock()
	i.lost.Store(true)
	i.hub.UpdateOperator(func(op *inspect.Operator) { op.Lost = reason })
}

// noteAnswer publishes that the cluster responds again if it was lost.
func (i *Inspector) noteAnswer(call kube.Call) {
	answers := call.Status != 0 && call.Status < http.StatusInternalServerError && call.Status != http.StatusUnauthorized
	if !answers || !i.lost.Load() {
		return
	}
	i.lostTurn.Lock()
	defer i.lostTurn.Unlock()
	if i.lost.Swap(false) {
		i.hub.UpdateOperator(func(op *inspect.Operator) { op.Lost = "" })
	}
}
