package observe

import "container/list"

// lru is a map with a limit that forgets its least recently used items.
type lru[K comparable, V any] struct {
	limit int
	items map[K]*list.Element
	order *list.List // items, most recently used first
}

type lruItem[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, items: make(map[K]*list.Element), order: list.New()}
}

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	element, ok := l.items[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(element)
	return element.Value.(*lruItem[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	l.remove(key)
	l.items[key] = l.order.PushFront(&lruItem[K, V]{key, value})
	if len(l.items) > l.limit {
		l.remove(l.order.Back().Value.(*lruItem[K, V]).key)
	}
}

func (l *lru[K, V]) remove(key K) {
	if element, ok := l.items[key]; ok {
		l.order.Remove(element)
		delete(l.items, key)
	}
}
