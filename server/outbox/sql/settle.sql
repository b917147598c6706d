-- Writes the outcomes of a batch, each under its fence, and answers every one with a verdict.
-- The statement stands in the function (schema.sql), where PostgreSQL keeps its plan.
select id, attempt, verdict, status, current_attempt
  from notifications.settle(%(ids)s, %(attempts)s, %(statuses)s, %(errors)s, %(delays_s)s,
                            %(codes)s, %(provider_ids)s, %(holder)s)
