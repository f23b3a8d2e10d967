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
	"time"
)

// watch calls the function for each line of a watch until the context is cancelled. It returns
// when the watch is open. If the watch fails for good later, those who wait for its lines run into
// their own limits.
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
		return fmt.Errorf("list the objects: %w", err)
	}
	return a.watchFrom(ctx, namespace, list.Metadata.ResourceVersion, line)
}

// watchFrom is watch from a resourceVersion on. If it is empty, the watch begins with the objects that exist.
func (a *api) watchFrom(ctx context.Context, namespace, version string, line func([]byte)) error {
	body, err := a.openWatch(ctx, namespace, version)
	if err != nil {
		return err
	}
	go func() {
		for {
			version = readLines(body, version, line)
			_ = body.Close() // the stream has ended
			// The server may end a watch at any time, for example after a change of the CRD, and be busy then.
			for {
				if body, err = a.openWatch(ctx, namespace, version); err == nil {
					break
				}
				if sleep(ctx, reopenDelay) != nil {
					return
				}
			}
		}
	}()
	return nil
}

// reopenDelay is the time until another attempt to open a watch that has ended.
const reopenDelay = 200 * time.Millisecond

func (a *api) openWatch(ctx context.Context, namespace, version string) (io.ReadCloser, error) {
	response, err := a.send(ctx, http.MethodGet, objects(namespace, "")+"?watch=1&resourceVersion="+version, "", nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// readLines reads the stream to its end and returns the resourceVersion to continue from.
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

// member returns a field of the object's metadata. It does not decode the text, to save CPU time
// of the measurement. Quotes in nested JSON are escaped, so nested fields do not match.
func member(text []byte, key string) string {
	_, rest, _ := bytes.Cut(text, []byte(key))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
