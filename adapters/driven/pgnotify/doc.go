// Package pgnotify wakes runners of other processes through PostgreSQL's LISTEN
// and NOTIFY, on connections of its own beside the store's pool: one that listens
// while somebody does, and one that sends, which goes when nothing was sent for a
// while. Who hints in a transaction of their own gets the statement for it (Hint). A
// hint may be lost: polling alone is correct.
//
// It may import domain, the ports and pgx, and must not know any store.
package pgnotify
