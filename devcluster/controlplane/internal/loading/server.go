package loading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Socket is the name of the socket in the data directory. Like etcd's, it is relative to the working directory.
const Socket = "load.sock"

// The most keys and bytes of one transaction of etcd, whose own limits are 128 and 8 MB.
const (
	batchKeys  = 100
	batchBytes = 1 << 20
)

// Store stores values under their keys, all of them or none.
type Store interface {
	Put(ctx context.Context, values map[string][]byte) error
}

// Listen listens on the socket, which only this user can use.
func Listen() (net.Listener, error) {
	if err := os.Remove(Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.Listen("unix", Socket)
	if err != nil {
		return nil, fmt.Errorf("listen for objects to load: %w", err)
	}
	if err := os.Chmod(Socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect the socket: %w", err), l.Close())
	}
	return l, nil
}

// Run serves requests on the listener until the context is cancelled. The body of a request has JSON objects, whose resource
// is in the query as group and resource. Objects replace those of the same name. The answer is 204, or a text with the reason
// why some of the objects are not stored.
func Run(ctx context.Context, l net.Listener, store Store) error {
	server := &http.Server{Handler: handler(store), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serve returns its error
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve objects to load: %w", err)
	}
	return nil
}

func handler(store Store) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := schema.GroupResource{Group: r.URL.Query().Get("group"), Resource: r.URL.Query().Get("resource")}
		if r.Method != http.MethodPost || resource.Resource == "" {
			http.Error(w, "post objects to ?group=GROUP&resource=PLURAL", http.StatusBadRequest)
			return
		}
		if err := load(r.Context(), store, resource, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func load(ctx context.Context, store Store, resource schema.GroupResource, body io.Reader) error {
	batch, size := map[string][]byte{}, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := store.Put(ctx, batch); err != nil {
			return fmt.Errorf("store objects of %s: %w", resource, err)
		}
		clear(batch)
		size = 0
		return nil
	}
	for decoder := json.NewDecoder(body); ; {
		var object json.RawMessage
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return flush()
		}
		if err != nil {
			return fmt.Errorf("read objects of %s: %w", resource, err)
		}
		key, value, err := stored(resource, object)
		if err != nil {
			return err
		}
		batch[key] = value
		if size += len(value); size >= batchBytes || len(batch) == batchKeys {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}
