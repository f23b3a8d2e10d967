package devcluster

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestServerVersion_TimesOut(t *testing.T) {
	done := make(chan struct{})
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	defer close(done)
	_, err := serverVersion(t.Context(), &rest.Config{Host: server}, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("the error is %v", err)
	}
}
