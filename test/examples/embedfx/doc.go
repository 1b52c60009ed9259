// Command embedfx is Rowlock inside an fx app on the app's own SQLite pool: a
// sign-up writes the user and the welcome job in one transaction, a handler
// greets and enqueues the next job, and the app stops when all is done.
//
// It may import what a host would: the store it has chosen, bootstrap/rowlockfx
// and application/{enqueue,work,runner}.
package main
