package observe

import (
	"log/slog"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// Limits, unless the options say otherwise.
const (
	DefaultQueueLimit = 1000
	DefaultWindow     = 10 * time.Minute
	DefaultBurst      = 25
	DefaultRefill     = 10 * time.Second
)

// Options of a poster. The zero value of each but Client means its default.
type PosterOptions struct {
	Client *kube.Client

	Namespace  string // where events about cluster-scoped objects go; "default"
	Component  string // who reports; "kopf"
	Instance   string // which one of them; "dev"
	NamePrefix string // of the events' names; "kopf-event-"

	QueueLimit int           // events that wait; 1000
	Window     time.Duration // since the last repetition, for one more to be counted as such; 10 minutes
	Burst      int           // requests for one object at once; 25
	Refill     time.Duration // time for one more; 10 seconds

	Logger *slog.Logger // for failures and drops; discarded if nil
}

// Stats counts since the start.
type PosterStats struct {
	Queued   int // at the moment
	Posted   int // events that are new
	Repeated int // repetitions that were counted on them
	Failed   int // events and repetitions that the cluster did not take
	Dropped  int // events that were never sent
}

// Poster posts events. [Poster.Run] must go on for them to get anywhere.
type Poster struct {
	options PosterOptions
	wake    chan struct{}

	mu      sync.Mutex
	queue   []*series
	recent  *lru[identity, *series]
	budgets *lru[ObjectReference, *budget]
	stats   PosterStats
	told    told
}

// identity is what makes an event a repetition.
type identity struct {
	about                 ObjectReference
	kind, reason, message string
}

// series is an event and its repetitions.
type series struct {
	identity
	first, last time.Time
	pending     int // occurrences that are not sent yet
	queued      bool

	name, namespace string // of the posted event; no name before that
	count           int    // that it has
}

// New makes a poster.
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
	// A minute of retries for one event would keep all others waiting.
	options.Client = options.Client.WithoutRetries()
	return &Poster{
		options: options,
		wake:    make(chan struct{}, 1),
		recent:  newLRU[identity, *series](remembered),
		budgets: newLRU[ObjectReference, *budget](remembered),
	}
}

// remembered bounds the events and the objects that are known as recent ones.
const remembered = 4096

// Post queues an event, or drops it. It never blocks. Events about events are silently
// ignored: who handles events would make more and more of them.
func (p *Poster) Post(about ObjectReference, content EventContent) {
	if about.AboutEvent() {
		return
	}
	id := identity{about, content.Type, content.Reason, CutMessage(content.Message)}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.recent.get(id)
	if known && content.At.Sub(s.last) > p.options.Window && s.pending == 0 {
		known = false
	}
	if !known {
		s = &series{identity: id, first: content.At}
	}
	if !s.queued {
		switch {
		case len(p.queue) >= p.options.QueueLimit:
			p.drop("the queue is full")
			return
		case p.budget(about, content.At).take(content.At):
			s.queued = true
			p.queue = append(p.queue, s)
			p.signal()
		case !known:
			p.drop("there are too many about one object")
			return
		}
	}
	// A repetition beyond the budget waits here for the next one within it.
	s.last = content.At
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
	default: // it is awake already
	}
}

// Stats counts what became of the events.
func (p *Poster) Stats() PosterStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Queued = len(p.queue)
	return stats
}
