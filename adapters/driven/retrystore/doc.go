// Package retrystore is the one decorator that retries: a store call that lost
// to others (deadlock, lock timeout, serialization failure) is made again after a
// short, random wait. Nothing was written by such a call, so to repeat it is safe.
// Calls in the host's own transaction are never repeated: only the host can.
//
// It may import domain and ports/driven; it must not know any store.
package retrystore
