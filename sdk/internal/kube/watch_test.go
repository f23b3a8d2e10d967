package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func frame(name string) string {
	return `{"type":"ADDED","object":{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"` + name + `"}}}` + "\n"
}

// indented returns a frame as servers write it that indent their JSON.
func indented(t *testing.T, name string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(frame(name)), "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
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
	text := frame("a") + frame(long) + frame("b") + indented(t, "pretty") + frame(huge) + indented(t, long) + frame("c")
	for _, body := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
		s := open(t, body)
		got, err := names(t, s)
		want := []string{"a", long, "b", "pretty", huge, long, "c"}
		if !errors.Is(err, io.EOF) || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%d frames, %v", len(got), err)
		}
		if _, _ = s.Next(); cap(s.long) > keptBuffer {
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

func TestStream_DamagedLineIsAnError(t *testing.T) {
	recorded, err := os.ReadFile("../../testdata/traces/01-minimal.watch.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) ([]string, error) {
		return names(t, newStream(t.Context(), nil, io.NopCloser(strings.NewReader(text)), object.ParseOptions{}))
	}
	all := strings.SplitAfter(strings.TrimSpace(string(recorded)), "\n")
	for _, damaged := range []string{all[1], indented(t, "pretty")} {
		for at := range len(damaged) - 1 {
			for name, text := range map[string]string{
				"the rest of a line":                damaged[:at] + "\n" + all[2] + all[3],
				"the rest of a line with its break": damaged[:at] + all[2] + all[3],
				"everything to the end":             damaged[:at],
				"a line within another":             damaged[:at] + all[2] + damaged[at:] + all[3],
			} {
				if at == 0 && name != "the rest of a line" {
					continue // a whole line is missing or added: nothing is damaged
				}
				want := ErrDamaged
				if name == "everything to the end" {
					want = io.ErrUnexpectedEOF
				}
				if frames, err := read(all[0] + text); len(frames) != 1 || !errors.Is(err, want) {
					t.Errorf("cut at %d: %s is lost: %d frames, %v", at, name, len(frames), err)
				}
			}
		}
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

func TestStream_ReportsAllBytes(t *testing.T) {
	s := open(t, iotest.OneByteReader(strings.NewReader(frame("a"))))
	received := 0
	s.OnReceived(func() { received++ })
	if got, err := names(t, s); len(got) != 1 || !errors.Is(err, io.EOF) || received != len(frame("a")) {
		t.Error(got, err, received)
	}
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
	client := NewClient(source, ClientOptions{RequestTimeout: -1, AnswerTimeout: time.Millisecond})
	pods := &resources.Resource{Version: "v1", Plural: "pods", Namespaced: true}
	if _, err := client.Watch(t.Context(), pods, "", ListOptions{}); !errors.Is(err, errTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
