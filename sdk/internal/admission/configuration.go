package admission

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Marks of the configurations of a development session. Configurations without an operator are removed by them.
const (
	SessionLabel   = "kopf.dev/session"
	ExpiryKey      = "kopf.dev/session-expires"
	SessionExpires = 5 * time.Minute
)

// Configuration is a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration.
type Configuration struct {
	APIVersion string          `json:"apiVersion,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	Metadata   *Metadata       `json:"metadata,omitempty"`
	Webhooks   json.RawMessage `json:"webhooks,omitempty"` // a patch with nil keeps them, one with an empty list removes them
}

// Metadata is the metadata of a configuration. In a patch, an annotation that is nil is removed, and a version makes the API
// server refuse the patch with 409 if the configuration has another one.
type Metadata struct {
	Name            string             `json:"name,omitempty"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Labels          map[string]string  `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

// ConfigurationVersion is the apiVersion of configurations.
const ConfigurationVersion = "admissionregistration.k8s.io/v1"

// ConfigurationKind returns the kind of the configuration of a family.
func ConfigurationKind(family handlers.Family) string {
	if family == handlers.Mutate {
		return "MutatingWebhookConfiguration"
	}
	return "ValidatingWebhookConfiguration"
}

// ConfigurationName returns the name of the configurations: in development, each session has its own.
func ConfigurationName(managed, session string) string {
	if session == "" {
		return managed
	}
	return session + "." + managed
}

// Creation turns a patch into a configuration to create.
func Creation(family handlers.Family, name string, c Configuration) Configuration {
	c.APIVersion, c.Kind = ConfigurationVersion, ConfigurationKind(family)
	c.Metadata.Name = name
	return c
}

// Change returns the merge patch of a configuration. The marks may be nil, and so may the webhooks.
func Change(marks *Metadata, webhooks json.RawMessage) Configuration {
	c := Configuration{Metadata: &Metadata{Annotations: map[string]*string{}}, Webhooks: webhooks}
	if marks != nil {
		c.Metadata.Labels = marks.Labels
		maps.Copy(c.Metadata.Annotations, marks.Annotations)
	}
	return c
}

// SessionMarks returns the marks of a development session, which expire some time after now unless they are renewed.
func SessionMarks(session string, now time.Time) *Metadata {
	return &Metadata{
		Labels:      map[string]string{SessionLabel: session},
		Annotations: map[string]*string{ExpiryKey: new(now.Add(SessionExpires).UTC().Format(time.RFC3339))},
	}
}
