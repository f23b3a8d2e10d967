package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWatch_RepeatsWhatTheServerIsNotReadyFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := 3
		refused := map[string]int{}
		answer := func(code int, body io.Reader) (*http.Response, error) {
			return &http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(body), Header: http.Header{}}, nil
		}
		opened := 0
		client := &api{server: "http://server", http: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if refused[r.URL.String()] < refuse {
				refused[r.URL.String()]++
				response, err := answer(http.StatusTooManyRequests, strings.NewReader(`{"message":"storage is (re)initializing"}`))
				response.Header.Set("Retry-After", "2")
				return response, err
			}
			if r.URL.Query().Get("watch") == "" {
				return answer(http.StatusOK, strings.NewReader(`{"metadata":{"resourceVersion":"7"}}`))
			}
			if opened++; opened == 1 {
				return answer(http.StatusOK, strings.NewReader(`{"object":{"metadata":{"name":"a","resourceVersion":"8"}}}`+"\n"))
			}
			end, _ := io.Pipe()
			context.AfterFunc(r.Context(), func() { _ = end.Close() })
			return answer(http.StatusOK, io.MultiReader(strings.NewReader(`{"object":{"metadata":{"name":"b","resourceVersion":"9"}}}`+"\n"), end))
		})}}
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		began := time.Now()
		lines := make(chan string, 2)
		if err := client.watch(ctx, "default", func(line []byte) { lines <- objectName(bytes.Clone(line)) }); err != nil {
			t.Fatal(err)
		}
		if first, second := <-lines, <-lines; first != "a" || second != "b" {
			t.Errorf("got %q and %q, want a and b", first, second)
		}
		if took := time.Since(began); took != 3*3*2*time.Second {
			t.Errorf("took %s, want the delays that the server asked for", took)
		}
	})
}

func TestSend_GivesUpOnServerThatIsNeverReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &api{server: "http://server", http: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusTooManyRequests, Status: "429 Too Many Requests", Body: http.NoBody}, nil
		})}}
		if _, err := client.do(t.Context(), http.MethodGet, "/", "", nil); err == nil || !strings.Contains(err.Error(), "429") {
			t.Errorf("got %v, want the server's answer", err)
		}
	})
}
