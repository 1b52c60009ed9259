package pgstore

import "github.com/rowlock/rowlock/adapters/driven/bunstore"

// setTexts are the statements of batches and schedules that run all the time.
func setTexts(d *bunstore.Dialect) map[string]string {
	return map[string]string{
		"batch_join":     d.Marks.Compile(bunstore.JoinText(d)).Text,
		"batch_own":      d.Marks.Compile(bunstore.OwnBatchText(d)).Text,
		"batch_ready":    d.Marks.Compile(bunstore.ReadyBatchesText(d)).Text,
		"batch_live":     d.Marks.Compile(bunstore.LiveMemberText(d)).Text,
		"batch_finish":   d.Marks.Compile(bunstore.FinishText(d)).Text,
		"batch_over":     d.Marks.Compile(bunstore.OverText(d, false)).Text,
		"batch_callback": d.Marks.Compile(bunstore.LiveText(d)).Text,
		"batch_later":    d.Marks.Compile(bunstore.LaterText(d)).Text,
		"schedule_first": d.Marks.Compile(bunstore.FirstTicksText(d)).Text,
		"schedule_due":   d.Marks.Compile(bunstore.DueSchedulesText(d)).Text,
		"schedule_later": d.Marks.Compile(bunstore.LaterTickText(d)).Text,
		"schedule_move":  d.Marks.Compile(bunstore.MoveText(d, false)).Text,
		"schedule_fire":  d.Marks.Compile(bunstore.MoveText(d, true)).Text,
		"schedule_lock":  d.Marks.Compile(bunstore.LockSchedulesText(d)).Text,
	}
}
