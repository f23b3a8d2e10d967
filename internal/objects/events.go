package objects

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/runner"
)

// maxEvents is how many events are kept: an object with more has a problem that the newest ones show.
const maxEvents = 500

// eventsOfCluster is the namespace of events about objects without a namespace.
const eventsOfCluster = metav1.NamespaceDefault

var eventResource = resourceOf("events.v1")

// eventSource follows the Kubernetes events about one object.
type eventSource struct {
	client dynamic.Interface
	what   runner.Look
	seen   *runner.Looked
	tell   func(runner.Looked)
	byName map[string]runner.Event
}

func newEventSource(client dynamic.Interface, what runner.Look, seen *runner.Looked, tell func(runner.Looked)) *eventSource {
	return &eventSource{client: client, what: what, seen: seen, tell: tell}
}

func (s *eventSource) requests() dynamic.ResourceInterface {
	return within(s.client, eventResource, cmp.Or(s.what.Object.Namespace, eventsOfCluster))
}

// selector selects the events about the object: another one may have had its name before.
func (s *eventSource) selector() string {
	return fields.SelectorFromSet(fields.Set{"involvedObject.name": s.what.Object.Name, "involvedObject.uid": s.what.Object.UID}).String()
}

func (s *eventSource) read(ctx context.Context) (string, error) {
	list, err := s.requests().List(ctx, metav1.ListOptions{FieldSelector: s.selector()})
	if err != nil {
		return "", err
	}
	s.byName = make(map[string]runner.Event, len(list.Items))
	for i := range list.Items {
		s.byName[list.Items[i].GetName()] = eventOf(&list.Items[i])
	}
	return list.GetResourceVersion(), nil
}

func (s *eventSource) watch(ctx context.Context, version string) (watch.Interface, error) {
	return s.requests().Watch(ctx, metav1.ListOptions{FieldSelector: s.selector(), ResourceVersion: version})
}

func (s *eventSource) change(event watch.Event) error {
	o, ok := event.Object.(*unstructured.Unstructured)
	switch {
	case !ok:
	case event.Type == watch.Deleted:
		delete(s.byName, o.GetName())
	default:
		s.byName[o.GetName()] = eventOf(o)
	}
	return nil
}

func (s *eventSource) report() {
	names := slices.Collect(maps.Keys(s.byName))
	slices.SortFunc(names, func(a, b string) int {
		if c := s.byName[a].At.Compare(s.byName[b].At); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[:max(0, len(names)-maxEvents)] {
		delete(s.byName, name)
	}
	names = names[max(0, len(names)-maxEvents):]
	events := make([]runner.Event, len(names))
	for i, name := range names {
		events[i] = s.byName[name]
	}
	s.seen.Loaded, s.seen.Error, s.seen.Events = true, "", events
	s.tell(*s.seen)
}

// eventOf reads an event of the API group "": those of events.k8s.io have the same fields there.
func eventOf(o *unstructured.Unstructured) runner.Event {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(o.Object, path...)
		return s
	}
	count, _, _ := unstructured.NestedInt64(o.Object, "count")
	if n, ok, _ := unstructured.NestedInt64(o.Object, "series", "count"); ok {
		count = n
	}
	e := runner.Event{
		Warning: text("type") != "" && text("type") != "Normal", Reason: text("reason"), Message: text("message"),
		From: cmp.Or(text("source", "component"), text("reportingComponent")), Count: int(max(1, count)),
	}
	for _, stamp := range []string{text("series", "lastObservedTime"), text("lastTimestamp"), text("eventTime"), text("firstTimestamp"), text("metadata", "creationTimestamp")} {
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			e.At = at
			break
		}
	}
	return e
}
