package settlement

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Part is a part of the manifests of a run or a session. Manifests are applied in parts: secrets and configuration before the
// operator starts, and reviewed objects when the webhooks are installed.
type Part struct {
	Stage Stage

	// Reviewed are the kinds with admission handlers, as "Kind.group". [StageReviewed] applies them, and [StageUnreviewed]
	// all other kinds.
	Reviewed []string

	// Operator returns the newest state of the operator that reviews the objects of [StageReviewed]. It is nil in other stages.
	Operator func() *inspect.Snapshot
}

// Stage is the time when a part of the manifests is applied.
type Stage string

// The stages, in their order.
const (
	StageAll        Stage = ""           // all manifests at once, on demand
	StageSetup      Stage = "setup"      // CRDs, namespaces, permissions and peering objects, when the cluster is open
	StageUnreviewed Stage = "unreviewed" // other kinds without admission handlers, before the operator starts
	StageReviewed   Stage = "reviewed"   // kinds with admission handlers, when the operator is ready
	StageNone       Stage = "none"       // all parts are applied
)

// ReadyLimit is the longest time from the start of an operator until its webhooks are installed.
const ReadyLimit = 2 * time.Minute

// NotReadyError reports that an operator does not become ready, so that the objects that it reviews are not applied.
type NotReadyError struct {
	Limit   time.Duration
	Kinds   []string // kinds of the objects, as "Kind.group"
	Pending []Unsettled
}

// Error names the missing webhook or startup handler.
func (e *NotReadyError) Error() string {
	lines := []string{fmt.Sprintf("the operator is not ready after %s; the objects that it reviews are not applied: %s", e.Limit, strings.Join(e.Kinds, ", "))}
	for _, u := range e.Pending {
		lines = append(lines, u.String())
	}
	return strings.Join(append(lines, "if a startup handler needs some of these objects, apply them with kubectl first"), "\n")
}

// Readiness returns the reasons why an operator does not review objects yet.
func Readiness(snapshot *inspect.Snapshot) Settlement {
	var s Settlement
	if o := snapshot.Operator; o.Lost != "" || o.State == inspect.OperatorStarting || len(snapshot.Served)+len(snapshot.Reviewed)+len(snapshot.Unserved) == 0 {
		s.Pending = append(s.Pending, Unsettled{What: notStarted(snapshot)})
	}
	s.addWebhooks(snapshot)
	return s
}

// notStarted returns the reason why an operator has not started, with the startup handlers that it retries.
func notStarted(snapshot *inspect.Snapshot) string {
	what := notSeen(snapshot)
	for i := range snapshot.Handlers {
		if h := &snapshot.Handlers[i]; h.Kind == inspect.KindStartup && h.Stats.Retried+h.Stats.Waited > 0 {
			what += fmt.Sprintf("; its startup handler %s is called again: see the log", h.ID)
		}
	}
	return what
}
