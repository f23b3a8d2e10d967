package kube

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestList_AddsKindAndVersionToItems(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(200, `{"kind":"KopfExampleList","apiVersion":"kopf.dev/v1","metadata":{"resourceVersion":"9","continue":"more"},"extra":[1],
		"items":[{"metadata":{"name":"a"}},{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"b"}}]}`), respond(200, `{"items":null}`))
	list, err := client.List(t.Context(), examples, "", ListOptions{Limit: 2, Continue: "here"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.ResourceVersion != "9" || list.Continue != "more" || !bytes.HasPrefix(list.Items[0].Raw, []byte(`{"apiVersion":"kopf.dev/v1","kind":"KopfExample",`)) {
		t.Errorf("%+v", list)
	}
	if q := s.requests[0].URL.RawQuery; q != "continue=here&limit=2" {
		t.Error(q)
	}
	if list, err := client.List(t.Context(), examples, "", ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Error(list, err)
	}
}

func TestList_TruncatedResponseIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := clientFor(t, ClientOptions{}, respond(200, `{"items":[{"metadata":`), respond(200, `{"items":[{}]}`))
		list, err := client.List(t.Context(), examples, "", ListOptions{})
		if err != nil || len(list.Items) != 1 || len(s.requests) != 2 {
			t.Error(list, err)
		}
		client, _ = clientFor(t, ClientOptions{}, respond(200, `{"items":{}}`))
		if _, err := client.WithoutRetries().List(t.Context(), examples, "", ListOptions{}); err == nil {
			t.Error("items are an object")
		}
	})
}

func TestList_WithoutItemsIsNoEmptyList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := clientFor(t, ClientOptions{}, respond(200, `{}`), respond(200, `<html>`), respond(200, ""), respond(200, `{"kind":"Status"}`), respond(200, `{"items":[]}`))
		if _, err := client.List(t.Context(), examples, "", ListOptions{}); err != nil || len(s.requests) != 5 {
			t.Error(err, len(s.requests))
		}
	})
}

func TestList_GivenUpWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		client, s := clientFor(t, ClientOptions{RequestTimeout: time.Minute, AnswerTimeout: 30 * time.Second}, silent)
		client = client.WithoutRetries()
		for patience, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
			begin := time.Now()
			if _, err := client.List(t.Context(), examples, "", ListOptions{Patience: patience}); !IsTimeout(err) || time.Since(begin) != want {
				t.Error(patience, err, time.Since(begin))
			}
		}
		begin := time.Now()
		if _, err := client.Get(t.Context(), examples, "ns", "n"); !IsTimeout(err) || time.Since(begin) != time.Minute {
			t.Error(err, time.Since(begin))
		}
		// Once the response has begun, the time to answer no longer counts.
		s.answers = []answer{func(r *http.Request) (*http.Response, error) {
			resp, err := respond(200, "")(r)
			text := strings.NewReader(`{"items":[]}`)
			resp.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) {
				time.Sleep(20 * time.Second)
				return text.Read(p[:1])
			}))
			return resp, err
		}}
		begin = time.Now()
		if _, err := client.List(t.Context(), examples, "", ListOptions{}); err != nil || time.Since(begin) < 3*time.Minute {
			t.Error(err, time.Since(begin))
		}
		s.answers = []answer{func(r *http.Request) (*http.Response, error) {
			resp, err := respond(200, "")(r)
			resp.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}))
			return resp, err
		}}
		begin = time.Now()
		if _, err := client.List(t.Context(), examples, "", ListOptions{}); !IsTimeout(err) || time.Since(begin) != 5*time.Minute {
			t.Error(err, time.Since(begin))
		}
	})
}
