package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// pulse is what several renewals have in common: those of one claim are one write.
type pulse struct {
	token domain.Token
	stuck bool
}

// Renew writes one update for each claim that the tickets come from.
func (s *store) Renew(ctx context.Context, req driven.RenewRequest) (answer driven.Renewed, err error) {
	err = s.do(ctx, "renew", func(ctx context.Context, now int64) error {
		t, err := s.bulk(ctx, s.jobs, renewals(&req, now+ms(req.Lease)))
		switch {
		case err != nil || t.matched == int64(len(req.Tickets)):
			return err
		case t.contended != nil:
			return t.contended
		}
		answer.Lost, err = s.lost(ctx, req.Tickets)
		return err
	})
	return answer, err
}

func renewals(req *driven.RenewRequest, until int64) (writes []mongo.WriteModel) {
	var order []pulse
	ids := map[pulse][]key{}
	for _, t := range req.Tickets {
		p := pulse{t.Ticket.Token, t.Stuck}
		if len(ids[p]) == 0 {
			order = append(order, p)
		}
		ids[p] = append(ids[p], key(t.Ticket.ID))
	}
	for _, p := range order {
		var ch change
		ch.put("wake_at", until)
		if ch.drop("stuck"); p.stuck {
			ch.unset = nil
			ch.put("stuck", 1)
		}
		for _, part := range chunks(ids[p], small) {
			filter := bson.D{among(part), {Key: "token", Value: key(p.token)}, {Key: "state", Value: domain.Running}}
			writes = append(writes, mongo.NewUpdateManyModel().SetFilter(filter).SetUpdate(ch.update()))
		}
	}
	return writes
}

// lost gives the tickets that no longer hold their job.
func (s *store) lost(ctx context.Context, tickets []driven.Renewal) (lost []domain.JobID, err error) {
	holders := make(map[key]key, len(tickets))
	for _, part := range chunks(tickets, small) {
		ids := make([]key, len(part))
		for i := range part {
			ids[i] = key(part[i].Ticket.ID)
		}
		filter := bson.D{among(ids), {Key: "state", Value: domain.Running}}
		rows, err := readAll(ctx, s.jobs, filter, options.Find().SetBatchSize(writeBound).SetProjection(bson.D{{Key: "token", Value: 1}}))
		if err != nil {
			return nil, err
		}
		for i := range rows {
			holders[rows[i].ID] = rows[i].Token
		}
	}
	for _, t := range tickets {
		if holder, held := holders[key(t.Ticket.ID)]; !held || holder != key(t.Ticket.Token) || t.Ticket.Token.IsZero() {
			lost = append(lost, t.Ticket.ID)
		}
	}
	return lost, nil
}
