// Package etcd runs an etcd server inside this process.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

const (
	// startTimeout is for reading the data of a large cluster; an empty one takes 0.1 s.
	startTimeout = 30 * time.Second
	// stopGrace is what open streams get. After it the process may end as well: every
	// write that was acknowledged is in the log.
	stopGrace = 200 * time.Millisecond
	// socketName is relative to the working directory, because the paths of sockets
	// are limited to about 100 characters, and those of data directories are not.
	socketName = "etcd.sock"
	// segmentSize of the log; upstream preallocates twice 64 MB.
	segmentSize = 4 << 20
	quota       = 2 << 30
	maxRequest  = 8 << 20
)

// Server is a running etcd.
type Server struct{ etcd *embed.Etcd }

// Start runs etcd on a socket in the directory, which becomes the working directory.
func Start(ctx context.Context, dir string) (*Server, error) {
	if err := os.Chdir(dir); err != nil {
		return nil, fmt.Errorf("entering the data directory: %w", err)
	}
	// A process that was killed leaves its socket.
	if err := os.Remove(socketName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing the old socket: %w", err)
	}
	wal.SegmentSizeBytes = segmentSize
	e, err := embed.StartEtcd(config(dir))
	if err != nil {
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	s := &Server{etcd: e}
	select {
	case <-e.Server.ReadyNotify():
		return s, nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(startTimeout):
		err = fmt.Errorf("not ready within %s", startTimeout)
	}
	s.Stop()
	return nil, fmt.Errorf("starting etcd: %w", err)
}

func config(dir string) *embed.Config {
	c := embed.NewConfig()
	c.Name = "default"
	c.Dir = filepath.Join(dir, "etcd")
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Host: socketName}}
	// The other URLs are required and never used: there are no peers, and the only client
	// knows the socket.
	c.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "localhost:2379"}}
	c.ListenPeerUrls = nil
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "localhost:2380"}}
	c.InitialCluster = c.Name + "=http://localhost:2380"
	// A single member elects itself after ElectionMs, for which upstream takes a second.
	c.TickMs, c.ElectionMs = 10, 100
	// What is lost in a crash of the machine (not of the process) is a developer's
	// cluster; waiting for the disk would cost every write some milliseconds.
	c.UnsafeNoFsync = true
	c.QuotaBackendBytes = quota
	c.MaxRequestBytes = maxRequest
	c.Logger = "zap"
	c.LogLevel = "error"
	c.LogOutputs = []string{filepath.Join(dir, "etcd.log")}
	return c
}

// Endpoint is the URL for the API server of this process.
func (s *Server) Endpoint() string { return "unix://" + socketName }

// Failed receives the error that ends the server by itself.
func (s *Server) Failed() <-chan error { return s.etcd.Err() }

// Stop ends the server.
func (s *Server) Stop() {
	stopped := make(chan struct{})
	go func() {
		s.etcd.Close()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(stopGrace):
	}
}
