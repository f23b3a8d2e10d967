package observe

import (
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// The types of events that Kubernetes knows; others are accepted from users.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

// DefaultNamespace is where events about cluster-scoped objects are, unless the context
// of the operator has a namespace.
const DefaultNamespace = "default"

// Ref is a reference to the object that an event is about.
type ObjectReference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	UID        string `json:"uid,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

// RefOf makes a reference to an object.
func ReferenceOf(obj map[string]any) ObjectReference {
	meta := object.Metadata(obj)
	return ObjectReference{
		APIVersion: text(obj["apiVersion"]), Kind: text(obj["kind"]),
		Name: text(meta["name"]), UID: text(meta["uid"]), Namespace: text(meta["namespace"]),
	}
}

// AboutEvent tells whether an object is an event itself, as either of the two groups shows
// it. An operator that posts events about the events it handles makes more and more of
// them: the engine must not do it of its own accord.
func (r ObjectReference) AboutEvent() bool {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	return err == nil && r.Kind == "Event" && (gv.Group == "" || gv.Group == "events.k8s.io")
}

// Event is an event as it is posted.
type KubernetesEvent struct {
	Metadata           EventMetadata   `json:"metadata"`
	Action             string          `json:"action"`
	Type               string          `json:"type"`
	Reason             string          `json:"reason"`
	Message            string          `json:"message"`
	ReportingComponent string          `json:"reportingComponent"`
	ReportingInstance  string          `json:"reportingInstance"`
	Source             EventSource     `json:"source"`
	InvolvedObject     ObjectReference `json:"involvedObject"`
	FirstTimestamp     string          `json:"firstTimestamp"`
	LastTimestamp      string          `json:"lastTimestamp"`
	EventTime          string          `json:"eventTime"`
}

// Metadata is where an event is, and how its name begins.
type EventMetadata struct {
	Namespace    string `json:"namespace"`
	GenerateName string `json:"generateName"`
}

// Source is who has made an event, for "kubectl describe".
type EventSource struct {
	Component string `json:"component"`
}

// Content is what an event says.
type EventContent struct {
	Type    string
	Reason  string
	Message string
	At      time.Time
}

// New builds an event about an object. It is nil if the object is an event of the core
// API: nobody can make events about those. The context's namespace is for cluster-scoped objects; it may be empty.
func NewKubernetesEvent(about ObjectReference, content EventContent, contextNamespace string) *KubernetesEvent {
	if about.APIVersion == "v1" && about.Kind == "Event" {
		return nil
	}
	if about.Namespace == "" {
		about.Namespace = contextNamespace
	}
	if about.Namespace == "" {
		about.Namespace = DefaultNamespace
	}
	// Both kinds of timestamps of the API take microseconds; one takes nothing less.
	at := content.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	return &KubernetesEvent{
		Metadata: EventMetadata{Namespace: about.Namespace, GenerateName: "kopf-event-"},
		Action:   "Action?", // required by the API, and shown by nobody
		Type:     content.Type,
		Reason:   content.Reason,
		Message:  CutMessage(content.Message),

		ReportingComponent: "kopf",
		ReportingInstance:  "dev",
		Source:             EventSource{Component: "kopf"},

		InvolvedObject: about,
		FirstTimestamp: at, LastTimestamp: at, EventTime: at,
	}
}

// Path is where the event is to be posted.
func (e *KubernetesEvent) Path() (string, error) {
	return EventsResource().Path(e.Metadata.Namespace, "", "", nil)
}

// Resource is the one of events.
func EventsResource() *resources.Resource {
	return &resources.Resource{
		Version: "v1", Plural: "events", Kind: "Event", Singular: "event",
		Namespaced: true, Preferred: true,
	}
}

const (
	maxMessage = 1024 // bytes: the API calls them characters
	ellipsis   = "..."
	headLength = maxMessage/2 - len(ellipsis)/2
	tailLength = maxMessage - headLength - len(ellipsis)
)

// Cut shortens a message to what the API accepts. It takes out the middle: the beginning
// says what it is about, and the end of an error is often its cause.
func CutMessage(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	head, tail := headLength, len(message)-tailLength
	for head > 0 && !utf8.RuneStart(message[head]) {
		head--
	}
	for tail < len(message) && !utf8.RuneStart(message[tail]) {
		tail++
	}
	return message[:head] + ellipsis + message[tail:]
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
