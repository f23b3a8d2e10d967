package settlement

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// addReviewed adds an object of a resource that has only admission handlers. The object counts as settled, because the API
// server already accepted it.
func (s *Settlement) addReviewed(want Applied) {
	s.outcomes = append(s.outcomes, objectOutcome{name: objectName(shortOf(want.Ref), want.Ref)})
}

// addWebhooks adds the admission handlers that the cluster does not call yet. A configuration that was written for a
// previous state of the cluster may lack resources.
func (s *Settlement) addWebhooks(snapshot *inspect.Snapshot) {
	var called []string
	if snapshot.Admission != nil {
		for _, w := range snapshot.Admission.Webhooks {
			for _, rule := range w.Rules {
				called = append(called, rule.Resource)
			}
			switch w.State {
			case inspect.WebhookInstalled:
				s.webhooks++
			case inspect.WebhookFailed:
				s.Pending = append(s.Pending, Unsettled{Handler: w.Handler, What: "its webhook is not installed: " + strings.ReplaceAll(w.Error, "\n", " ")})
			case inspect.WebhookPending:
				s.Pending = append(s.Pending, Unsettled{Handler: w.Handler, What: "its webhook is not installed yet"})
			}
		}
	}
	for _, key := range snapshot.Reviewed {
		if !slices.Contains(called, key) {
			s.Pending = append(s.Pending, Unsettled{What: "the webhooks of " + key + " are not installed yet"})
		}
	}
}

// isReviewed reports whether the object's resource has only admission handlers.
func isReviewed(want Applied, snapshot *inspect.Snapshot) bool {
	group := groupOf(want.Resource)
	return isDiscovered(snapshot) && !isWatched(group, snapshot) &&
		slices.ContainsFunc(snapshot.Reviewed, func(key string) bool { return groupOf(key) == group })
}
