package engine

// oldOperator is what the files of the cycle use of the operator until they have deps.
type oldOperator struct {
	*deps
	memories *memories
	invoker  *invoker
	detached *detachedDaemons
	said     onces
	ensemble oldServers
}

type oldServers struct {
	streams  *streams
	operator *oldOperator
}

func newProcessor(d *deps, m *memories, detached *detachedDaemons, i *invoker, s *streams) *oldOperator {
	o := &oldOperator{deps: d, memories: m, detached: detached, invoker: i}
	o.ensemble = oldServers{s, o}
	return o
}

func (s oldServers) server(key string) *server {
	res := s.streams.served(key)
	if res == nil {
		return nil
	}
	return s.of(res)
}

func (s oldServers) of(res *servedResource) *server {
	return &server{
		oldOperator: s.operator, resource: res.resource, handlers: res.handlers, extraFields: res.extraFields,
		owned: res.changing, indexed: res.indexes, onlyIndexed: res.onlyIndexed,
	}
}
