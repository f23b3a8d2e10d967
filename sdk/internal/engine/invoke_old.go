package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// What follows goes when indexing and activities use the invoker.

func invoke(ctx context.Context, call *handlers.Call, limits handlers.Limits) (any, error) {
	return callWithTimeout(ctx, call, limits)
}

func limitsOf(h *handlers.Handler, backoff time.Duration) handlers.Limits {
	limits := h.Limits()
	if limits.Backoff == nil {
		limits.Backoff = &backoff
	}
	return limits
}

func logOutcome(ctx context.Context, logger *slog.Logger, line handlers.LogLine, err error) {
	var panicked *handlers.PanicError
	if errors.As(err, &panicked) {
		logger.Log(ctx, line.Level, line.Message, stackKey, string(panicked.Stack))
		return
	}
	logger.Log(ctx, line.Level, line.Message)
}
