// Package wire holds Kubernetes objects as they came from the API: the JSON text and
// the few marks the engine looks at for every event. The text is decoded into a tree
// only for whoever asks, because most objects that arrive are never looked into: a
// decoded tree takes about seven times the memory of its text.
package wire
