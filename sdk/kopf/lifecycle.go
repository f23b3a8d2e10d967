package kopf

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// A Lifecycle chooses which of the handlers that are due to run in this cycle, and in
// which order; the others wait for the next one. It gets at least one, in the order of
// registration, and returns at least one of them, each once; anything else is an error, and
// the object is left alone for a while. Package lifecycle has the usual ones. It is called by
// many goroutines at the same time. See the chapter "Configuration" of Kopf's documentation.
type Lifecycle func([]Due) []Due

// Due is a handler that is due: not done, and not waiting for a delay to end.
type Due struct {
	ID    string
	Retry int // 0 before the first attempt
}

func (l Lifecycle) engine() handlers.Lifecycle {
	if l == nil {
		return handlers.ASAP
	}
	return func(due []handlers.Due) []handlers.Due {
		public := make([]Due, len(due))
		for i, d := range due {
			public[i] = Due{ID: d.ID, Retry: d.Retries}
		}
		chosen := l(public)
		out := make([]handlers.Due, len(chosen))
		for i, d := range chosen {
			out[i] = handlers.Due{ID: d.ID, Retries: d.Retry}
		}
		return out
	}
}
