package instance

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestWait_FailsWithoutProcess(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, lockFile, `{"pid": 4711}`)
	if _, err := Wait(t.Context(), dir); err == nil {
		t.Error("there is no error")
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Errorf("stopping it: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := wait(ctx, func() (bool, error) { return false, nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for nothing: %v", err)
	}
}
