package leases

import (
	"encoding/json"
	"fmt"
	"time"
)

// Lease is an object of coordination.k8s.io/v1, reduced to what replicas need.
type Lease struct {
	Name        string
	Labels      map[string]string
	Holder      string        // identity of the replica; empty without a holder
	Duration    time.Duration // validity after a renewal, in whole seconds
	Acquired    time.Time
	Renewed     time.Time
	Transitions int    // number of changes of the holder
	Version     string // resourceVersion; empty if the lease is not created yet
}

// microTime is the format of times in leases.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// wire is the JSON of a lease.
type wire struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   wireMetadata `json:"metadata"`
	Spec       wireSpec     `json:"spec"`
}

type wireMetadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
}

type wireSpec struct {
	HolderIdentity       string `json:"holderIdentity"`
	LeaseDurationSeconds int    `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          string `json:"acquireTime,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"`
	LeaseTransitions     int    `json:"leaseTransitions"`
}

// encode returns the JSON of a lease.
func (l Lease) encode(namespace string) ([]byte, error) {
	return json.Marshal(wire{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease",
		Metadata: wireMetadata{Name: l.Name, Namespace: namespace, Labels: l.Labels, ResourceVersion: l.Version},
		Spec: wireSpec{
			HolderIdentity: l.Holder, LeaseDurationSeconds: int(l.Duration / time.Second),
			AcquireTime: formatTime(l.Acquired), RenewTime: formatTime(l.Renewed), LeaseTransitions: l.Transitions,
		},
	})
}

// decode reads the JSON of a lease. Times that cannot be read are zero: they are for people, since the clocks of
// replicas differ.
func decode(text []byte) (Lease, error) {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return Lease{}, fmt.Errorf("read lease: %w", err)
	}
	l := Lease{
		Name: w.Metadata.Name, Labels: w.Metadata.Labels, Version: w.Metadata.ResourceVersion,
		Holder: w.Spec.HolderIdentity, Duration: time.Duration(w.Spec.LeaseDurationSeconds) * time.Second,
		Transitions: w.Spec.LeaseTransitions,
	}
	l.Acquired, l.Renewed = parseTime(w.Spec.AcquireTime), parseTime(w.Spec.RenewTime)
	return l, nil
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(microTime)
}

func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
