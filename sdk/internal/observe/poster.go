package observe

import (
	"log/slog"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// Defaults of [PosterOptions].
const (
	DefaultQueueLimit = 1000
	DefaultWindow     = 10 * time.Minute
	DefaultBurst      = 25
	DefaultRefill     = 10 * time.Second
)

// PosterOptions are the options of [NewPoster]. Only Client is required.
type PosterOptions struct {
	Client *kube.Client

	Namespace  string // namespace of events about cluster-scoped objects; defaults to "default"
	Component  string // reporting component; defaults to "kopf"
	Instance   string // reporting instance; defaults to "dev"
	NamePrefix string // prefix of the events' names; defaults to "kopf-event-"

	QueueLimit int           // maximum number of waiting events; defaults to 1000
	Window     time.Duration // an event that recurs within this time counts as repeated; defaults to 10m
	Burst      int           // maximum number of requests of one object at once; defaults to 25
	Refill     time.Duration // time until one more request is allowed; defaults to 10s

	Logger *slog.Logger // logs failures and drops; nil discards them
}

// PosterStats counts events since the start.
type PosterStats struct {
	Queued   int // number of events that wait
	Posted   int // number of posted new events
	Repeated int // number of repetitions that were added to the count of a posted event
	Failed   int // number of events that the API server rejected
	Dropped  int // number of events that were never sent
}

// Poster posts Kubernetes events while [Poster.Run] runs. It is safe for concurrent use.
type Poster struct {
	options PosterOptions
	wake    chan struct{}

	mu      sync.Mutex
	queue   []*series
	recent  *lru[content, *series]
	budgets *lru[ObjectReference, *budget]
	stats   PosterStats
	warned  warned
}

// content is the part of an event that must be equal for two events to count as repetitions.
type content struct {
	about                 ObjectReference
	kind, reason, message string
}

// series is an event with its repetitions.
type series struct {
	content
	first, last time.Time
	pending     int // number of unsent occurrences
	queued      bool

	name, namespace string // name and namespace of the posted event; empty before it is posted
	count           int    // count in the posted event
}

// NewPoster returns a poster.
func NewPoster(options PosterOptions) *Poster {
	if options.QueueLimit <= 0 {
		options.QueueLimit = DefaultQueueLimit
	}
	if options.Window <= 0 {
		options.Window = DefaultWindow
	}
	if options.Burst <= 0 {
		options.Burst = DefaultBurst
	}
	if options.Refill <= 0 {
		options.Refill = DefaultRefill
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	// The client must not retry, because all other events would wait for up to a minute.
	options.Client = options.Client.WithoutRetries()
	return &Poster{
		options: options,
		wake:    make(chan struct{}, 1),
		recent:  newLRU[content, *series](remembered),
		budgets: newLRU[ObjectReference, *budget](remembered),
	}
}

// remembered is the number of recent events, and of recent objects, that the poster keeps.
const remembered = 4096

// Post queues an event or drops it. It never blocks. It ignores events about events, because an operator that handles events
// would post more and more events.
func (p *Poster) Post(about ObjectReference, event EventContent) {
	if about.AboutEvent() {
		return
	}
	id := content{about, event.Type, event.Reason, CutMessage(event.Message)}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.recent.get(id)
	if known && event.At.Sub(s.last) > p.options.Window && s.pending == 0 {
		known = false
	}
	if !known {
		s = &series{content: id, first: event.At}
	}
	if !s.queued {
		switch {
		case len(p.queue) >= p.options.QueueLimit:
			p.drop("the queue is full")
			return
		case p.budget(about, event.At).take(event.At):
			s.queued = true
			p.queue = append(p.queue, s)
			p.signal()
		case !known:
			p.drop("there are too many about one object")
			return
		}
	}
	// A repetition beyond the budget waits for the next repetition within the budget.
	s.last = event.At
	s.pending++
	if !known {
		p.recent.put(id, s)
	}
}

func (p *Poster) budget(about ObjectReference, now time.Time) *budget {
	b, ok := p.budgets.get(about)
	if !ok {
		b = &budget{burst: p.options.Burst, refill: p.options.Refill, left: p.options.Burst, since: now}
		p.budgets.put(about, b)
	}
	return b
}

func (p *Poster) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // the goroutine of Run is already awake
	}
}

// Stats returns the current counts.
func (p *Poster) Stats() PosterStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Queued = len(p.queue)
	return stats
}
