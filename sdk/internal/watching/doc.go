// Package watching follows the objects of one resource: it lists them, then streams
// their changes, and goes on through whatever happens to the stream. The protocol is that
// of client-go's reflector; there is no cache of objects behind it. Every interruption is
// told, and none is silent: a stream that brings nothing, not even a bookmark, is taken
// for dead.
package watching
