"""Which channels a server has, and what its settings refuse."""

import base64

import pytest

from server.channels.signature import parse_secrets
from server.composition import CHANNELS, check_payload
from server.database import new_pool
from server.errors import SettingsError
from server.outbox import Policy
from server.outbox.policy import affordable
from server.settings import Settings, load_settings
from tests.server.conftest import NOWHERE

FIRST, SECOND = (b"whsec_" + base64.b64encode(key * 24) for key in (b"a", b"b"))
FIRST, SECOND = FIRST.decode(), SECOND.decode()


def set_up(**given):
    """The channels that these settings make, by name."""
    pool = new_pool(NOWHERE)
    made = {
        known.name: known.from_settings(Settings(**given), pool.connection) for known in CHANNELS
    }
    return {name: channel for name, channel in made.items() if channel is not None}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, {"page"}),
        ({"webhook_secrets": FIRST}, {"page", "webhook"}),
        ({"webhook_secrets": ""}, {"page"}),
        (
            {"email_host": "mail.example.org", "email_sender": "a@example.org"},
            {"email", "page"},
        ),
    ],
    ids=["plain", "secret", "empty", "mail"],
)
def test_a_server_has_the_channels_that_are_set_up(given, names):
    """Deliveries for the others wait for a worker that has them."""
    assert set(set_up(**given)) == names


def test_every_channel_scales_its_time_out():
    """A demonstration shortens every span."""
    channels = set_up(
        webhook_secrets=FIRST,
        email_host="mail.example.org",
        email_sender="a@example.org",
        time_scale=0.1,
    )
    assert channels["webhook"].policy.send_timeout_s == pytest.approx(15 * 1.25 * 0.1)
    assert channels["email"].policy.send_timeout_s == pytest.approx(30 * 1.25 * 0.1)


def test_every_channel_fits_into_a_drain_of_fifty_seconds():
    """That is how long a platform's cron lets one run, and a send must fit into it."""
    channels = set_up(
        webhook_secrets=FIRST, email_host="mail.example.org", email_sender="a@example.org"
    )
    figures = [Policy().of_channel(channel) for channel in channels.values()]
    assert len(figures) == 3
    assert affordable(Policy(), figures, left_s=50) >= 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"webhook_secrets": "s3cret-thing"}, "WORKERS_WEBHOOK_SECRETS.*secret 1 must begin"),
        ({"webhook_secrets": f"{FIRST},whsec_s3cret-thing"}, "secret 2 must be base64"),
        ({"webhook_secrets": "whsec_czNjcmV0"}, "secret 1 must have 24 to 64 bytes, not 6"),
        ({"email_host": "mail.example.org"}, "WORKERS_EMAIL_HOST needs WORKERS_EMAIL_SENDER"),
        ({"email_sender": "Ada"}, "WORKERS_EMAIL_SENDER.*no address"),
        ({"email_sender": "=?utf-8?q?Ada?= <a@example.org>"}, "encoded form"),
        ({"email_sender": "Ada <a@example.org>\r\nBcc: b@example.org"}, "control character"),
        (
            {
                "email_host": "mail.example.org",
                "email_sender": "a@example.org",
                "email_tls": "none",
                "email_user": "ada",
            },
            "for all to read",
        ),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(given, said):
    """With the variable's name, and without the secret."""
    with pytest.raises(SettingsError, match=said) as refused:
        load_settings(**given)
    assert "s3cret" not in str(refused.value) + str(refused.value.__cause__)
    assert "czNjcmV0" not in str(refused.value) + str(refused.value.__cause__)


def test_secrets_belong_to_all_hosts_or_to_one():
    """In the order in which they are given; a host with its own has no others."""
    secrets = parse_secrets(f"{FIRST}, {SECOND} ,Hooks.example.org={SECOND}")
    assert secrets.for_host("other.example.org") == [b"a" * 24, b"b" * 24]
    assert secrets.for_host("hooks.example.org") == [b"b" * 24]
    assert "a" * 24 not in repr(secrets)


@pytest.mark.parametrize(
    ("channel", "recipient", "payload", "fields"),
    [
        ("fax", "x", {}, ["channel"]),
        ("page", "x", {}, ["payload.text"]),
        ("page", "x", {"text": "x", "more": 1}, ["payload.more"]),
        ("email", "x", {"subject": "x"}, ["recipient", "payload.text"]),
        ("webhook", "ftp://x", {}, ["recipient"]),
    ],
)
def test_what_no_channel_could_send_is_refused_by_field(channel, recipient, payload, fields):
    """All of them, not only the first."""
    assert [fault.field for fault in check_payload(channel, recipient, payload)] == fields


@pytest.mark.parametrize(
    ("channel", "recipient", "payload"),
    [
        ("page", "page", {"text": "x"}),
        ("email", "ada@example.org", {"subject": "x", "text": "x"}),
        ("webhook", "https://hooks.example.org", {}),
    ],
)
def test_what_a_channel_can_try_is_taken(channel, recipient, payload):
    """Whether or not this very server has the channel: a worker elsewhere may."""
    assert check_payload(channel, recipient, payload) == []


def test_the_names_of_the_channels_are_their_own():
    """No two channels share one."""
    assert len({known.name for known in CHANNELS}) == len(CHANNELS)
