// Package httpjob is the built-in kind "http": one HTTP request a job, e.g. a
// webhook.
//
// Args are a JSON object: url, and if wanted method, headers, body, expect and
// timeout. What the answer means is in answer.go, which addresses may be
// reached is in guard.go.
//
// It may import domain and ports/driven and must not know who stores or runs
// the job. No error of it holds headers, a query, a body or an answer's text.
package httpjob
