"""Job queues on Redis, each as a program that does one act: see bench/outbox_peers/protocol.py."""
