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

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

const (
	// startTimeout bounds the start with the data of a large cluster; an empty one takes 0.1 s.
	startTimeout = 30 * time.Second
	// stopGrace is how long open streams may take to end. Then the process may exit, because
	// all acknowledged writes are in the log.
	stopGrace = 200 * time.Millisecond
	// socketName is relative to the working directory, because the path of a socket is
	// limited to about 100 characters.
	socketName = "etcd.sock"
	// segmentSize is the size of a segment of the log. The default preallocates twice 64 MB.
	segmentSize = 4 << 20
	quota       = 2 << 30
	maxRequest  = 8 << 20
)

// Server is a running etcd.
type Server struct{ etcd *embed.Etcd }

// Start starts etcd on a socket in the directory, and makes that the working directory.
func Start(ctx context.Context, dir string) (*Server, error) {
	if err := os.Chdir(dir); err != nil {
		return nil, fmt.Errorf("enter the data directory: %w", err)
	}
	// A killed process leaves its socket behind.
	if err := os.Remove(socketName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	wal.SegmentSizeBytes = segmentSize
	e, err := embed.StartEtcd(config(dir))
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
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
	return nil, fmt.Errorf("start etcd: %w", err)
}

func config(dir string) *embed.Config {
	c := embed.NewConfig()
	c.Name = "default"
	c.Dir = filepath.Join(dir, "etcd")
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Host: socketName}}
	// The other URLs are required but unused: there are no peers, and the only client uses
	// the socket.
	c.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "localhost:2379"}}
	c.ListenPeerUrls = nil
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "localhost:2380"}}
	c.InitialCluster = c.Name + "=http://localhost:2380"
	// A single member elects itself after ElectionMs, by default a second.
	c.TickMs, c.ElectionMs = 10, 100
	// Without fsync, a crash of the machine, but not of the process, may lose data. In
	// exchange, every write of a development cluster is some milliseconds faster.
	c.UnsafeNoFsync = true
	c.QuotaBackendBytes = quota
	c.MaxRequestBytes = maxRequest
	c.Logger = "zap"
	c.LogLevel = "error"
	c.LogOutputs = []string{filepath.Join(dir, "etcd.log")}
	return c
}

// Endpoint returns the URL for the API server of this process.
func (s *Server) Endpoint() string { return "unix://" + socketName }

// Put stores values under their keys, all of them or none. It can be called while the API server runs, whose watches
// deliver the values.
func (s *Server) Put(ctx context.Context, values map[string][]byte) error {
	txn := &pb.TxnRequest{}
	for key, value := range values {
		put := &pb.PutRequest{Key: []byte(key), Value: value}
		txn.Success = append(txn.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put}})
	}
	if _, err := s.etcd.Server.Txn(ctx, txn); err != nil {
		return fmt.Errorf("write to etcd: %w", err)
	}
	return nil
}

// Failed returns a channel that receives the error if the server fails.
func (s *Server) Failed() <-chan error { return s.etcd.Err() }

// Stop stops the server.
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
