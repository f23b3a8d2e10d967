package kube

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestClient_VerbsUseThePathOfTheResource(t *testing.T) {
	var calls []Call
	client, s := clientFor(t, ClientOptions{Observe: func(c Call) { calls = append(calls, c) }}, respond(200, example))
	ctx := t.Context()
	if o, err := client.Get(ctx, examples, "ns", "n"); err != nil || o.ResourceVersion != "5" || bytes.Contains(o.Raw, []byte("managed")) {
		t.Error(o, err)
	}
	if _, err := client.Patch(ctx, examples, "ns", "n", "status", MergePatch, []byte(`{"status":{}}`)); err != nil {
		t.Error(err)
	}
	if _, err := client.Post(ctx, examples, "ns", []byte(`{}`)); err != nil {
		t.Error(err)
	}
	namespaces := &resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	if o, err := client.Get(ctx, namespaces, "", "ns"); err != nil || o.Kind != "KopfExample" {
		t.Error(o, err)
	}
	var got []string
	for _, r := range s.requests {
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Accept"))
	}
	want := []string{
		"GET http://cluster.test/prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples/n  application/json",
		"PATCH http://cluster.test/prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples/n/status application/merge-patch+json application/json",
		"POST http://cluster.test/prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples application/json application/json",
		"GET http://cluster.test/prefix/api/v1/namespaces/ns  application/json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var verbs []string
	for _, c := range calls {
		verbs = append(verbs, c.Verb)
		if c.Status != 200 || c.Err != nil {
			t.Errorf("%+v", c)
		}
	}
	if diff := cmp.Diff([]string{"get", "patch", "create", "get"}, verbs); diff != "" {
		t.Error(diff)
	}
	if agent := s.requests[0].Header.Get("User-Agent"); !strings.Contains(agent, "kopf (") {
		t.Error(agent)
	}
}

func TestClient_InvalidPathsAreNotRequested(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(200, "{}"))
	if _, err := client.Get(t.Context(), examples, "", "n"); !errors.Is(err, resources.ErrNamespaceRequired) {
		t.Error(err)
	}
	if len(s.requests) != 0 {
		t.Error("sent")
	}
}

func TestGet_FailsIfTheResponseIsNotAnObject(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, respond(200, `[]`))
	if _, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n"); err == nil || !strings.Contains(err.Error(), "response") {
		t.Error(err)
	}
}

func TestPatch_RepeatedAfterUnreadableAnswerWithOtherBody(t *testing.T) {
	for name, garbage := range map[string]answer{
		"no JSON": respond(200, `<html>`), "another object": respond(200, strings.Replace(example, `"n"`, `"other"`, 1)),
		"no object": respond(200, `{}`), "half an object": respond(200, example[:40]),
	} {
		synctest.Test(t, func(t *testing.T) {
			client, s := clientFor(t, ClientOptions{}, garbage, respond(200, example))
			o, repeated, err := client.SendPatch(t.Context(), examples, PatchRequest{
				Namespace: "ns", Name: "n", ContentType: MergePatch, Body: []byte(`{"first":1}`),
				Repeat: func() ([]byte, error) { return []byte(`{"again":1}`), nil },
			})
			if err != nil || !repeated || o.ResourceVersion != "5" {
				t.Error(name, o, repeated, err)
			}
			var bodies []string
			for _, r := range s.requests {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				bodies = append(bodies, string(body))
			}
			if diff := cmp.Diff([]string{`{"first":1}`, `{"again":1}`}, bodies); diff != "" {
				t.Error(name, diff)
			}
		})
	}
}

func TestPatch_OtherBodyIsMadeOnlyToRepeat(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, respond(200, example))
	_, repeated, err := client.SendPatch(t.Context(), examples, PatchRequest{
		Namespace: "ns", Name: "n", ContentType: MergePatch, Body: []byte(`{}`),
		Repeat: func() ([]byte, error) { return nil, errors.New("nobody needs it") },
	})
	if err != nil || repeated {
		t.Error(repeated, err)
	}
}

func TestPatch_NoRedirectMakesItAGet(t *testing.T) {
	moved := respond(http.StatusMovedPermanently, "", "Location", "http://cluster.test/prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples/n")
	client, s := clientFor(t, ClientOptions{}, moved, respond(200, example))
	_, err := client.Patch(t.Context(), examples, "ns", "n", "", MergePatch, []byte(`{}`))
	if Status(err) != http.StatusMovedPermanently || len(s.requests) != 1 {
		t.Errorf("%d requests, %v", len(s.requests), err)
	}
}

func TestClient_FollowsRedirectsThatKeepTheMethod(t *testing.T) {
	for method, status := range map[string]int{http.MethodGet: http.StatusFound, http.MethodPatch: http.StatusTemporaryRedirect} {
		moved := respond(status, "", "Location", "https://"+anyHost+"/elsewhere")
		client, s := clientFor(t, ClientOptions{}, moved, moved, respond(200, example))
		request := Request{Method: method, Path: "/from?x=%2F"}
		if method == http.MethodPatch {
			request.ContentType, request.Body = MergePatch, []byte(`{}`)
		}
		body, err := client.Do(t.Context(), request)
		if err != nil || string(body) != example || len(s.requests) != 3 {
			t.Fatalf("%s: %d requests, %s, %v", method, len(s.requests), body, err)
		}
		first, last := s.requests[0], s.requests[2]
		if first.URL.String() != "http://cluster.test/prefix/from?x=%2F" || last.URL.String() != "http://cluster.test/prefix/elsewhere" || last.Method != method {
			t.Errorf("%s: from %s to %s %s", method, first.URL, last.Method, last.URL)
		}
		if request.Body == nil {
			continue
		}
		if sent, err := io.ReadAll(last.Body); err != nil || string(sent) != `{}` {
			t.Errorf("%s %s, %v", method, sent, err)
		}
	}
}
