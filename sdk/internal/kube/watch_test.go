package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func frame(name string) string {
	return `{"type":"ADDED","object":{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"` + name + `"}}}` + "\n"
}

func open(t *testing.T, body io.Reader) *Stream {
	t.Helper()
	client, _ := clientFor(t, ClientOptions{}, func(r *http.Request) (*http.Response, error) {
		resp, err := respond(200, "")(r)
		resp.Body = io.NopCloser(body)
		return resp, err
	})
	stream, err := client.Watch(t.Context(), examples, "ns", ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	return stream
}

func names(t *testing.T, s *Stream) (all []string, err error) {
	t.Helper()
	for {
		f, err := s.Next()
		if err != nil {
			return all, err
		}
		all = append(all, f.Object.Name)
	}
}

func TestStream_ReadsFramesInAnyChunks(t *testing.T) {
	long := strings.Repeat("x", 3*streamBuffer)
	huge := strings.Repeat("y", 2*keptBuffer)
	pretty := strings.ReplaceAll(frame("pretty"), ",", ",\n\t")
	text := frame("a") + "\n" + frame(long) + frame("b") + pretty + frame(huge) + frame("c")
	for _, body := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
		s := open(t, body)
		got, err := names(t, s)
		want := []string{"a", long, "b", "pretty", huge, "c"}
		if !errors.Is(err, io.EOF) || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%d frames, %v", len(got), err)
		}
		if cap(s.long) > keptBuffer {
			t.Error("a huge buffer is kept")
		}
	}
}

func TestStream_TruncatedFrameIsAnError(t *testing.T) {
	got, err := names(t, open(t, strings.NewReader(frame("a")+`{"type":"ADD`)))
	if len(got) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(got, err)
	}
	broken := errors.New("reset by peer")
	if _, err := names(t, open(t, iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestStream_CloseInterruptsNext(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, func(req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		t.Cleanup(func() { _ = w.Close() })
		resp, err := respond(200, "")(req)
		resp.Body = r
		return resp, err
	})
	for _, reason := range []error{ErrClosed, errors.New("mine")} {
		s, err := client.Watch(t.Context(), examples, "", ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		go s.CloseWith(reason)
		if _, err := s.Next(); !errors.Is(err, reason) {
			t.Error(err)
		}
	}
}

func TestWatch_AsksForBookmarks(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(200, ""))
	yes := true
	options := FromMeta(metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: "NotOlderThan", SendInitialEvents: &yes, LabelSelector: "a=b", FieldSelector: "c=d"})
	options.Timeout = 90 * time.Second
	stream, err := client.Watch(t.Context(), examples, "ns", options)
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
	want := "allowWatchBookmarks=true&fieldSelector=c%3Dd&labelSelector=a%3Db&resourceVersion=7&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=90&watch=true"
	if got := s.requests[0].URL.RawQuery; got != want {
		t.Error(got)
	}
}

func TestWatch_IsNotRetried(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(410, `{"kind":"Status","status":"Failure","reason":"Expired","code":410}`))
	if _, err := client.Watch(t.Context(), examples, "ns", ListOptions{}); !apierrors.IsResourceExpired(err) || len(s.requests) != 1 {
		t.Error(err, len(s.requests))
	}
}

func TestWatch_TimesOutUntilTheStreamBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := clientFor(t, ClientOptions{RequestTimeout: time.Minute}, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		if _, err := client.Watch(t.Context(), examples, "ns", ListOptions{}); !errors.Is(err, errTimeout) {
			t.Error(err)
		}
	})
}

func TestStream_OutlivesTheRequestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		client, _ := clientFor(t, ClientOptions{RequestTimeout: time.Minute}, func(req *http.Request) (*http.Response, error) {
			resp, err := respond(200, "")(req)
			resp.Body = r
			return resp, err
		})
		s, err := client.Watch(t.Context(), examples, "ns", ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		go func() {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, frame("late"))
			_ = w.Close()
		}()
		if got, err := names(t, s); len(got) != 1 || !errors.Is(err, io.EOF) {
			t.Error(got, err)
		}
	})
}

func TestWatch_CancellationStopsTheOpening(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	source, err := NewConfigSource(&rest.Config{Host: server.URL}, 0)
	if err != nil {
		t.Fatal(err)
	}
	client := NewClient(source, ClientOptions{RequestTimeout: -1, StreamTimeout: time.Millisecond})
	pods := &resources.Resource{Version: "v1", Plural: "pods", Namespaced: true}
	if _, err := client.Watch(t.Context(), pods, "", ListOptions{}); !errors.Is(err, errTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
