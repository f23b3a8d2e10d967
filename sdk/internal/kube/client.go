package kube

import (
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// DefaultRequestTimeout is how long one attempt of a request may take.
const DefaultRequestTimeout = time.Minute

// DefaultBackoffs are the delays between attempts, about a minute in total.
var DefaultBackoffs = slices.Values([]time.Duration{
	1 * time.Second, 1 * time.Second, 2 * time.Second, 3 * time.Second,
	5 * time.Second, 8 * time.Second, 13 * time.Second, 21 * time.Second,
})

// maxRedirects is the maximum number of redirects of a request that the client follows.
const maxRedirects = 10

// ClientOptions configure a client. The zero value of each field means its default.
type ClientOptions struct {
	// RequestTimeout limits one attempt at a request other than a watch. A list may take five times as
	// long. Defaults to 60s; there is no limit if it is negative.
	RequestTimeout time.Duration

	// AnswerTimeout limits the time until the response to a watch or a list begins. Defaults to
	// RequestTimeout; there is no limit if it is negative.
	AnswerTimeout time.Duration

	// Backoffs are the delays between attempts; there is one more attempt than delays.
	// Defaults to [DefaultBackoffs].
	Backoffs iter.Seq[time.Duration]

	// EnforceRetryAfter uses the delay of the server's Retry-After even if it is shorter than
	// the backoff. Otherwise the longer of the two is used.
	EnforceRetryAfter bool

	// UserAgent is the User-Agent header. Defaults to the program's name, "kopf", and the
	// platform.
	UserAgent string

	// Observe is called after every attempt, in the goroutine of the request. It must be safe for concurrent use.
	// Optional.
	Observe func(Call)

	// Logger logs each warning of the server once, and when retries start and end. Defaults to no logs.
	Logger *slog.Logger
}

// Call is a finished attempt at a request, for metrics and logs.
type Call struct {
	Method   string
	Verb     string // API verb: "get", "list", "watch", "create", "patch", "delete"
	Path     string // path with the query
	Status   int    // 0 if there was no response
	Repeated bool   // an earlier attempt at the same request failed
	Err      error
	Duration time.Duration // time until the response was read, or until a stream started

	Resource    *resources.Resource // resource of the objects in the path; nil for other paths
	Subresource string
}

// Retry is a failed attempt that the client repeats.
type Retry struct {
	Err   error
	Delay time.Duration // delay before the next attempt
}

// Client sends requests, without a limit per second. It is safe for concurrent use.
type Client struct {
	source    Source
	following *http.Client // follows redirects
	options   ClientOptions
	userAgent []string // the header's values
	warnings  *warnings
	outages   *outages
	retrying  func(Retry) // optional
}

// NewClient returns a client that gets its sessions from a source.
func NewClient(source Source, options ClientOptions) *Client {
	if options.RequestTimeout == 0 {
		options.RequestTimeout = DefaultRequestTimeout
	}
	if options.AnswerTimeout == 0 {
		options.AnswerTimeout = options.RequestTimeout
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
	return &Client{
		source: source, options: options, userAgent: []string{options.UserAgent}, warnings: new(warnings), outages: new(outages),
		following: &http.Client{Transport: &reloginTransport{source: source, base: anyServer}, CheckRedirect: sameMethod},
	}
}

// sameMethod follows redirects that keep the method. Other redirects would turn a PATCH into a GET, whose response
// looks as if the patch was applied.
func sameMethod(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method || len(via) >= maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// WithRetryHook returns a client with the same source that calls retrying before each retry, in the goroutine of the
// request, instead of logging the first retry.
func (c *Client) WithRetryHook(retrying func(Retry)) *Client {
	out := *c
	out.retrying = retrying
	return &out
}

// WithoutRetries returns a client of the same source that attempts each request once.
func (c *Client) WithoutRetries() *Client {
	out := *c
	out.options.Backoffs = func(func(time.Duration) bool) {}
	return &out
}
