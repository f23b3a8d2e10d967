package peers

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// peeringVerdict pauses and resumes the operator because of one peering object, and logs each change once.
type peeringVerdict struct {
	pauses    *Pauses
	key       PauseKey
	logger    *slog.Logger
	object    string
	mandatory bool // pause while the object is missing
	dev       bool // development session: log which operators act concurrently

	told  string         // key of the last logged verdict
	pause *peering.Pause // pause by other operators; nil if none has precedence
}

// isNews reports whether a verdict must be logged, because it differs from the last logged one.
func (v *peeringVerdict) isNews(text string) bool {
	news := v.told != text
	v.told = text
	return news
}

// actBeside is the warning of a development session without a peer to pause.
const actBeside = "a deployed operator of these objects would not be paused, and would handle them concurrently; add it to the peering, or stop it"

// release ends the pause without a log line.
func (v *peeringVerdict) release() (remaining string) {
	v.pause = nil
	_, remaining = v.pauses.Remove(v.key)
	return remaining
}

// absent is the verdict while the object does not exist, or while it cannot be read. It ignores that if the object of
// another API group exists or is preferred: missing is false.
func (v *peeringVerdict) absent(missing bool, forbidden error) {
	until := "until " + v.object + " exists"
	if forbidden != nil {
		until = "until it may watch " + v.object
	}
	if missing && v.mandatory {
		v.pause = nil
		v.pauses.Add(v.key, inspect.Pause{Reason: until})
	} else if paused := v.pause != nil; v.release() == "" && paused && forbidden == nil {
		v.logger.Info("Resuming operations after the pause: "+v.object+" no longer exists", observe.EventKey, observe.LogOperatorResumed)
	}
	switch news := v.isNews(fmt.Sprintf("missing %t, forbidden %t", missing, forbidden != nil)) && missing; {
	case !news:
	case forbidden != nil && v.mandatory:
		v.logger.Warn("Pausing until the operator may watch "+v.object+", as the peering is mandatory; permit to list and watch it, or use --standalone",
			observe.EventKey, observe.LogPeeringForbidden, "error", forbidden)
	case forbidden != nil:
		v.logger.Warn("Cannot watch "+v.object+" (forbidden): ignoring other operators. Permit to list and watch it, or use --standalone",
			observe.EventKey, observe.LogPeeringForbidden, "error", forbidden)
	case v.mandatory:
		v.logger.Warn("Pausing until "+v.object+" exists, as the peering is mandatory; create it, or use --standalone",
			observe.EventKey, observe.LogPeeringMissing)
	case v.dev:
		v.logger.Warn("There is no "+v.object+": "+actBeside, observe.EventKey, observe.LogPeeringMissing)
	}
}

// between is the verdict about existing peers. It returns true if the pause has begun, has ended, or has other causes.
func (v *peeringVerdict) between(d *peering.Decision, now time.Time) (changed bool) {
	if !d.Paused() {
		return v.lead(d)
	}
	causes := d.Causes()
	by := identitiesOf(causes)
	changed = v.pause == nil || !slices.Equal(v.pause.By, by)
	if v.pause == nil {
		v.pause = &peering.Pause{Since: now}
	}
	v.pause = &peering.Pause{Since: v.pause.Since, By: by}
	why := inspect.Pause{Reason: "by " + describePeers(causes), Until: d.Until(), By: by}
	if len(d.Higher) == 0 {
		why.Reason += ": the priority is the same"
	}
	v.pauses.Add(v.key, why)
	switch {
	case !v.isNews("paused " + why.Reason):
	case len(d.Higher) > 0:
		v.logger.Info("Pausing operations in favour of "+describePeers(causes)+".", observe.EventKey, observe.LogOperatorPaused)
	default:
		v.logger.Warn("Possibly conflicting operators with the same priority: "+describePeers(causes)+". Give each its own --priority, "+
			"or stop all but one; operators of other objects need a --peering of their own", observe.EventKey, observe.LogPeeringConflict)
		v.logger.Warn("Pausing all operators, including self", observe.EventKey, observe.LogOperatorPaused)
	}
	return changed
}

// lead is the verdict while no other operator has precedence.
func (v *peeringVerdict) lead(d *peering.Decision) (changed bool) {
	changed = v.pause != nil
	remaining := v.release()
	if changed {
		text := "Resuming operations after the pause. Conflicting operators with the same priority are gone."
		if remaining != "" {
			text = "No conflicting operators are left. Operations are still paused " + remaining
		}
		v.logger.Info(text, observe.EventKey, observe.LogOperatorResumed)
	}
	switch news := v.isNews("leading " + strings.Join(identitiesOf(d.Lower), " ")); {
	case news && v.dev && len(d.Lower) == 0:
		v.logger.Warn("No other operator takes part in the peering: "+actBeside, observe.EventKey, observe.LogPeeringLeading)
	case news && len(d.Lower) > 0:
		v.logger.Info("Operators with a lower priority are paused by this one: "+describePeers(d.Lower), observe.EventKey, observe.LogPeeringLeading)
	}
	return changed
}

func identitiesOf(peers []peering.Peer) []string {
	ids := make([]string, len(peers))
	for i := range peers {
		ids[i] = peers[i].Identity
	}
	return ids
}

// describePeers lists peers: "alice@laptop (priority 100: an incident), bob@laptop (priority 100)".
func describePeers(peers []peering.Peer) string {
	texts := make([]string, len(peers))
	for i := range peers {
		p := &peers[i]
		texts[i] = fmt.Sprintf("%s (priority %d)", p.Identity, p.Priority)
		if p.Message != "" {
			texts[i] = fmt.Sprintf("%s (priority %d: %s)", p.Identity, p.Priority, p.Message)
		}
	}
	return strings.Join(texts, ", ")
}
