package tunnel

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// SessionLabel is the label of all that a session creates in a cluster. Its value is the session's id.
	SessionLabel = "kopf.dev/session"

	// ExpiresAnnotation is the annotation with the time after which the session is dead unless it renews
	// the time, as in RFC 3339.
	ExpiresAnnotation = "kopf.dev/session-expires"
)

// markLife is how long the mark of a check or a relay is valid for other machines, unless it is renewed. On the same
// machine, the lock of the session decides. A check ends long before; a relay is renewed: see [Entrance].Renew.
const markLife = 10 * time.Minute

// Mark marks the objects that a session creates in a cluster, so that later sessions can remove them after the
// session has died.
type Mark struct {
	Session string
	Expires time.Time
}

func newMark(session string, now time.Time) Mark { return Mark{session, now.Add(markLife)} }

// put adds the mark to the metadata of an object.
func (m Mark) put(metadata map[string]any) {
	set := func(field, key, value string) {
		values, _ := metadata[field].(map[string]any)
		if values == nil {
			values = map[string]any{}
			metadata[field] = values
		}
		values[key] = value
	}
	set("labels", SessionLabel, m.Session)
	set("annotations", ExpiresAnnotation, m.Expires.UTC().Format(time.RFC3339))
}

// markOf reads the mark of an object.
func markOf(o *unstructured.Unstructured) (Mark, error) {
	m := Mark{Session: o.GetLabels()[SessionLabel]}
	text := o.GetAnnotations()[ExpiresAnnotation]
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return m, fmt.Errorf("%s has no valid annotation %s: %q", nameOf(o), ExpiresAnnotation, text)
	}
	m.Expires = at
	return m, nil
}
