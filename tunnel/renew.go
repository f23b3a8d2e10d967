package tunnel

import (
	"context"
	"fmt"
	"time"
)

// renewEvery is how often the marks of an open way are renewed: several attempts fit into the life of a mark.
const renewEvery = markLife / 4

// renewMarks calls the function of [Entrance].Renew until the context ends. It says when the first of several attempts
// in a row has failed.
func renewMarks(ctx context.Context, renew func(context.Context) error, say func(verbose bool, line string)) {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, cleanupTimeout)
		err := renew(attempt)
		cancel()
		if err != nil && ctx.Err() == nil && !failed {
			say(false, fmt.Sprintf("webhooks: cannot renew the marks of the tunnel, retrying; after %s, other sessions take it for a leftover: %v", markLife, err))
		}
		failed = err != nil
	}
}
