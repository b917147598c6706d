"""Takes an order, and the mail about it with it: both are there afterwards, or neither is."""

import argparse

import outbox
import psycopg
from database import prepared

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("customer", nargs="?", default="ada@example.org")
parser.add_argument("item", nargs="?", default="a book")
wanted = parser.parse_args()

with psycopg.connect(prepared()) as connection:  # one transaction: it commits at the end, or not
    add = "insert into orders (customer, item) values (%s, %s) returning id"
    [order] = connection.execute(add, (wanted.customer, wanted.item)).fetchone()
    mail = outbox.NewDelivery(
        "mail", wanted.customer, {"text": f"Thank you for order {order}: {wanted.item}"}
    )
    [delivery] = outbox.enqueue_sync(connection, [mail])
print(f"order {order}, delivery {delivery}")
