-- Every attempt of a delivery, oldest first: the one that runs, and refused late writes too.
select attempt, holder, claimed_at, ended_at, outcome, class as settle_class, error, provider_id,
       verdict
  from notifications.attempts
 where delivery_id = %(id)s
 order by attempt, entry
