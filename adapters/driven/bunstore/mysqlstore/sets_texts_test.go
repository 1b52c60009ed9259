package mysqlstore

import "github.com/rowlock/rowlock/adapters/driven/bunstore"

// setTexts are the statements of batches and schedules that run all the time.
func setTexts(d *bunstore.Dialect) map[string]bunstore.Stmt {
	return map[string]bunstore.Stmt{
		"batch_join":     d.Marks.Compile(bunstore.JoinText(d)),
		"batch_own":      d.Marks.Compile(bunstore.OwnBatchText(d)),
		"batch_ready":    d.Marks.Compile(bunstore.ReadyBatchesText(d)),
		"batch_live":     d.Marks.Compile(bunstore.LiveMemberText(d)),
		"batch_finish":   d.Marks.Compile(bunstore.FinishText(d)),
		"batch_over":     d.Marks.Compile(bunstore.OverText(d, false)),
		"batch_callback": d.Marks.Compile(bunstore.LiveText(d)),
		"batch_later":    d.Marks.Compile(bunstore.LaterText(d)),
		"schedule_first": d.Marks.Compile(bunstore.FirstTicksText(d)),
		"schedule_due":   d.Marks.Compile(bunstore.DueSchedulesText(d)),
		"schedule_later": d.Marks.Compile(bunstore.LaterTickText(d)),
		"schedule_move":  d.Marks.Compile(bunstore.MoveText(d, false)),
		"schedule_fire":  d.Marks.Compile(bunstore.MoveText(d, true)),
		"schedule_lock":  d.Marks.Compile(bunstore.LockSchedulesText(d)),
	}
}
