package webhook

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// configFile is the content of a [Server].ConfigFile.
type configFile struct {
	URL      string `json:"url,omitempty"`
	Service  string `json:"service,omitempty"` // has the syntax of [ParseService]
	CABundle []byte `json:"caBundle,omitempty"`
	Lost     string `json:"lost,omitempty"`
}

// WriteFile writes the configuration to a file for [Server].ConfigFile. A concurrent reader gets either the old or
// the new content.
func (c ClientConfig) WriteFile(path string) (err error) {
	content := configFile{URL: c.URL, CABundle: c.CABundle, Lost: c.Lost}
	if c.Service != nil {
		content.Service = c.Service.String()
	}
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write the configuration of webhooks: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the configuration of webhooks: %w", err)
		}
	}()
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// readClientConfig reads a [Server].ConfigFile.
func readClientConfig(path string) (ClientConfig, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return ClientConfig{}, fmt.Errorf("read the configuration of webhooks: %w", err)
	}
	config, err := parseClientConfig(text)
	if err != nil {
		return ClientConfig{}, fmt.Errorf("read the configuration of webhooks %s: %w", path, err)
	}
	return config, nil
}

func parseClientConfig(text []byte) (ClientConfig, error) {
	var content configFile
	if err := json.Unmarshal(text, &content); err != nil {
		return ClientConfig{}, err
	}
	config := ClientConfig{URL: content.URL, CABundle: content.CABundle, Lost: content.Lost}
	if content.Service != "" {
		service, err := ParseService(content.Service)
		if err != nil {
			return ClientConfig{}, err
		}
		config.Service = &service
	}
	if len(config.CABundle) > 0 && !x509.NewCertPool().AppendCertsFromPEM(config.CABundle) {
		return ClientConfig{}, errors.New("caBundle has no certificate in PEM")
	}
	return config, config.Check()
}

// same reports whether two configurations are equal.
func (c ClientConfig) same(other ClientConfig) bool {
	service := func(c ClientConfig) string {
		if c.Service == nil {
			return ""
		}
		return c.Service.String()
	}
	return c.URL == other.URL && service(c) == service(other) && bytes.Equal(c.CABundle, other.CABundle) && c.Lost == other.Lost
}
