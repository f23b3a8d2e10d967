package kopf

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
)

// lockedBuffer is a buffer that several goroutines may write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *lockedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *lockedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *lockedBuffer) logger() *slog.Logger {
	return slog.New(logging.NewHandler(s, &logging.Options{Level: slog.LevelDebug}))
}

func TestRedirectLibraryLogs_ToOperatorsLogger(t *testing.T) {
	t.Cleanup(func() {
		klog.ClearLogger()
		rest.SetDefaultWarningHandler(rest.WarningLogger{})
	})
	var s lockedBuffer
	redirectLibraryLogs(s.logger())
	klog.Warning("of a library")
	if got := s.String(); !strings.Contains(got, "kubernetes") || !strings.Contains(got, "of a library") {
		t.Errorf("got %s", got)
	}
}

func TestRedirectLibraryLogs_WithoutFeatureGates(t *testing.T) {
	t.Cleanup(func() {
		klog.ClearLogger()
		rest.SetDefaultWarningHandler(rest.WarningLogger{})
	})
	var s lockedBuffer
	redirectLibraryLogs(s.logger())
	logger := klog.Background().WithName("features").WithValues("a", "b")
	logger.V(1).Info("Feature gate default state", "feature", "WatchListClient", "enabled", true) // as client-go does
	logger.V(1).Info("other detail")
	logger.Info("Feature gate of note")
	if got := s.String(); strings.Contains(got, "default state") || !strings.Contains(got, "other detail") || !strings.Contains(got, "of note") {
		t.Errorf("got %s", got)
	}
}

func TestServerWarnings_LoggedOnce(t *testing.T) {
	var s lockedBuffer
	w := &serverWarnings{logger: s.logger(), logged: map[string]bool{}}
	w.HandleWarningHeader(299, "-", "v1beta1 is deprecated")
	w.HandleWarningHeader(299, "-", "v1beta1 is deprecated")
	w.HandleWarningHeader(199, "-", "of a proxy")
	w.HandleWarningHeader(299, "-", "")
	if got := strings.Count(s.String(), "\n"); got != 1 || !strings.Contains(s.String(), "v1beta1 is deprecated") {
		t.Errorf("got %s", s.String())
	}
	for i := range 2 * maxWarnings {
		w.HandleWarningHeader(299, "-", fmt.Sprint(i))
	}
	if len(w.logged) > maxWarnings {
		t.Errorf("%d texts are remembered", len(w.logged))
	}
}

func TestOperator_DebugLogsRequests(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		var s lockedBuffer
		var r Registry
		OnCreate(&r, Resource("v1", "configmaps"), handle)
		operator := Operator{
			Registry: &r, Config: testcluster.Config(t), Namespaces: []string{"default"},
			Logger: s.logger(), OnReady: cancel, traffic: wanted,
		}
		if err := operator.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(s.String(), "GET /api: 200 in "); shown != wanted {
			t.Errorf("wanted: %v, got\n%s", wanted, s.String())
		}
	}
}
