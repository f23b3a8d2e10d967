package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// parallelScans limits the parallel requests to old servers, which need one request for each version of each group.
const parallelScans = 10

// Discovery is the resources that a cluster serves.
type Discovery struct {
	Resources []resources.Resource // sorted by group, version, name

	// Failed holds the errors of groups or group versions, usually because their extension server is down. All other
	// groups are complete.
	Failed map[string]error
}

// Discover returns the resources of a cluster. If groups are given, it only reads these groups, which is cheaper; "" is
// the core group. A group that does not exist is not an error, because it may appear later.
func (c *Client) Discover(ctx context.Context, groups ...string) (Discovery, error) {
	s := &scan{client: c, failed: make(map[string]error), slots: make(chan struct{}, parallelScans)}
	var tasks []func(context.Context) error
	switch {
	case len(groups) == 0:
		tasks = append(tasks, s.everyGroup, s.core)
	default:
		for _, group := range slices.Compact(slices.Sorted(slices.Values(groups))) {
			if group == "" {
				tasks = append(tasks, s.core)
				continue
			}
			tasks = append(tasks, func(ctx context.Context) error { return s.oneGroup(ctx, group) })
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, len(tasks))
	for i, task := range tasks {
		wg.Go(func() { errs[i] = task(ctx) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return Discovery{}, err // the other groups usually fail with the same error
		}
	}
	sort.Slice(s.found, func(i, j int) bool {
		a, b := &s.found[i], &s.found[j]
		return a.Group+" "+a.Version+" "+a.Plural < b.Group+" "+b.Version+" "+b.Plural
	})
	return Discovery{Resources: s.found, Failed: s.failed}, nil
}

// scan collects the resources of parallel requests.
type scan struct {
	client *Client
	slots  chan struct{}

	mu     sync.Mutex
	found  []resources.Resource
	failed map[string]error
}

func (s *scan) add(found ...resources.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, found...)
}

func (s *scan) fail(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[what] = err
}

// document fetches a document, which must have a member.
func (s *scan) document(ctx context.Context, path, member string, into any) error {
	return s.fetch(ctx, path, "", func(body []byte, _ http.Header) error { return decode(body, member, into) })
}

// root fetches a root document. A server without aggregated documents returns the list of names, which must have a
// member.
func (s *scan) root(ctx context.Context, path, member string, names any) (all *aggregated, err error) {
	err = s.fetch(ctx, path, acceptAggregated, func(body []byte, header http.Header) error {
		all = nil
		if !strings.Contains(header.Get("Content-Type"), aggregatedKind) {
			return decode(body, member, names)
		}
		all = new(aggregated)
		return decode(body, "items", all)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (s *scan) fetch(ctx context.Context, path, accept string, read func(body []byte, header http.Header) error) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.client.fetch(ctx, Request{
		Method: http.MethodGet, Path: path, Accept: accept,
		// If the server of one group is down, the other groups must not wait for it.
		anyAnswer: strings.Count(path, "/") > 1,
	}, read)
}

// decode decodes a document, which must have a member. Otherwise an unexpected document would decode as an empty
// list, and all resources would count as deleted.
func decode(body []byte, member string, into any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	if _, ok := members[member]; !ok {
		return fmt.Errorf("the document has no %s", member)
	}
	return json.Unmarshal(body, into)
}

// everyGroup adds all groups but the core group.
func (s *scan) everyGroup(ctx context.Context) error {
	var names groupList
	all, err := s.root(ctx, "/apis", "groups", &names)
	if err != nil {
		return err
	}
	if all != nil {
		s.addAggregated(all)
		return nil
	}
	var wg sync.WaitGroup
	for _, group := range names.Groups {
		wg.Go(func() { s.versions(ctx, group) })
	}
	wg.Wait()
	return ctx.Err()
}

// core adds the core group.
func (s *scan) core(ctx context.Context) error {
	var names struct{ Versions []string }
	all, err := s.root(ctx, "/api", "versions", &names)
	if err != nil {
		return err
	}
	if all != nil {
		s.addAggregated(all)
		return nil
	}
	for i, version := range names.Versions {
		if err := s.version(ctx, "", version, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// oneGroup adds a group by its own documents, which are small.
func (s *scan) oneGroup(ctx context.Context, name string) error {
	var group groupVersions
	err := s.document(ctx, "/apis/"+name, "versions", &group)
	switch {
	case Classify(err) == NotFound:
		return nil
	case err != nil && !isAnswer(err):
		return err // the cluster is unreachable
	case err != nil:
		s.fail(name, err)
		return nil
	}
	s.versions(ctx, group)
	return ctx.Err()
}

// versions adds all versions of a group.
func (s *scan) versions(ctx context.Context, group groupVersions) {
	for _, v := range group.Versions {
		preferred := v.Version == group.PreferredVersion.Version
		if err := s.version(ctx, group.Name, v.Version, preferred); err != nil && Classify(err) != NotFound {
			s.fail(group.Name+"/"+v.Version, err)
		}
	}
}

// version adds one version of a group.
func (s *scan) version(ctx context.Context, group, version string, preferred bool) error {
	path := "/apis/" + group + "/" + version
	if group == "" {
		path = "/api/" + version
	}
	var list resourceList
	if err := s.document(ctx, path, "resources", &list); err != nil {
		return err
	}
	s.add(list.resources(group, version, preferred)...)
	return nil
}
