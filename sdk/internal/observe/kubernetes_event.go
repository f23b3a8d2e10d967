package observe

import (
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// The types of events that Kubernetes defines. Users may use other types.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

// DefaultNamespace is the namespace of events about cluster-scoped objects, unless the context of the
// kubeconfig has a namespace.
const DefaultNamespace = "default"

// ObjectReference refers to the object that an event is about.
type ObjectReference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	UID        string `json:"uid,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

// ReferenceOf returns a reference to an object.
func ReferenceOf(obj map[string]any) ObjectReference {
	meta := object.Metadata(obj)
	return ObjectReference{
		APIVersion: text(obj["apiVersion"]), Kind: text(obj["kind"]),
		Name: text(meta["name"]), UID: text(meta["uid"]), Namespace: text(meta["namespace"]),
	}
}

// AboutEvent reports whether the object is an event itself, of either API group. The engine must not post events about
// events, because an operator that handles events would post more and more events.
func (r ObjectReference) AboutEvent() bool {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	return err == nil && r.Kind == "Event" && (gv.Group == "" || gv.Group == "events.k8s.io")
}

// KubernetesEvent is the body of a request that posts an event.
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

// EventMetadata is the metadata of an event.
type EventMetadata struct {
	Namespace    string `json:"namespace"`
	GenerateName string `json:"generateName"`
}

// EventSource is the source of an event, as shown by "kubectl describe".
type EventSource struct {
	Component string `json:"component"`
}

// EventContent is the content of a Kubernetes event.
type EventContent struct {
	Type    string
	Reason  string
	Message string
	At      time.Time
}

// NewKubernetesEvent returns an event about an object. It returns nil if the object is an event of the core API, because the
// API server rejects events about such events. The given namespace is used for cluster-scoped objects; it may be empty.
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
	// Both types of timestamps in the API accept microseconds; one of them requires them.
	at := content.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	return &KubernetesEvent{
		Metadata: EventMetadata{Namespace: about.Namespace, GenerateName: "kopf-event-"},
		Action:   "Action?", // required by the API but shown by no tool
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

// Path returns the URL path for posting the event.
func (e *KubernetesEvent) Path() (string, error) {
	return EventsResource().Path(e.Metadata.Namespace, "", "", nil)
}

// EventsResource returns the resource of events in the core API.
func EventsResource() *resources.Resource {
	return &resources.Resource{
		Version: "v1", Plural: "events", Kind: "Event", Singular: "event",
		Namespaced: true, Preferred: true,
	}
}

const (
	maxMessage = 1024 // maximum number of bytes; the API limits the number of characters
	ellipsis   = "..."
	headLength = maxMessage/2 - len(ellipsis)/2
	tailLength = maxMessage - headLength - len(ellipsis)
)

// CutMessage shortens a message to the limit of the API. It removes the middle, because a message starts with its subject,
// and an error often ends with its cause.
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
