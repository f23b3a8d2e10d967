package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// watch calls the function for each line of the stream of changes, from now on, until
// the context ends. It returns as soon as the stream is open. Whatever ends it, those who
// wait for its lines have a limit of their own.
func (a *api) watch(ctx context.Context, namespace string, line func([]byte)) error {
	text, err := a.do(ctx, http.MethodGet, objects(namespace, "")+"?limit=1", "", nil)
	if err != nil {
		return err
	}
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	version := list.Metadata.ResourceVersion
	body, err := a.openWatch(ctx, namespace, version)
	if err != nil {
		return err
	}
	go func() {
		for {
			version = readLines(body, version, line)
			_ = body.Close() // it has ended anyway
			// The server ends streams as it likes, such as soon after a definition was made.
			if body, err = a.openWatch(ctx, namespace, version); err != nil {
				return
			}
		}
	}()
	return nil
}

func (a *api) openWatch(ctx context.Context, namespace, version string) (io.ReadCloser, error) {
	response, err := a.send(ctx, http.MethodGet, objects(namespace, "")+"?watch=1&resourceVersion="+version, "", nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// readLines reads to the end, and returns the version from which to go on.
func readLines(stream io.Reader, version string, line func([]byte)) string {
	reader := bufio.NewReaderSize(stream, 64<<10)
	for {
		text, err := reader.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return version
		}
		if seen := objectVersion(text); seen != "" {
			version = seen
		}
		line(text)
	}
}

func objectName(text []byte) string { return member(text, `"name":"`) }

func objectVersion(text []byte) string { return member(text, `"resourceVersion":"`) }

// member finds a member of an object's metadata without decoding the text, since that
// would take time from what is measured. In text within text, quotes have backslashes.
func member(text []byte, key string) string {
	_, rest, _ := bytes.Cut(text, []byte(key))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
