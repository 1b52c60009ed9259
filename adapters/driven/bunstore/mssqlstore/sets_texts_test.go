package mssqlstore

import "github.com/rowlock/rowlock/adapters/driven/bunstore"

// setTexts are the statements of batches and schedules that run all the time.
func setTexts(d *bunstore.Dialect) map[string]string {
	return map[string]string{
		"batch_join":     bunstore.JoinText(d),
		"batch_own":      bunstore.OwnBatchText(d),
		"batch_ready":    bunstore.ReadyBatchesText(d),
		"batch_live":     bunstore.LiveMemberText(d),
		"batch_finish":   bunstore.FinishText(d),
		"batch_over":     bunstore.OverText(d, false),
		"batch_callback": bunstore.LiveText(d),
		"batch_later":    bunstore.LaterText(d),
		"schedule_first": bunstore.FirstTicksText(d),
		"schedule_due":   bunstore.DueSchedulesText(d),
		"schedule_later": bunstore.LaterTickText(d),
		"schedule_move":  bunstore.MoveText(d, false),
		"schedule_fire":  bunstore.MoveText(d, true),
		"schedule_lock":  bunstore.LockSchedulesText(d),
	}
}
