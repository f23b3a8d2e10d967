// Package evidence holds the engine, as its users see it, to what Kopf for Python does:
// to its recorded runs, to objects that it has left half-way, and to its promises under
// crashes and other trouble. All of it happens on a real control plane.
package evidence
