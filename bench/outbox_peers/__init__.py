"""Job queues on PostgreSQL, each as a program that does one act: see protocol.py."""
