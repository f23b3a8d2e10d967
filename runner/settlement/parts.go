package settlement

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Part is a part of the manifests of a run or a session. They are applied in parts: no object escapes the operator's
// webhooks, and the operator finds its secrets and configuration at the start.
type Part struct {
	Stage Stage

	// Reviewed are the kinds that [StageReviewed] has, and [StageUnreviewed] lacks, as "Kind.group".
	Reviewed []string
}

// Stage says when a part of the manifests is applied.
type Stage string

// The stages, in their order.
const (
	StageAll        Stage = ""           // all manifests at once, on demand
	StageSetup      Stage = "setup"      // definitions, namespaces, permissions and peering objects: with the cluster
	StageUnreviewed Stage = "unreviewed" // the rest, but not the kinds that the operator reviews: before its start
	StageReviewed   Stage = "reviewed"   // the kinds that it reviews: when it is ready
	StageNone       Stage = "none"       // nothing is left
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
	return strings.Join(append(lines, "apply objects that a startup handler needs before, with kubectl"), "\n")
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

// notStarted returns why an operator has not started, with the startup handlers that it calls again.
func notStarted(snapshot *inspect.Snapshot) string {
	what := notSeen(snapshot)
	for i := range snapshot.Handlers {
		if h := &snapshot.Handlers[i]; h.Kind == inspect.KindStartup && h.Stats.Retried+h.Stats.Waited > 0 {
			what += fmt.Sprintf("; its startup handler %s is called again: see the log", h.ID)
		}
	}
	return what
}
