// Package zaplog writes the events of Rowlock to a zap logger, a line each.
//
// It may import domain, ports/driven and zap, and must not know who emits the
// events. What an event does not carry cannot be logged: args never appear.
package zaplog
