package stream

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// reviews remembers which reviews of which process were written.
type reviews struct {
	pid  int
	seen map[string]bool
}

// title names a review with the full name of its kind, like the JSON fields.
func title(r *inspect.Review) string {
	return explain.ReviewOperation(r) + " " + strings.ToLower(r.Kind) + " " + explain.ReviewObject(r)
}

// entries returns the new reviews. The operator keeps only the last reviews.
func (x *reviews) entries(s *runner.State) []entry {
	if s.Snapshot == nil || !s.Live {
		return nil
	}
	if pid := s.Snapshot.Operator.PID; pid != x.pid {
		*x = reviews{pid: pid}
	}
	all := s.Snapshot.Reviews
	if len(all) == 0 || x.seen[all[len(all)-1].ID] {
		return nil
	}
	var entries []entry
	seen := make(map[string]bool, len(all))
	for i := range all {
		r := &all[i]
		if seen[r.ID] = true; x.seen[r.ID] {
			continue
		}
		word := explain.ReviewWord(r)
		e := entry{
			Time: r.At, Noun: "review", State: word.Text, tone: word.Tone, urgent: !r.Allowed,
			Kind: r.Kind, Namespace: r.Object.Namespace, Name: r.Object.Name, Error: r.Message,
		}
		e.What = title(r) + " by " + r.User.Name + " in " + explain.Took(r.Took)
		if message := r.Message; message != "" {
			e.What += ": " + message
		} else if len(r.Warnings) > 0 {
			e.What += ": " + strings.Join(r.Warnings, "; ")
		}
		entries = append(entries, e)
	}
	x.seen = seen
	return entries
}
