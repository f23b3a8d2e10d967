package intents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

const (
	readTimeout = 5 * time.Second // limits the requests to the API server
	maxEvents   = 500             // limits the events about an object; the newest ones are enough to diagnose it
)

// Object returns an object of the cluster without its secrets.
func (i *Intents) Object(ctx context.Context, ref inspect.Ref) inspect.ObjectContent {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	tree, secrets, err := i.read(ctx, ref)
	if err != nil {
		return inspect.ObjectContent{Error: readError(err)}
	}
	shown, _ := secrets.Value(nil, tree).(map[string]any)
	return inspect.ObjectContent{Object: shown}
}

// Events returns the newest events about an object without its secrets.
func (i *Intents) Events(ctx context.Context, ref inspect.Ref) inspect.ObjectEvents {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	events, err := i.events(ctx, ref)
	if err != nil {
		return inspect.ObjectEvents{Error: readError(err)}
	}
	return inspect.ObjectEvents{Events: events}
}

func (i *Intents) events(ctx context.Context, ref inspect.Ref) ([]map[string]any, error) {
	res, err := i.watched(ref)
	if err != nil {
		return nil, err
	}
	secrets := i.Deps.Settings.Redaction.Of(res, nil)
	if secrets != nil { // hidden values come from the object
		if _, secrets, err = i.read(ctx, ref); err != nil {
			return nil, err
		}
	}
	// The UID excludes events about earlier objects with the same name.
	about := fields.SelectorFromSet(fields.Set{"involvedObject.name": ref.Name, "involvedObject.uid": ref.UID})
	list, err := i.Deps.Client.WithoutRetries().List(ctx, observe.EventsResource(), cmp.Or(ref.Namespace, metav1.NamespaceDefault),
		kube.ListOptions{FieldSelector: about.String()})
	switch {
	case kube.Classify(err) == kube.Forbidden:
		return nil, errors.New(readError(err) + "; allow the operator to list events, or use kubectl events")
	case err != nil:
		return nil, err
	}
	events := make([]map[string]any, len(list.Items))
	for at, event := range list.Items {
		if events[at], err = event.Tree(); err != nil {
			return nil, err
		}
	}
	events = newestEvents(events)
	for _, event := range events {
		hideSecrets(event, secrets)
	}
	return events, nil
}

// watched returns the resource of an object. It returns an error if the operator does not watch the resource.
func (i *Intents) watched(ref inspect.Ref) (*resources.Resource, error) {
	streams := i.Parts.Load().Streams
	if streams == nil {
		return nil, errStarting
	}
	if served := streams.Served(ref.Resource); served != nil {
		return served.Resource, nil
	}
	return nil, fmt.Errorf("404 not found: the operator does not watch %s now", ref.Resource)
}

// read returns an object and its secrets. It lists instead of gets, because operators need no permission to get objects, and
// without retries, because a client waits for the response.
func (i *Intents) read(ctx context.Context, ref inspect.Ref) (map[string]any, *redact.Secrets, error) {
	res, err := i.watched(ref)
	if err != nil {
		return nil, nil, err
	}
	list, err := i.Deps.Client.WithoutRetries().List(ctx, res, ref.Namespace, kube.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", ref.Name).String(), KeepManagedFields: true,
	})
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(list.Items, func(o *object.Object) bool { return o.UID == ref.UID })
	if at < 0 {
		return nil, nil, fmt.Errorf("404 not found: %s was deleted", ref.Name)
	}
	tree, err := list.Items[at].Tree()
	return tree, i.Deps.Settings.Redaction.Of(res, list.Items[at]), err
}

// eventTimes are the fields with the last time of an event of the API group "". The first field that is set counts.
var eventTimes = []object.Path{
	{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"firstTimestamp"}, {"metadata", "creationTimestamp"},
}

// newestEvents returns the newest events, at most maxEvents, oldest first. It sorts the given slice.
func newestEvents(events []map[string]any) []map[string]any {
	sort.SliceStable(events, func(i, j int) bool { return seenLast(events[i]).Before(seenLast(events[j])) })
	return events[max(0, len(events)-maxEvents):]
}

// seenLast returns the last time of an event; the zero time if the event has none.
func seenLast(event map[string]any) time.Time {
	for _, path := range eventTimes {
		value, _ := object.Lookup(event, path)
		text, _ := value.(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// hideSecrets redacts the hidden values of an object in all strings of a value.
func hideSecrets(value any, secrets *redact.Secrets) any {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			v[key] = hideSecrets(child, secrets)
		}
	case []any:
		for i, item := range v {
			v[i] = hideSecrets(item, secrets)
		}
	case string:
		return secrets.Text(v)
	}
	return value
}

// readError returns a short description of an error of the API server.
func readError(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err.Error()
	}
	code := int(status.ErrStatus.Code)
	return fmt.Sprintf("%d %s: %s", code, strings.ToLower(http.StatusText(code)), status.ErrStatus.Message)
}
