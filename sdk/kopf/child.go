package kopf

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
)

// Child describes the newest version of a child that the operator has received. In a [WakeWatched] reason, it identifies the
// watched object, and its State is empty.
type Child struct {
	Resource        ResourceInfo
	Namespace, Name string
	UID             types.UID
	ResourceVersion string

	State    ChildState
	Message  string  // the reason for the state, such as "1 of 3 replicas are ready"
	Observed *Object // values of [Own].Observe at their paths; empty if Observe names no fields
}

// String returns the kind, the name and the state: "Deployment shop: progressing".
func (c *Child) String() string {
	if c.State == "" {
		return c.Resource.Kind + " " + c.Name
	}
	return c.Resource.Kind + " " + c.Name + ": " + string(c.State)
}

// ChildState classifies a child by its readiness.
type ChildState string

// The values of [Child].State.
const (
	ChildUnknown     ChildState = "unknown" // the child's controller has written no status yet
	ChildProgressing ChildState = "progressing"
	ChildReady       ChildState = "ready"
	ChildFailed      ChildState = "failed" // the child cannot become ready without a change
	ChildTerminating ChildState = "terminating"
)

func childOf(c *reasons.Child) *Child {
	if c == nil {
		return nil
	}
	observed, err := c.Observed()
	if err != nil {
		observed = nil // unreachable, because the operator itself encoded the fields
	}
	return &Child{
		Resource: infoOf(*c.Resource), Namespace: c.Namespace(), Name: c.Name, UID: types.UID(c.UID), ResourceVersion: c.ResourceVersion,
		State: ChildState(c.State.String()), Message: c.Message(), Observed: objectOfTree(observed),
	}
}

// Wake is a reason for a [Pass].
type Wake struct {
	Kind    WakeKind
	Type    watch.EventType // type of the child's or the watched object's event; empty for other reasons
	Child   *Child          // child or watched object that has changed; nil for other reasons
	Changes Diff            // changed fields of the child that decide about its state or that [Own].Observe lists
}

// String returns the reason in one line: "child Deployment shop: progressing [~status.readyReplicas=0→1]",
// or "start".
func (w Wake) String() string {
	text := string(w.Kind)
	if w.Child != nil {
		text += " " + w.Child.String()
	}
	if w.Type == watch.Deleted || w.Type == watch.Added {
		text += ", " + strings.ToLower(string(w.Type))
	}
	if len(w.Changes) > 0 {
		text += " " + w.Changes.String()
	}
	return text
}

// WakeKind is the kind of a [Wake].
type WakeKind string

// The values of [Wake].Kind.
const (
	WakeObject  WakeKind = "object"  // the object is new, or its essence has changed
	WakeStart   WakeKind = "start"   // the operator has started, or sends a write that was delayed after its start
	WakeChild   WakeKind = "child"   // a child was created, changed or deleted by others
	WakeVerify  WakeKind = "verify"  // another client has changed a child, apparently in no applied field
	WakeWatched WakeKind = "watched" // an object of [RefersTo] or [Watches] was created, changed or deleted
	WakeRecheck WakeKind = "recheck" // the time of [Pass.Recheck], of [Own].ReadyWithin or of a wait is over, or the cluster now serves a declared kind
	WakeRetry   WakeKind = "retry"   // the last pass has failed
	WakeRequest WakeKind = "request" // a person has requested the pass, in the workbench or with "kopf retry"
)
