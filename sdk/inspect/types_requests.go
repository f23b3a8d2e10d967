package inspect

import "time"

// Requests are the operator's own requests to the API server since it started.
type Requests struct {
	Since time.Time      `json:"since"` // start of the counting
	Kinds []RequestStats `json:"kinds"` // counts by kind, most frequent first
}

// RequestStats counts the requests of one kind. Each attempt of a request counts.
type RequestStats struct {
	Verb     string `json:"verb"`           // "get", "list", "watch", "create", "patch", "update" or "delete"
	Resource string `json:"resource"`       // such as "pods.v1" or "pods.v1/status"; empty for discovery and the like
	Code     int    `json:"code,omitempty"` // HTTP status; 0 if there was no response

	Count     int      `json:"count"`
	Repeated  int      `json:"repeated,omitempty"` // number of requests that repeated a failed attempt
	PerMinute int      `json:"perMinute"`          // number in the last minute
	P50       Duration `json:"p50"`                // median duration; for watches, until the stream started
	P99       Duration `json:"p99"`                // 99th percentile

	LastError string    `json:"lastError,omitempty"`
	LastAt    time.Time `json:"lastAt"` // time of the last request
}
