package tunnel

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func FuzzForwarder(f *testing.F) {
	for _, seed := range []struct{ path, body string }{
		{"/SECRET/check", "{}"}, {"/SECRET/dev.kopf.check/known", `{"apiVersion":"admission.k8s.io/v1","request":{"uid":"1"}}`},
		{"/SECRET/dev.kopf.check/known", "{"}, {"/SECRET/dev.kopf.check/other", "{}"}, {"/other/SECRET/x", ""}, {"//SECRET//", "x"}, {"/../SECRET", "x"},
	} {
		f.Add(seed.path, seed.body)
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		g := NewForwarder(time.Nanosecond)
		g.expectCheck("known")
		path = strings.ReplaceAll(path, "SECRET", g.secret)
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.URL = &url.URL{Path: path}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusNotFound, http.StatusServiceUnavailable:
		case http.StatusOK:
			if !strings.Contains(path, g.secret) || !strings.Contains(w.Body.String(), checkMessage("known")) {
				t.Fatalf("%q: %s", path, w.Body)
			}
		default:
			t.Fatalf("%q: %d %s", path, w.Code, w.Body)
		}
	})
}
