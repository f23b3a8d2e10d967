package kube

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestExchange_UnansweredPatchTimesOutAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		client, s := clientFor(t, ClientOptions{}, hang, respond(200, example))
		begin := time.Now()
		_, repeated, err := client.SendPatch(t.Context(), examples, PatchRequest{Namespace: "ns", Name: "n", ContentType: "application/merge-patch+json", Body: []byte("{}")})
		if took := time.Since(begin); err != nil || !repeated || took != 61*time.Second || len(s.requests) != 2 {
			t.Error(repeated, took, len(s.requests), err)
		}
	})
}

func TestExchange_AttemptTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		client, _ := clientFor(t, ClientOptions{RequestTimeout: time.Minute}, hang, respond(200, example))
		begin := time.Now()
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != time.Minute+time.Second {
			t.Error(took)
		}
		// The same when the response begins and does not end.
		stuck := func(r *http.Request) (*http.Response, error) {
			resp, err := respond(200, "")(r)
			resp.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}))
			return resp, err
		}
		client, _ = clientFor(t, ClientOptions{RequestTimeout: time.Minute}, stuck)
		if _, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n"); !errors.Is(err, errTimeout) {
			t.Error(err)
		}
	})
}
