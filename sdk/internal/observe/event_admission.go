package observe

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// WebhooksChanged tells how the cluster reaches the admission handlers, and which of their webhooks are in the
// cluster.
type WebhooksChanged struct {
	Client  admission.ClientConfig // empty until it is announced
	Managed string                 // suffix of the names; empty if the operator manages no configurations
	Session string                 // of development

	Webhooks []admission.Webhook // of all handlers, in the order of registration
	States   map[handlers.Family]WebhookState
}

// WebhookState is whether the webhooks of a family are in the cluster.
type WebhookState struct {
	State inspect.WebhookState
	Err   error // why they are not
}

// ReviewEnded tells that a review was answered.
type ReviewEnded struct {
	Subject  *Subject
	Request  *admission.Request
	Response *admission.Response

	ID, Replay string // of the review, and of the one that was replayed
	Diff       object.Diff
	Handlers   []ReviewedHandler
	Began      time.Time
	Took       time.Duration
}

// ReviewedHandler is a handler that was called for a review.
type ReviewedHandler struct {
	Handler *handlers.Handler
	Took    time.Duration
	Err     error
}

// Kind implements [Event].
func (WebhooksChanged) Kind() Kind { return KindWebhooksChanged }

// Kind implements [Event].
func (ReviewEnded) Kind() Kind { return KindReviewEnded }
