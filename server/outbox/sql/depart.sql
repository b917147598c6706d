-- Says that a worker has ended.
delete from notifications.workers where holder = %(holder)s
