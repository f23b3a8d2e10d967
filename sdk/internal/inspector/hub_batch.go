package inspector

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// maxObjectsPerMessage limits the objects in one message, so that neither side holds the text of ten
// thousand objects at once.
const maxObjectsPerMessage = 500

// batch is a part of the hub's state, taken under its mutex. Objects are pointers, so that the time
// under the mutex does not grow with their size.
type batch struct {
	all      bool // a complete snapshot
	revision uint64

	operator  *inspect.Operator
	handlers  []inspect.Handler
	served    *inspect.Served
	indices   []inspect.Index
	admission *inspect.Admission
	reviews   []inspect.Review
	objects   []*inspect.Object
	gone      []inspect.Ref
	log       []inspect.LogLine
	dropped   int
	bye       *string
}

// batchOfAll takes everything. The caller holds the mutex.
func (h *Hub) batchOfAll() batch {
	b := h.batchAfter(0)
	b.all, b.gone = true, nil
	operator, served := h.operator, h.served
	b.operator, b.served, b.handlers, b.indices = &operator, &served, h.handlersNow(), slices.Clone(h.indices)
	b.admission = h.admission
	b.log, _ = h.log.after(0)
	b.reviews, _ = h.reviews.after(0)
	return b
}

// batchAfter returns the changes after the revision, except for the log and the reviews. The caller holds the mutex.
func (h *Hub) batchAfter(revision uint64) batch {
	b := batch{revision: h.revision}
	if h.operatorRev > revision {
		operator := h.operator
		b.operator = &operator
	}
	if h.handlersRev > revision {
		b.handlers = h.handlersNow()
	}
	if h.servedRev > revision {
		served := h.served
		b.served = &served
	}
	if h.indicesRev > revision {
		b.indices = slices.Clone(h.indices)
	}
	if h.admissionRev > revision {
		b.admission = h.admission
	}
	for e := h.changes.prev; e != &h.changes && e.revision > revision; e = e.prev {
		if e.object == nil {
			b.gone = append(b.gone, e.ref)
		} else {
			b.objects = append(b.objects, e.object)
		}
	}
	return b
}

func (b *batch) snapshot() *inspect.Snapshot {
	s := &inspect.Snapshot{
		Version:  inspect.Version,
		Revision: b.revision,
		Operator: *b.operator,
		Handlers: b.handlers,
		Served:   b.served.Resources,
		Unserved: b.served.Unserved,
		Reviewed: b.served.Reviewed,
		Indices:  b.indices,
		Objects:  append([]*inspect.Object{}, b.objects...), // never null
		Log:      b.log,

		Admission: b.admission,
		Reviews:   b.reviews,
	}
	return s
}

// messages returns the messages of the batch. The operator comes after the objects, so that its
// statements about all objects are never ahead of them.
func (b *batch) messages() []inspect.Message {
	var list []inspect.Message
	if b.all {
		list = append(list, inspect.Message{Snapshot: b.snapshot()})
	} else {
		list = b.changes()
	}
	if b.bye != nil {
		list = append(list, inspect.Message{Bye: b.bye})
	}
	for i := range list {
		list[i].Revision = b.revision
		list[i].More = i < len(list)-1
	}
	return list
}

func (b *batch) changes() []inspect.Message {
	var list []inspect.Message
	if b.served != nil {
		list = append(list, inspect.Message{Served: b.served})
	}
	if b.handlers != nil {
		list = append(list, inspect.Message{Handlers: b.handlers})
	}
	if b.indices != nil {
		list = append(list, inspect.Message{Indices: b.indices})
	}
	if b.admission != nil {
		list = append(list, inspect.Message{Admission: b.admission})
	}
	if len(b.reviews) > 0 {
		list = append(list, inspect.Message{Reviews: b.reviews})
	}
	if len(b.gone) > 0 {
		list = append(list, inspect.Message{Gone: b.gone})
	}
	for rest := b.objects; len(rest) > 0; {
		n := min(maxObjectsPerMessage, len(rest))
		list = append(list, inspect.Message{Objects: rest[:n]})
		rest = rest[n:]
	}
	if len(b.log) > 0 || b.dropped > 0 {
		list = append(list, inspect.Message{Log: b.log, Dropped: b.dropped})
	}
	if b.operator != nil {
		list = append(list, inspect.Message{Operator: b.operator})
	}
	return list
}
