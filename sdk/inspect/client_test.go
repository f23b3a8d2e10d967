package inspect

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func dial(t *testing.T, address string) *Client {
	t.Helper()
	client, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClient_OtherVersionIsVersionError(t *testing.T) {
	for theirs, want := range map[string]string{
		"7": "speaks version 7 of the protocol, this program version 1",
		"":  "not an operator's inspector",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(VersionHeader, theirs)
			w.WriteHeader(http.StatusNotFound)
		}))
		_, err := dial(t, "tcp:"+server.Listener.Addr().String()).Snapshot(t.Context())
		if mismatch, ok := errors.AsType[*VersionError](err); !ok || mismatch.Theirs != theirs || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", theirs, err)
		}
		server.Close()
	}
}

func TestClient_KilledOperatorBreaksStream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(VersionHeader, "1")
		_, _ = io.WriteString(w, `{"revision":1,"snapshot":{"version":1}}`+"\n")
	}))
	defer server.Close()
	var last error
	for _, err := range dial(t, "tcp:"+server.Listener.Addr().String()).Stream(t.Context()) {
		last = err
	}
	if !errors.Is(last, io.ErrUnexpectedEOF) {
		t.Errorf("it ended with %v", last)
	}
}

func TestClient_OldOperatorDoesNotKnowObjects(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(VersionHeader, "1")
		http.NotFound(w, r)
	}))
	defer server.Close()
	client := dial(t, "tcp:"+server.Listener.Addr().String())
	client.token = nil
	_, noObject := client.Object(t.Context(), Ref{Name: "x"})
	_, noEvents := client.Events(t.Context(), Ref{Name: "x"})
	for path, err := range map[string]error{ObjectPath: noObject, EventsPath: noEvents} {
		if old, ok := errors.AsType[*UnsupportedError](err); !ok || old.Path != path || !strings.Contains(err.Error(), "build it with the release of this program") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
