package explain

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

var webhookWords = map[inspect.WebhookState]Word{
	inspect.WebhookUnmanaged: {"·", "unmanaged", Dim},
	inspect.WebhookPending:   {"◌", "pending", Warn},
	inspect.WebhookInstalled: {"✓", "installed", OK},
	inspect.WebhookFailed:    {"✗", "failed", Err},
}

// WebhookWord returns the word for the state of a webhook in the cluster.
func WebhookWord(s inspect.WebhookState) Word { return lookup(webhookWords, s) }

var wayInWords = map[runner.WebhooksPhase]Word{
	runner.WebhooksNone:    {"·", "none", Dim},
	runner.WebhooksOpening: {"▸", "being opened", Busy},
	runner.WebhooksOpen:    {"✓", "open", OK},
	runner.WebhooksLost:    {"✗", "tunnel lost", Err},
	runner.WebhooksFailed:  {"✗", "no tunnel", Err},
}

// WayInWord returns the word for the state of the tunnel through which the cluster calls the webhooks.
func WayInWord(p runner.WebhooksPhase) Word { return lookup(wayInWords, p) }

// ReviewWord returns the word for the decision of a review.
func ReviewWord(r *inspect.Review) Word {
	switch {
	case !r.Allowed:
		return deniedWord
	case len(r.Warnings) > 0:
		return Word{"!", "warned", Warn}
	case len(r.Patch) > 0:
		return Word{"✓", "patched", OK}
	}
	return Word{"✓", "allowed", OK}
}

// HasWebhooks reports whether there is anything to say about webhooks.
func (s *State) HasWebhooks() bool {
	return s.Snapshot != nil && s.Snapshot.Admission != nil || s.Webhooks.Phase != "" && s.Webhooks.Phase != runner.WebhooksNone
}

// WayInLost returns why the cluster cannot call the admission handlers at present, as reported by the tool or the
// operator; empty if it can.
func (s *State) WayInLost() string {
	switch {
	case s.Webhooks.Phase == runner.WebhooksLost:
		return s.Webhooks.Error
	case s.Webhooks.Phase != "" && s.Webhooks.Phase != runner.WebhooksNone: // the tool knows its own tunnel best
		return ""
	case s.Snapshot == nil || s.Snapshot.Admission == nil || !s.Live:
		return ""
	}
	return s.Snapshot.Admission.Lost
}

// wayInLost returns the alarm while the cluster cannot call the admission handlers.
func (s *State) wayInLost() Alarm {
	return Alarm{Err, "✗ tunnel for webhooks lost", "being opened again · " + FirstLine(s.WayInLost())}
}

// WebhooksByUrgency returns the webhooks of the operator, sorted by state: failed, pending, unmanaged, installed.
func (s *State) WebhooksByUrgency() []inspect.Webhook {
	if s.Snapshot == nil || s.Snapshot.Admission == nil {
		return nil
	}
	rank := map[inspect.WebhookState]int{inspect.WebhookFailed: 0, inspect.WebhookPending: 1, inspect.WebhookUnmanaged: 2, inspect.WebhookInstalled: 3}
	list := slices.Clone(s.Snapshot.Admission.Webhooks)
	slices.SortStableFunc(list, func(a, b inspect.Webhook) int { return rank[a.State] - rank[b.State] })
	return list
}

// ReviewTitle names a review: "update status, dry evc default/web-data".
func (s *State) ReviewTitle(r *inspect.Review) string {
	return ReviewOperation(r) + " " + s.ReviewKind(r) + " " + ReviewObject(r)
}

// ReviewOperation returns the requested operation: "update status, dry".
func ReviewOperation(r *inspect.Review) string {
	text := strings.ToLower(r.Operation)
	if r.Subresource != "" {
		text += " " + r.Subresource
	}
	if r.DryRun {
		text += ", dry"
	}
	return text
}

// ReviewKind names the resource of a review, by its short name if it is known.
func (s *State) ReviewKind(r *inspect.Review) string {
	if s.State != nil && s.Snapshot != nil {
		for i := range s.Snapshot.Served {
			if served := &s.Snapshot.Served[i]; served.Key == r.Object.Resource && served.Short != "" {
				return served.Short
			}
		}
	}
	return strings.ToLower(r.Kind)
}

// ReviewObject names the object of a review, which may not have a name yet.
func ReviewObject(r *inspect.Review) string {
	name := r.Object.Name
	if name == "" {
		name = "(no name yet)"
	}
	if r.Object.Namespace != "" {
		name = r.Object.Namespace + "/" + name
	}
	return name
}
