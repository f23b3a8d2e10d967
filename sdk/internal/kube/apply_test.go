package kube

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// refusal is a response with the JSON of a status.
func refusal(code int, message, causes string) answer {
	quoted, err := json.Marshal(message)
	if err != nil {
		panic(err) // strings are JSON
	}
	return respond(code, `{"kind":"Status","status":"Failure","message":`+string(quoted)+`,"details":{"causes":[`+causes+`]}}`)
}

func TestApply_SendsTheBodyAsItsManager(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(http.StatusCreated, example), respond(http.StatusOK, example))
	for _, force := range []bool{false, true} {
		got, err := client.Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n", Manager: "kopf.dev/a b", Force: force, Body: []byte(`{"x":1}`)})
		if err != nil || !strings.Contains(string(got.Raw), "managedFields") {
			t.Errorf("%+v, %v", got, err)
		}
	}
	var got []string
	for _, r := range s.requests {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Content-Type")+" "+string(body))
	}
	const path = "PATCH /prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples/n?fieldManager=kopf.dev%2Fa+b"
	if diff := cmp.Diff([]string{path + ` application/apply-patch+yaml {"x":1}`, path + `&force=true application/apply-patch+yaml {"x":1}`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestApply_LostResponseIsRepeated(t *testing.T) {
	lost := map[string]answer{"unavailable": respond(503, ""), "no JSON": respond(200, "<html>"), "broken": fail(io.ErrUnexpectedEOF)}
	for name, lost := range lost {
		synctest.Test(t, func(t *testing.T) {
			client, s := clientFor(t, ClientOptions{}, lost, respond(http.StatusCreated, example))
			got, err := client.Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n", Body: []byte(`{}`)})
			if err != nil || got.Name != "n" || len(s.requests) != 2 {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			client, _ = clientFor(t, ClientOptions{}, lost, refusal(409, "", ""))
			got, err = client.Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n", Body: []byte(`{}`)})
			if Classify(err) != Conflict || got != nil {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		})
	}
}

func TestApply_PermanentServerErrorsAreNotRetried(t *testing.T) {
	for message, removed := range map[string]bool{
		"failed to create typed patch object (ns/n; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string": false,
		"failed to convert new object (ns/n; coordination.k8s.io/v1, Kind=Lease) to proper version: unable to convert unstructured object":  false,
		"request to convert CR from an invalid group/version: kopf.dev/v1alpha1":                                                            true,
	} {
		synctest.Test(t, func(t *testing.T) {
			client, s := clientFor(t, ClientOptions{}, refusal(500, message, ""), respond(200, example))
			_, err := client.Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n", Body: []byte(`{}`)})
			if Classify(err) != Rejected || IsPermanent(err) == removed || IsRemovedVersion(err) != removed || len(s.requests) != 1 {
				t.Errorf("%d requests, class %d: %v", len(s.requests), Classify(err), err)
			}
			// An error of another kind, or of another request, is transient even if it has the same text.
			client, s = clientFor(t, ClientOptions{}, refusal(503, message, ""), respond(200, example))
			if _, err := client.Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n"}); err != nil || len(s.requests) != 2 {
				t.Errorf("503: %d requests, %v", len(s.requests), err)
			}
			client, s = clientFor(t, ClientOptions{}, refusal(500, message, ""), respond(200, example))
			if _, err := client.Patch(t.Context(), examples, "ns", "n", "", MergePatch, []byte(`{}`)); err != nil || len(s.requests) != 2 {
				t.Errorf("merge patch: %d requests, %v", len(s.requests), err)
			}
		})
	}
}

func TestConflicts_NameFieldAndManager(t *testing.T) {
	cause := func(message string) string {
		text, err := json.Marshal(map[string]string{"reason": "FieldManagerConflict", "field": ".f", "message": message})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const other = `{"reason":"FieldValueInvalid","field":"spec"}`
	for _, c := range []struct {
		code   int
		causes []string
		want   []FieldConflict
	}{
		{409, nil, nil},
		{409, []string{other}, nil},
		{422, []string{cause(`conflict with "a"`)}, nil},
		{409, []string{cause(`conflict with "kubectl" using v1 at 2026-01-02T03:04:05Z`)}, []FieldConflict{{".f", "kubectl", ""}}},
		{409, []string{other, cause(`conflict with "a \"b\" with subresource \"x\"" with subresource "scale" using apps/v1`)}, []FieldConflict{{".f", `a "b" with subresource "x"`, "scale"}}},
		{409, []string{cause(`conflict with "a"`), cause(`conflict with "b`), cause(``)}, []FieldConflict{{".f", "a", ""}, {".f", "", ""}, {".f", "", ""}}},
	} {
		client, _ := clientFor(t, ClientOptions{}, refusal(c.code, "", strings.Join(c.causes, ",")))
		_, err := client.WithoutRetries().Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n"})
		if diff := cmp.Diff(c.want, Conflicts(err)); diff != "" {
			t.Errorf("%v: %s", c.causes, diff)
		}
	}
	if got := Conflicts(io.EOF); got != nil {
		t.Error(got)
	}
}

func TestConflicts_OfLongStatus(t *testing.T) {
	const many = 2000
	cause := `{"reason":"FieldManagerConflict","field":".data.` + strings.Repeat("long", 20) + `","message":"conflict with \"kubectl-edit\" using v1"}`
	client, _ := clientFor(t, ClientOptions{}, refusal(409, "", strings.Join(slices.Repeat([]string{cause}, many), ",")))
	_, err := client.Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n"})
	if got := len(Conflicts(err)); got != many {
		t.Errorf("%d conflicts of %d", got, many)
	}
}

func TestIsOtherUID_OnlyOfIdentity(t *testing.T) {
	const uid = `{"reason":"FieldValueInvalid","field":"metadata.uid"}`
	for _, c := range []struct {
		code            int
		message, causes string
		want            bool
	}{
		{422, "", uid, true},
		{422, "", `{"reason":"FieldValueInvalid","field":"metadata.name"}`, false},
		{409, "", uid, false},
		{409, `Operation cannot be fulfilled on x "n": uid mismatch: the provided object specified uid 1, and no existing object was found`, "", true},
		{409, `Operation cannot be fulfilled on x "n": the UID in the precondition (1) does not match the UID in record (2). The object might have been deleted and then recreated`, "", true},
		{409, `Operation cannot be fulfilled on x "n": Precondition failed: UID in precondition: 1, UID in object meta: 2`, "", true},
		{409, `Operation cannot be fulfilled on x "n": Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: 2`, "", false},
		{404, "", "", false},
	} {
		client, _ := clientFor(t, ClientOptions{}, refusal(c.code, c.message, c.causes))
		_, err := client.WithoutRetries().Apply(t.Context(), examples, ApplyRequest{Namespace: "ns", Name: "n"})
		if IsOtherUID(err) != c.want {
			t.Errorf("%d %s %s: %t", c.code, c.message, c.causes, !c.want)
		}
	}
}

func TestDelete_SendsPreconditionsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, lost := range map[string]answer{"unavailable": respond(503, ""), "no JSON": respond(200, "<html>")} {
			client, s := clientFor(t, ClientOptions{}, lost, refusal(404, "", ""))
			err := client.Delete(t.Context(), examples, "ns", "n", DeleteOptions{UID: "u", ResourceVersion: "5"})
			if Classify(err) != NotFound || len(s.requests) != 2 {
				t.Errorf("%s: %d requests, %v", name, len(s.requests), err)
			}
		}
		for p, want := range map[DeleteOptions]string{
			{}:                     ``,
			{UID: "u"}:             `,"preconditions":{"uid":"u"}`,
			{ResourceVersion: "5"}: `,"preconditions":{"resourceVersion":"5"}`,
		} {
			client, s := clientFor(t, ClientOptions{}, respond(200, `{"kind":"Status","status":"Success"}`))
			if err := client.Delete(t.Context(), examples, "ns", "n", p); err != nil {
				t.Error(err)
			}
			body, err := io.ReadAll(s.requests[0].Body)
			got := s.requests[0].Method + " " + s.requests[0].URL.Path + " " + string(body)
			want = `DELETE /prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples/n {"kind":"DeleteOptions","apiVersion":"v1"` + want + `,"propagationPolicy":"Background"}`
			if err != nil || got != want {
				t.Errorf("%s\nwant %s, %v", got, want, err)
			}
		}
	})
}

func TestMetadata_FallsBackToWholeObjects(t *testing.T) {
	const partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n","managedFields":[]}}`
	for _, text := range []string{partial, example} {
		client, s := clientFor(t, ClientOptions{}, respond(200, text), respond(200, `{"items":[`+text+`]}`), respond(200, `{"type":"ADDED","object":`+text+"}\n"))
		one, err := client.GetMetadata(t.Context(), examples, "ns", "n")
		if err != nil || one.Kind != "KopfExample" || one.APIVersion != "kopf.dev/v1" || !strings.Contains(string(one.Raw), `"managedFields":[]`) {
			t.Error(one, err)
		}
		list, err := client.List(t.Context(), examples, "ns", ListOptions{MetadataOnly: true})
		if err != nil || len(list.Items) != 1 || list.Items[0].Kind != "KopfExample" {
			t.Error(list, err)
		}
		stream, err := client.Watch(t.Context(), examples, "ns", ListOptions{MetadataOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if frame, err := stream.Next(); err != nil || frame.Object.Kind != "KopfExample" {
			t.Error(frame, err)
		}
		stream.Close()
		var accepted []string
		for _, r := range s.requests {
			accepted = append(accepted, r.Header.Get("Accept"))
		}
		if diff := cmp.Diff([]string{acceptsMetadata, acceptsMetadataList, acceptsMetadata}, accepted); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMetadata_TextAboutAbsentObjectIsNotDecoded(t *testing.T) {
	const text = `{"kind":"Status","status":"Failure","message":"what the server says","reason":"NotFound","code":404}`
	client, _ := clientFor(t, ClientOptions{}, respond(404, text))
	o, err := client.GetMetadata(t.Context(), examples, "ns", "n")
	if o != nil || Classify(err) != NotFound || strings.Contains(err.Error(), "what the server says") || !strings.Contains(err.Error(), "/n") {
		t.Error(o, err)
	}
}
