package inspect

import "time"

// Admission is the state of the admission webhooks of an operator.
type Admission struct {
	// Way is the address by which the cluster reaches the operator: the URL without the handlers' ids, or "service
	// NAMESPACE/NAME:PORT/PATH". It is empty until the webhook server has announced its address.
	Way string `json:"way,omitempty"`

	// Lost is the reason why the cluster cannot reach the operator while the tunnel is being reopened. It is empty if
	// no failure is known.
	Lost string `json:"lost,omitempty"`

	// Managed is the name of the configurations that the operator manages; empty if it manages none.
	Managed string `json:"managed,omitempty"`

	// Session is the id of the development session that the configurations belong to; empty in production.
	Session string `json:"session,omitempty"`

	// Webhooks are the webhooks of all admission handlers, in the order of registration.
	Webhooks []Webhook `json:"webhooks,omitempty"`
}

// Webhook is the entry of one handler in a webhook configuration. If the operator does not manage the configuration, it
// is the entry that a managed configuration would have.
type Webhook struct {
	Handler string      `json:"handler"` // id of the handler
	Kind    HandlerKind `json:"kind"`    // [KindValidate] or [KindMutate]
	Name    string      `json:"name"`    // name of the webhook, such as "check.auto.kopf.dev"
	Address string      `json:"address"` // address to which the cluster sends reviews: [Admission].Way with the handler's id

	Rules         []WebhookRule `json:"rules,omitempty"`         // empty if the cluster has none of the handler's resources
	Labels        []string      `json:"labels,omitempty"`        // conditions on labels that the cluster checks: "tier=gold"
	FailurePolicy string        `json:"failurePolicy,omitempty"` // "Fail" or "Ignore"
	Timeout       Duration      `json:"timeout,omitempty"`       // time limit of one review
	SideEffects   bool          `json:"sideEffects,omitempty"`
	Persistent    bool          `json:"persistent,omitempty"` // stays in the cluster when the operator exits

	State WebhookState `json:"state"`
	Error string       `json:"error,omitempty"` // reason why the configuration could not be installed
}

// WebhookRule selects the requests that are sent to a webhook.
type WebhookRule struct {
	Resource   string   `json:"resource"` // key of the resource
	Sub        string   `json:"sub,omitempty"`
	Operations []string `json:"operations"` // "CREATE", "UPDATE", "DELETE", "CONNECT", or "*"
}

// WebhookState is the state of a webhook in the cluster.
type WebhookState string

// The states of a webhook.
const (
	WebhookUnmanaged WebhookState = "unmanaged" // the operator manages no configurations
	WebhookPending   WebhookState = "pending"   // the webhook is not installed yet
	WebhookInstalled WebhookState = "installed"
	WebhookFailed    WebhookState = "failed" // the API server rejected the webhook: see [Webhook].Error
)

// Review is an admission review that the operator has answered.
type Review struct {
	// ID identifies the review in the lifetime of the operator, for [IntentReplay].
	ID string    `json:"id"`
	At time.Time `json:"at"`

	UID string `json:"uid"` // UID from the API server

	// Replay is the ID of the review that was replayed; empty for reviews of the cluster.
	Replay string `json:"replay,omitempty"`

	User        User   `json:"user"`
	Operation   string `json:"operation"` // "CREATE", "UPDATE", "DELETE" or "CONNECT"
	Subresource string `json:"subresource,omitempty"`
	DryRun      bool   `json:"dryRun,omitempty"`

	// Object is the reviewed object. It has no UID until it is created.
	Object Ref    `json:"object"`
	Kind   string `json:"kind"`

	Allowed  bool       `json:"allowed"`
	Code     int        `json:"code,omitempty"`    // HTTP status of a denial
	Message  string     `json:"message,omitempty"` // message of a denial
	Warnings []string   `json:"warnings,omitempty"`
	Patch    []DiffItem `json:"patch,omitempty"` // changes by mutating handlers

	Handlers []ReviewedHandler `json:"handlers,omitempty"` // handlers called for the review
	Took     Duration          `json:"took"`
}

// User identifies the user who sent a request to the cluster.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// ReviewedHandler is a handler that was called for a review.
type ReviewedHandler struct {
	ID    string        `json:"id"`
	Kind  HandlerKind   `json:"kind"`
	Took  Duration      `json:"took"`
	Error *HandlerError `json:"error,omitempty"`
}

// MaxReviews is the number of reviews that an operator keeps.
const MaxReviews = 200
