package observe

import (
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// webhooksChanged publishes the state of the webhooks.
func (i *Inspector) webhooksChanged(e WebhooksChanged) {
	state := inspect.Admission{Way: e.Client.String(), Lost: e.Client.Lost, Managed: e.Managed, Session: e.Session}
	for at := range e.Webhooks {
		w := describeWebhook(&e.Webhooks[at], e.States)
		if state.Way == "" {
			w.Address = "" // the server has not announced its address yet
		}
		state.Webhooks = append(state.Webhooks, w)
	}
	i.hub.SetAdmission(state)
}

func describeWebhook(w *admission.Webhook, states map[handlers.Family]WebhookState) inspect.Webhook {
	h := w.Handler
	out := inspect.Webhook{
		Handler: h.ID, Kind: inspect.HandlerKind(h.Family), Name: w.Name, Address: w.ClientConfig.String(),
		FailurePolicy: w.FailurePolicy, Timeout: inspect.Duration(time.Duration(w.TimeoutSeconds) * time.Second),
		SideEffects: h.Admission.SideEffects, Persistent: h.Admission.Persistent,
	}
	state := states[h.Family]
	if out.State = state.State; state.Err != nil {
		out.Error = state.Err.Error()
	}
	for _, rule := range w.Rules {
		name, sub, _ := strings.Cut(rule.Resources[0], "/")
		key := admission.GroupVersionResource{Group: rule.Groups[0], Version: rule.Versions[0], Resource: name}
		out.Rules = append(out.Rules, inspect.WebhookRule{Resource: key.String(), Sub: sub, Operations: rule.Operations})
	}
	if w.ObjectSelector != nil {
		for _, r := range w.ObjectSelector.MatchExpressions {
			out.Labels = append(out.Labels, labelCondition(r))
		}
	}
	return out
}

func labelCondition(r admission.LabelRequirement) string {
	switch r.Operator {
	case "Exists":
		return r.Key + "=present"
	case "DoesNotExist":
		return r.Key + "=absent"
	default:
		return r.Key + "=" + strings.Join(r.Values, ",")
	}
}

// reviewEnded publishes a review without hidden values.
func (i *Inspector) reviewEnded(e ReviewEnded) {
	secrets := e.Subject.Secrets
	var bodies []any
	if secrets != nil { // otherwise, there is nothing to hide
		bodies = bodiesOf(e.Request)
	}
	review := inspect.Review{
		ID: e.ID, UID: e.Request.UID, Replay: e.Replay, At: e.Began, Took: inspect.Duration(e.Took),
		User:      inspect.User{Name: e.Request.User.Username, Groups: e.Request.User.Groups},
		Operation: e.Request.Operation, Subresource: e.Request.Subresource, DryRun: e.Request.DryRun,
		Object: inspect.Ref{
			Resource: e.Subject.Resource.Key(), Namespace: e.Subject.Object.Namespace, Name: e.Subject.Object.Name, UID: e.Subject.Object.UID,
		},
		Kind: e.Subject.Object.Kind, Allowed: e.Response.Allowed, Code: e.Response.Code,
		Message: secrets.Text(e.Response.Message, bodies...),
	}
	for _, warning := range e.Response.Warnings {
		review.Warnings = append(review.Warnings, secrets.Text(warning, bodies...))
	}
	for _, item := range secrets.Diff(e.Diff) {
		review.Patch = append(review.Patch, inspect.DiffItem{Op: inspect.DiffOp(item.Op), Path: item.Path.String(), Old: item.Old, New: item.New})
	}
	for _, h := range e.Handlers {
		reviewed := inspect.ReviewedHandler{ID: h.Handler.ID, Kind: inspect.HandlerKind(h.Handler.Family), Took: inspect.Duration(h.Took)}
		if reviewed.Error = shownError(h.Err); reviewed.Error != nil {
			reviewed.Error.Message = secrets.Text(reviewed.Error.Message, bodies...)
		}
		review.Handlers = append(review.Handlers, reviewed)
	}
	i.hub.AddReview(review)
}

// bodiesOf returns the objects of a review. Messages of the review may contain their hidden values.
func bodiesOf(r *admission.Request) []any {
	var bodies []any
	for _, o := range []*object.Object{r.Object, r.Old} {
		if o == nil {
			continue
		}
		if tree, err := o.Tree(); err == nil {
			bodies = append(bodies, tree)
		}
	}
	return bodies
}
