package cycle

import (
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// choose calls the lifecycle, and validates its choice from the due handlers.
func choose(lifecycle handlers.Lifecycle, due []handlers.Due) ([]handlers.Due, error) {
	chosen := lifecycle(slices.Clone(due))
	if len(chosen) == 0 {
		return nil, fmt.Errorf("lifecycle: none of the handlers that are due was chosen: %v", due)
	}
	for i, one := range chosen {
		same := func(d handlers.Due) bool { return d.ID == one.ID }
		switch {
		case !slices.ContainsFunc(due, same):
			return nil, fmt.Errorf("lifecycle: the chosen handler %q is not due", one.ID)
		case slices.ContainsFunc(chosen[:i], same):
			return nil, fmt.Errorf("lifecycle: the handler %q was chosen twice", one.ID)
		}
	}
	return chosen, nil
}
