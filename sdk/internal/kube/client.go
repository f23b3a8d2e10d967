package kube

import (
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// DefaultRequestTimeout is how long one attempt of a request may take.
const DefaultRequestTimeout = 5 * time.Minute

// DefaultBackoffs are the delays between attempts: about a minute in total.
var DefaultBackoffs = slices.Values([]time.Duration{
	1 * time.Second, 1 * time.Second, 2 * time.Second, 3 * time.Second,
	5 * time.Second, 8 * time.Second, 13 * time.Second, 21 * time.Second,
})

// Options of a client. The zero value of each means its default.
type ClientOptions struct {
	// RequestTimeout limits one attempt, except of streams. Default: 5 minutes. Negative: no
	// limit.
	RequestTimeout time.Duration

	// StreamTimeout limits the time until a stream begins. Default: RequestTimeout. Negative:
	// no limit.
	StreamTimeout time.Duration

	// Backoffs are the delays between attempts; there is one attempt more than delays.
	// Default: [DefaultBackoffs].
	Backoffs iter.Seq[time.Duration]

	// EnforceRetryAfter takes the delay that the server asks for even if it is shorter than
	// the backoff. Otherwise the longer one of the two is taken.
	EnforceRetryAfter bool

	// UserAgent names the client to the server. Default: the program's name and "kopf".
	UserAgent string

	// Observe is called after every attempt, from the goroutine of the request, hence from
	// several at once; it should return at once.
	Observe func(Call)

	// Logger gets warnings of the server (once each) and retries. Default: discard.
	Logger *slog.Logger
}

// Call is one attempt of a request, for metrics and for the curious.
type Call struct {
	Method   string
	Verb     string // of the API: "get", "list", "watch", "create", "patch", "delete"
	Path     string // with the query
	Status   int    // zero if there was no response
	Err      error
	Duration time.Duration // until the response was read, or until a stream began
}

// Retry is a request that has failed, and is to be repeated.
type Retry struct {
	Attempt int // that has failed: 1, 2, …
	Err     error
	Delay   time.Duration // until the next one
}

// Client sends requests. There is no limit of requests per second: objects are handled
// as fast as the server lets.
type Client struct {
	source   Source
	options  ClientOptions
	warnings *warnings
	retrying func(Retry) // nil if nobody wants to know
}

// New makes a client.
func NewClient(source Source, options ClientOptions) *Client {
	if options.RequestTimeout == 0 {
		options.RequestTimeout = DefaultRequestTimeout
	}
	if options.StreamTimeout == 0 {
		options.StreamTimeout = options.RequestTimeout
	}
	if options.Backoffs == nil {
		options.Backoffs = DefaultBackoffs
	}
	if options.UserAgent == "" {
		options.UserAgent = filepath.Base(os.Args[0]) + " kopf (" + runtime.GOOS + "/" + runtime.GOARCH + ")"
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Client{source: source, options: options, warnings: new(warnings)}
}

// Telling returns a client of the same credentials that tells of each repetition of a
// request, from the goroutine of the request.
func (c *Client) Telling(retrying func(Retry)) *Client {
	out := *c
	out.retrying = retrying
	return &out
}

// WithoutRetries returns a client of the same credentials that makes one attempt for
// each request: for those who do not want to wait, or have retries of their own.
func (c *Client) WithoutRetries() *Client {
	out := *c
	out.options.Backoffs = func(func(time.Duration) bool) {}
	return &out
}
