package k3d

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// The files of a cluster's directory.
const (
	recordFile     = "cluster.json"
	kubeconfigFile = "kubeconfig"
)

// record is what kopf knows about a cluster that it has created.
type record struct {
	Name    string `json:"name"`
	Project string `json:"project,omitempty"`
	// Endpoint and Engine are the address and the identity of the engine.
	Endpoint string `json:"endpoint"`
	Engine   string `json:"engine"`
	// Usable is false from before the first container is created until the cluster was usable.
	Usable   bool      `json:"usable"`
	Created  time.Time `json:"created"`
	Started  time.Time `json:"started"`
	Image    string    `json:"image"`
	Server   string    `json:"server"`
	Version  string    `json:"version,omitempty"`
	HostIP   string    `json:"hostIP,omitempty"`
	Registry int       `json:"registry,omitempty"` // the port of the registry, or 0
}

func (b *Backend) dir(name string) string { return filepath.Join(b.root, name) }

func (b *Backend) kubeconfig(name string) string { return filepath.Join(b.dir(name), kubeconfigFile) }

// read returns a record. The error is [fs.ErrNotExist] if there is none.
func (b *Backend) read(name string) (record, error) {
	path := filepath.Join(b.dir(name), recordFile)
	body, err := os.ReadFile(path)
	if err != nil {
		return record{}, fmt.Errorf("read the record of the cluster %s: %w", name, err)
	}
	var r record
	if err := json.Unmarshal(body, &r); err != nil {
		return record{}, fmt.Errorf("read the record of the cluster %s in %s: %w", name, path, err)
	}
	r.Name = name
	return r, nil
}

// write stores a record.
func (b *Backend) write(r record) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of the cluster %s: %w", r.Name, err)
	}
	if err := writePrivate(filepath.Join(b.dir(r.Name), recordFile), append(body, '\n')); err != nil {
		return fmt.Errorf("write the record of the cluster %s: %w", r.Name, err)
	}
	return nil
}

// writePrivate replaces a file that only the user may read. It is never half written.
func writePrivate(path string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// forget deletes the record and the kubeconfig. The record goes first: without it, there is no
// cluster.
func (b *Backend) forget(name string) error {
	err := os.Remove(filepath.Join(b.dir(name), recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, os.RemoveAll(b.dir(name))); err != nil {
		return fmt.Errorf("delete the record of the cluster %s: %w", name, err)
	}
	return nil
}

// records returns all records.
func (b *Backend) records() ([]record, error) {
	entries, err := os.ReadDir(b.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the records of k3d clusters: %w", err)
	}
	var all []record
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		r, err := b.read(entry.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is being created or deleted
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// info describes the cluster of a record.
func (b *Backend) info(r record, state devcluster.State) devcluster.Info {
	i := devcluster.Info{
		Name: r.Name, Provider: devcluster.K3d, State: state, Project: r.Project,
		Server: r.Server, Version: r.Version, Image: r.Image, Dir: b.dir(r.Name),
	}
	if r.Usable {
		i.Kubeconfig, i.Context = b.kubeconfig(r.Name), contextName(r.Name)
	}
	if !r.Started.IsZero() {
		i.Started = &r.Started
	}
	if r.Registry != 0 {
		i.Registry = fmt.Sprintf("127.0.0.1:%d", r.Registry)
		i.RegistryHost = registryHost(r.Name)
	}
	return i
}

// shortHash returns a few digits that distinguish names.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}
