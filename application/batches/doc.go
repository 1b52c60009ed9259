// Package batches is for sets of jobs with a callback that is enqueued once, when all
// of them have ended: as a list, by a function that adds them, or open, sealed by its
// id from any process. It also looks at batches, seals and forgets them.
//
// It may import domain, ports and application/enqueue, since a batch is an enqueue:
// its members and its callback are judged by the client. It must not know who runs
// the jobs. How a batch ends it does not decide: the store derives that.
package batches
