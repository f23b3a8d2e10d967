package kube

import (
	"net/http"
	"testing"
	"time"
)

func FuzzStatusError(f *testing.F) {
	for _, body := range []string{
		`{"kind":"Status","status":"Failure","code":409,"reason":"Conflict","details":{"retryAfterSeconds":5}}`, `{"kind":"Status","details":null}`,
		`<html>`, ``, `{"kind":"Status","status":"Failure","message":{}}`,
	} {
		f.Add(500, "5", body)
	}
	f.Add(429, "1e300", "")
	f.Add(429, "-1", "")
	f.Add(429, "NaN", "")
	f.Add(503, "Fri, 31 Dec 9999 23:59:59 GMT", "")
	f.Fuzz(func(t *testing.T, code int, after, body string) {
		resp := &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}}
		err := statusError(&Request{Method: http.MethodGet, Path: "/api"}, resp, []byte(body))
		if err.Error() == "" {
			t.Errorf("no text")
		}
		Retriable(err)
		if delay, ok := RetryAfter(err); ok && delay < 0 {
			t.Errorf("%q: retry after %v", after, delay)
		}
		if delay := retryAfter(resp.Header, time.Unix(0, 0)); delay != nil && *delay < 0 {
			t.Errorf("%q: retry after %v", after, *delay)
		}
	})
}
