// Package schedules keeps recurring jobs: it declares those of this process, adds the
// job of every tick that has come, and lets an operator look at them and change them.
// Any number of processes do so at once and none leads: a tick is moved on by one
// guarded write, with its job in the same transaction.
//
// What becomes of a schedule at a moment is the domain's to say (domain.Schedule.Plan);
// here is the loop around it. It may import domain and ports and must not know runners
// or handlers.
package schedules
