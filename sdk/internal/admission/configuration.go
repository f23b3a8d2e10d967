package admission

import (
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
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Metadata   *Metadata `json:"metadata,omitempty"`
	Webhooks   []Webhook `json:"webhooks"`
}

// Metadata is the metadata of a configuration.
type Metadata struct {
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
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

// Creation returns a configuration to create. The metadata may be nil.
func Creation(family handlers.Family, name string, marks *Metadata, webhooks []Webhook) Configuration {
	c := Change(marks, webhooks)
	c.APIVersion, c.Kind = ConfigurationVersion, ConfigurationKind(family)
	if c.Metadata == nil {
		c.Metadata = &Metadata{}
	}
	c.Metadata.Name = name
	return c
}

// Change returns the merge patch of a configuration.
func Change(marks *Metadata, webhooks []Webhook) Configuration {
	c := Configuration{Webhooks: webhooks}
	if marks != nil {
		copied := *marks
		c.Metadata = &copied
	}
	return c
}

// SessionMarks returns the marks of a development session, which expire some time after now unless they are renewed.
func SessionMarks(session string, now time.Time) *Metadata {
	return &Metadata{
		Labels:      map[string]string{SessionLabel: session},
		Annotations: map[string]string{ExpiryKey: now.Add(SessionExpires).UTC().Format(time.RFC3339)},
	}
}
