package engine

import (
	"context"
	"time"
)

// limitExit calls exit if a program is still there a while after it was asked to end: no
// handler or connection may keep it for ever. The limit is looked up then, as startup
// handlers may change it; none if it is not positive.
func limitExit(ctx context.Context, limit func() time.Duration, exit func()) {
	if exit == nil {
		return
	}
	context.AfterFunc(ctx, func() {
		if d := limit(); d > 0 {
			time.AfterFunc(d, exit)
		}
	})
}
