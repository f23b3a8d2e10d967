package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// bareChildrenVariable makes the bare client create the children that the operator of the figure children keeps: it watches the
// children as the operator does, reads the metadata of each, applies it, and patches the parent.
const bareChildrenVariable = "KOPF_BENCH_BARE_CHILDREN"

// bareChild is a kind of children in the bare client.
type bareChild struct{ resource, group, version, kind, content string }

// bareChildren have the content of the operator's children; FIELD and NAME are replaced.
var bareChildren = []bareChild{
	{"configmaps", "", "v1", "ConfigMap", `"data":{"field":"FIELD","name":"NAME"}`},
	{"secrets", "", "v1", "Secret", `"data":{"field":"` + base64.StdEncoding.EncodeToString([]byte("value")) + `"}`},
	{"serviceaccounts", "", "v1", "ServiceAccount", `"automountServiceAccountToken":true`},
	{"networkpolicies", "networking.k8s.io", "v1", "NetworkPolicy", `"spec":{"podSelector":{"matchLabels":{"app":"NAME"}},"policyTypes":["Ingress"]}`},
}

// path returns the path of the children in a namespace, or of one of them.
func (k bareChild) path(namespace, name string) string {
	root := "/api/" + k.version
	if k.group != "" {
		root = "/apis/" + k.group + "/" + k.version
	}
	return strings.TrimRight(root+"/namespaces/"+namespace+"/"+k.resource+"/"+name, "/")
}

// metadataOnly is the Accept header of a request for metadata.
const metadataOnly = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

// watchChildren reads the streams of all children.
func (b *bareClient) watchChildren(ctx context.Context) error {
	for _, kind := range bareChildren {
		query := "?watch=1&labelSelector=kopf.dev%2Fowned-by%3Dkopfexamples.kopf.dev"
		response, err := b.api.sendAccepting(ctx, http.MethodGet, kind.path(b.namespace, "")+query, metadataOnly, "", nil)
		if err != nil {
			return err
		}
		go func() {
			defer response.Body.Close()
			readLines(response.Body, "", func([]byte) {})
		}()
	}
	return nil
}

// applyChildren applies the children of an object, prints its name, and patches the object.
func (b *bareClient) applyChildren(ctx context.Context, name, uid string) error {
	for _, kind := range bareChildren {
		response, err := b.api.sendAccepting(ctx, http.MethodGet, kind.path(b.namespace, name), metadataOnly, "", nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		content := strings.ReplaceAll(strings.ReplaceAll(kind.content, "FIELD", "value"), "NAME", name)
		apiVersion := strings.TrimLeft(kind.group+"/"+kind.version, "/")
		body := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q,"annotations":{"kopf.zalando.org/applied":"1:0123456789abcdef"},`+
			`"labels":{"kopf.dev/owned-by":"kopfexamples.kopf.dev","kopf.dev/owner-uid":%q},"ownerReferences":[{"apiVersion":"kopf.dev/v1",`+
			`"kind":"KopfExample","name":%q,"uid":%q,"controller":true,"blockOwnerDeletion":true}]},%s}`,
			apiVersion, kind.kind, name, b.namespace, uid, name, uid, content)
		if _, err := b.api.do(ctx, http.MethodPatch, kind.path(b.namespace, name)+"?fieldManager=kopf.dev%2Fkopfexamples.kopf.dev", "application/apply-patch+yaml", body); err != nil {
			return err
		}
	}
	fmt.Println(name, time.Now().UnixNano())
	_, err := b.api.do(ctx, http.MethodPatch, objects(b.namespace, name), mergePatch, b.t.patch)
	return err
}

// sendAccepting sends a request once, whatever the status of the response.
func (a *api) sendAccepting(ctx context.Context, method, path, accept, contentType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return a.http.Do(request)
}
