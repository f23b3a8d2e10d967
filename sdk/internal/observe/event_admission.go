package observe

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// WebhooksChanged reports the address of the admission handlers, and the state of their webhooks in the cluster.
type WebhooksChanged struct {
	Client  admission.ClientConfig // address of the webhook server; empty until the server announced it
	Managed string                 // suffix of the names; empty if the operator manages no configurations
	Session string                 // id of the development session; empty outside of one

	Webhooks []admission.Webhook // webhooks of all handlers, in order of registration
	States   map[handlers.Family]WebhookState
}

// WebhookState is the state of a family's webhooks in the cluster.
type WebhookState struct {
	State inspect.WebhookState
	Err   error // reason why the webhooks are not installed; nil if they are
}

// ReviewEnded reports that a review was answered.
type ReviewEnded struct {
	Subject  *Subject
	Request  *admission.Request
	Response *admission.Response

	ID, Replay string // ids of the review, and of the review that it replays
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
