package runner

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestInquiries_AskTheOperator(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	respond := func(w http.ResponseWriter, answer any) {
		w.Header().Set(inspect.VersionHeader, strconv.Itoa(inspect.Version))
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+inspect.IndexPath, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		respond(w, inspect.IndexPage{ID: q.Get("id"), Total: 7, Entries: []inspect.IndexEntry{{Key: q.Get("search"), Value: q.Get("offset") + "+" + q.Get("limit")}}})
	})
	mux.HandleFunc("GET "+inspect.RequestsPath, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, inspect.Requests{Kinds: []inspect.RequestStats{{Verb: "patch", Count: 3}}})
	})
	mux.HandleFunc("GET "+inspect.ChildrenPath, func(w http.ResponseWriter, r *http.Request) {
		respond(w, inspect.ChildList{Children: []inspect.Child{{Parent: inspect.Ref{Name: r.URL.Query().Get("name")}}}, Omitted: 3})
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(mux)
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	a, err := NewAttachment(AttachOptions{Address: "unix:" + socket})
	if err != nil {
		t.Fatal(err)
	}
	page, err := a.Index(t.Context(), "x", "gold web", 5, 10)
	if err != nil || page.Total != 7 || page.Entries[0] != (inspect.IndexEntry{Key: "gold web", Value: "5+10"}) {
		t.Errorf("%v, %+v", err, page)
	}
	requests, err := a.Requests(t.Context())
	if err != nil || len(requests.Kinds) != 1 || requests.Kinds[0].Count != 3 {
		t.Errorf("%v, %+v", err, requests)
	}
	list, err := a.Children(t.Context(), inspect.Ref{Name: "shop"})
	if err != nil || len(list.Children) != 1 || list.Children[0].Parent.Name != "shop" || list.Omitted != 3 {
		t.Errorf("%v, %+v", err, list)
	}
	server.Close()
	for _, ask := range []func() error{
		func() error { _, err := a.Index(t.Context(), "x", "", 0, 1); return err },
		func() error { _, err := a.Requests(t.Context()); return err },
		func() error { _, err := a.Children(t.Context(), inspect.Ref{Name: "shop"}); return err },
	} {
		if err := ask(); err == nil || !strings.HasPrefix(err.Error(), "ask the operator for ") {
			t.Error(err)
		}
	}
}

func TestInquiries_NoOperator(t *testing.T) {
	s := NewSession(Options{})
	if _, err := s.Requests(t.Context()); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Error(err)
	}
	if _, err := s.Index(t.Context(), "x", "", 0, 1); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Error(err)
	}
	if _, err := s.Children(t.Context(), inspect.Ref{}); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Error(err)
	}
}
