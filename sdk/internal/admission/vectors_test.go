package admission

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

// recording is a recorded input and output, of any kind.
type recording struct {
	Kind string `json:"kind"`

	// Of "response".
	Request   map[string]any    `json:"request"`
	Outcomes  map[string]string `json:"outcomes"`
	Warnings  []string          `json:"warnings"`
	JSONPatch []map[string]any  `json:"jsonpatch"`
	Response  map[string]any    `json:"response"`

	// Of "webhook-name" and "client-config".
	HandlerID string         `json:"handler_id"`
	Suffix    string         `json:"suffix"`
	Name      string         `json:"name"`
	Config    map[string]any `json:"config"`
	Result    map[string]any `json:"result"`

	// Of "labels-selector".
	Labels map[string]any `json:"labels"`

	// Of "webhooks" and "labels-selector".
	Selector       any      `json:"selector"`
	Operations     []string `json:"operations"`
	Subresource    string   `json:"subresource"`
	SideEffects    bool     `json:"side_effects"`
	IgnoreFailures bool     `json:"ignore_failures"`
	Persistent     bool     `json:"persistent"`
	PersistentOnly bool     `json:"persistent_only"`
	Resources      string   `json:"resources"`
	Webhooks       any      `json:"webhooks"`
}

type permanent struct{ error }

func (permanent) KopfPermanent() {}

// recordedErrors are the errors of handlers by their names in the recordings.
func recordedError(name string) (error, error) {
	switch name {
	case "ok":
		return nil, nil
	case "admission-499":
		return handlers.AsDenial(errors.New("adm"), 499), nil
	case "admission-nocode":
		return handlers.AsDenial(errors.New("adm"), 0), nil
	case "admission-empty":
		return handlers.AsDenial(errors.New(""), 0), nil
	case "perm":
		return permanent{errors.New("p")}, nil
	case "temp":
		return handlers.AsTemporary(errors.New("t"), 0), nil
	case "arb":
		return errors.New("v"), nil
	case "arb-empty":
		return errors.New(""), nil
	}
	return nil, fmt.Errorf("unknown outcome %q", name)
}

func TestVectors_Webhooks(t *testing.T) {
	all := recordedResources(t)
	vectors.Run(t, "admission.json", func(_ *testing.T, v *recording) error {
		switch v.Kind {
		case "response":
			return v.checkResponse()
		case "webhook-name":
			return v.checkName()
		case "client-config":
			return v.checkClientConfig()
		case "labels-selector":
			return v.checkSelector()
		case "webhooks":
			return v.checkWebhooks(all)
		default:
			return vectors.Skip()
		}
	})
}

func (v *recording) checkResponse() error {
	var errs []error
	for _, id := range []string{"h1", "h2"} {
		outcome, ok := v.Outcomes[id]
		if !ok {
			continue
		}
		err, unknown := recordedError(outcome)
		if unknown != nil {
			return unknown
		}
		errs = append(errs, err)
	}
	var ops []patch.Op
	for _, op := range v.JSONPatch {
		ops = append(ops, patch.Op{Op: op["op"].(string), Path: op["path"].(string), Value: op["value"]})
	}
	request, _ := v.Request["request"].(map[string]any)
	response := Respond(errs, v.Warnings, ops)
	apiVersion, _ := v.Request["apiVersion"].(string)
	uid, _ := request["uid"].(string)
	text, err := response.Encode(apiVersion, uid)
	if err != nil {
		return err
	}
	got, err := decoded(text)
	if err != nil {
		return err
	}
	for _, response := range []map[string]any{got, v.Response} {
		body := response["response"].(map[string]any)
		if encoded, ok := body["patch"].(string); ok {
			raw, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return err
			}
			var ops any
			if err := json.Unmarshal(raw, &ops); err != nil {
				return err
			}
			body["patch"] = ops
		}
		// An error with no text is shown by the name of its type.
		if status, ok := body["status"].(map[string]any); ok {
			switch status["message"] {
			case "AdmissionError('')", "ValueError()", "*errors.errorString":
				status["message"] = ""
			}
		}
	}
	return different(v.Response, got)
}

func (v *recording) checkName() error {
	got := Names([]*handlers.Handler{{ID: v.HandlerID}})[v.HandlerID]
	if v.Suffix != "" {
		got += "." + v.Suffix
	}
	switch {
	case got == v.Name:
		return nil
	case !dnsSubdomain.MatchString(v.Name) && dnsSubdomain.MatchString(got):
		return vectors.Differs("Kubernetes refuses the name")
	}
	return fmt.Errorf("got %q", got)
}

func (v *recording) checkClientConfig() error {
	text, err := json.Marshal(v.Config)
	if err != nil {
		return err
	}
	var config struct {
		ClientConfig
		CABundle string `json:"caBundle"` // is not in base64
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	config.ClientConfig.CABundle = nil
	name := Names([]*handlers.Handler{{ID: v.HandlerID}})[v.HandlerID]
	if text, err = json.Marshal(config.For(v.HandlerID, name)); err != nil {
		return err
	}
	got, err := decoded(text)
	if err != nil {
		return err
	}
	delete(v.Result, "caBundle")
	err = different(v.Result, got)
	if service, ok := v.Result["service"].(map[string]any); err != nil && ok {
		for segment := range strings.SplitSeq(strings.TrimPrefix(service["path"].(string), "/"), "/") {
			if !dnsSubdomain.MatchString(segment) {
				return vectors.Differs("Kubernetes refuses the path of the service")
			}
		}
	}
	return err
}

func (v *recording) checkSelector() error {
	labels := map[string]handlers.Criterion{}
	for name, want := range v.Labels {
		criterion, err := recordedCriterion(want)
		if err != nil {
			return err
		}
		labels[name] = criterion
	}
	text, err := json.Marshal(labelSelector(labels))
	if err != nil {
		return err
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		return err
	}
	return different(v.Selector, got)
}

func recordedCriterion(want any) (handlers.Criterion, error) {
	switch want := want.(type) {
	case string:
		return handlers.EqualStringCriterion(want), nil
	case map[string]any:
		switch want["$"] {
		case "PRESENT":
			return handlers.Present, nil
		case "ABSENT":
			return handlers.Absent, nil
		}
		if _, ok := want["$fn"]; ok {
			return handlers.FuncCriterion("fn", nil), nil
		}
	}
	return handlers.Criterion{}, fmt.Errorf("unknown criterion %v", want)
}

func (v *recording) checkWebhooks(all []resources.Resource) error {
	h := &handlers.Handler{
		ID: "my_fn", Family: handlers.Validate,
		Admission: handlers.AdmissionOptions{
			Operations: v.Operations, Subresource: v.Subresource, Persistent: v.Persistent, SideEffects: v.SideEffects,
			IgnoreFailures: v.IgnoreFailures,
		},
	}
	var words []string
	for _, word := range v.Selector.([]any) {
		words = append(words, word.(string))
	}
	var err error
	if slices.Equal(words, []string{"EVERYTHING!"}) {
		words = []string{"*"}
	}
	if h.Selector, err = resources.ParseSelector(words...); err != nil {
		return err
	}
	served := all
	if v.Resources == "first-5" {
		served = all[:5]
	}
	text, err := json.Marshal(Build([]*handlers.Handler{h}, Options{
		Resources: served, Client: ClientConfig{URL: "https://h"}, Suffix: "auto.kopf.dev",
		Names: Names([]*handlers.Handler{h}), PersistentOnly: v.PersistentOnly,
	}))
	if err != nil {
		return err
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		return err
	}
	return different(v.Webhooks, got)
}

func decoded(text []byte) (map[string]any, error) {
	var got map[string]any
	return got, json.Unmarshal(text, &got)
}

// different compares plain values, whose numbers have different types.
func different(want, got any) error {
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	var normal any
	if err := json.Unmarshal(text, &normal); err != nil {
		return err
	}
	if reflect.DeepEqual(normal, got) {
		return nil
	}
	return errors.New(cmp.Diff(normal, got))
}

// recordedResources returns the resources of the recordings.
func recordedResources(t *testing.T) []resources.Resource {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(vectors.Dir(), "_resources.json"))
	if err != nil { // the folder in VECTORS may lack it
		text, err = os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "_resources.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []resources.Resource
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
