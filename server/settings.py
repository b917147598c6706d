"""Every setting, with its default and its environment variable."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from server.channels.mail import sender_of
from server.channels.signature import parse_secrets
from server.errors import SettingsError
from server.outbox import ConfigurationError, Policy, Retention
from server.outbox.policy import DAY_S

OFF = "off"


class Settings(BaseSettings):
    """The settings. Each is read from WORKERS_<NAME>, DATABASE_URL and REDIS_URL as they are.

    Spans are in seconds, unscaled: `policy()` gives them as they are used.
    """

    model_config = SettingsConfigDict(
        env_prefix="WORKERS_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    host: str = Field("127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    data_dir: Path = Field(
        Path(".data"), description="where the embedded servers and the files live"
    )
    site: Path = Field(Path("site"), description="the built site that is served")
    database_url: str | None = Field(
        None,
        validation_alias="DATABASE_URL",
        description="PostgreSQL to use; without it one is started from its wheel",
    )
    listen_url: str | None = Field(
        None,
        description="where workers listen for notifications, if DATABASE_URL leads to a pooler in "
        "transaction mode, which does not pass them on; 'off': nowhere, they only poll",
    )
    redis_url: str | None = Field(
        None,
        validation_alias="REDIS_URL",
        description="Redis or Valkey to use; without it a Valkey is started from its wheel",
    )
    queue_engine: Literal["redisq", "bullmq"] = Field(
        "redisq", description="what runs the jobs: our own queue, or the package bullmq"
    )
    queue_name: str = Field(
        "default",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="the queue of this server's jobs",
    )
    queue_concurrency: int = Field(
        4, ge=1, le=1000, description="jobs that one worker of it runs side by side"
    )
    picture_bytes: int = Field(
        16 * 2**20, ge=1, le=64 * 2**20, description="most bytes of a picture that is uploaded"
    )
    files_bytes: int = Field(
        256 * 2**20,
        ge=1,
        description="most bytes of all files that jobs read and write, in <data_dir>/files",
    )
    keep_files_hours: float = Field(24.0, gt=0, description="for how long such a file is kept")
    lab: Literal["auto", "on", "off"] = Field(
        "auto",
        description="whether the page of this origin may change state without a token; "
        "auto: only on loopback",
    )
    admin_token: SecretStr | None = Field(
        None, min_length=1, description="token that may look at deliveries and change state"
    )
    drain_token: SecretStr | None = Field(
        None, min_length=1, description="token that may start a drain, and nothing else"
    )
    jobs_token: SecretStr | None = Field(
        None, min_length=1, description="token that may wake jobs, and nothing else"
    )
    metrics_token: SecretStr | None = Field(
        None, min_length=1, description="token that may read the metrics, and nothing else"
    )
    log: Literal["auto", "console", "json"] = Field(
        "auto", description="form of the log; auto: console on a terminal, otherwise json"
    )
    database_wait_s: float = Field(
        3.0, gt=0, description="how long a request waits for a database that is away"
    )
    batch: int = Field(25, ge=1, le=1000, description="most deliveries that one claim takes")
    concurrency: int = Field(10, ge=1, le=1000, description="sends that run side by side")
    max_attempts: int = Field(5, ge=1, le=100, description="attempts before a delivery is dead")
    backoff_s: Annotated[tuple[float, ...], NoDecode] = Field(
        (30.0, 120.0, 480.0, 1920.0), description="pause after each failed attempt; comma-separated"
    )
    backoff_jitter: float = Field(0.1, ge=0, le=1, description="share by which a pause may grow")
    lease_s: float = Field(300.0, gt=0, description="how long a claim holds")
    send_timeout_s: float = Field(10.0, gt=0, description="how long a send may take")
    send_margin_s: float = Field(30.0, gt=0, description="what a lease must cover beyond a send")
    poll_s: float = Field(5.0, gt=0, description="longest sleep of an idle worker")
    stop_s: float = Field(
        20.0, gt=0, description="how long a worker that was told to stop finishes what it has begun"
    )
    statement_s: float = Field(
        20.0, gt=0, description="how long a worker waits for the database's answer; not scaled"
    )
    exchanges: int = Field(
        2,
        ge=1,
        le=2,
        description="claims of one worker under way at once, while there is a backlog",
    )
    breaker_failures: int = Field(
        5, ge=1, le=1000, description="failures in a row after which a channel is parked"
    )
    breaker_pause_s: float = Field(
        30.0, gt=0, description="for how long at first; it doubles while the channel's probes fail"
    )
    breaker_most_s: float = Field(1800.0, gt=0, description="and for how long at most")
    retry_after_most_s: float = Field(
        86_400.0, gt=0, description="longest pause that a receiver may ask for"
    )
    page_send_s: float = Field(0.05, ge=0, description="how long the channel 'page' takes to send")
    email_host: str | None = Field(
        None, min_length=1, description="SMTP server; without it there is no channel 'email'"
    )
    email_port: int | None = Field(
        None, ge=1, le=65535, description="its port; without it 25, 587 or 465 by email_tls"
    )
    email_tls: Literal["none", "starttls", "implicit"] = Field(
        "starttls", description="how the connection to it is encrypted; never less than said here"
    )
    email_user: str | None = Field(None, min_length=1, description="who logs in to it")
    email_password: SecretStr | None = Field(None, description="and with what")
    email_sender: str | None = Field(
        None, description="sender of every mail, as ada@example.org or Ada <ada@example.org>"
    )
    email_timeout_s: float = Field(30.0, gt=0, description="how long handing a mail over may take")
    email_concurrency: int = Field(
        4, ge=1, le=1000, description="mails that one worker hands over side by side"
    )
    webhook_secrets: SecretStr | None = Field(
        None,
        description="secrets to sign webhooks with, whsec_… and comma-separated, each signs; "
        "HOST=whsec_… is for that host only; without any there is no channel 'webhook'",
    )
    webhook_timeout_s: float = Field(15.0, gt=0, description="how long a webhook may take")
    webhook_concurrency: int = Field(
        10, ge=1, le=1000, description="webhooks that one worker sends side by side"
    )
    webhook_allow_private: bool = Field(
        default=False, description="whether webhooks may go to private and loopback addresses"
    )
    webhook_allow_http: bool = Field(
        default=False, description="whether webhooks may go without TLS"
    )
    time_scale: float = Field(1.0, gt=0, le=1, description="shortens every span above")
    jobs: Literal["on", "off"] = Field(
        "on", description="whether this server wakes jobs when they are due"
    )
    jobs_zone: str = Field("UTC", description="IANA time zone on whose clock cron lines are read")
    jobs_drain: bool | None = Field(
        None,
        description="whether the job 'drain' wakes every minute; without a word: where no worker "
        "runs beside the server",
    )
    lab_time_scale: float = Field(
        0.02, gt=0, le=1, description="the same for the lab's workers, in place of time_scale"
    )
    lab_workers: int = Field(4, ge=0, le=50, description="most workers that the lab has at a time")
    lab_worker_s: float = Field(900.0, gt=0, description="how long each may run; not scaled")
    lab_linger_s: float = Field(
        15.0,
        ge=0,
        description="how long those started from a page outlive the last one that watches",
    )
    keep_sent_days: float = Field(14.0, ge=0, description="for how long sent deliveries are kept")
    keep_ended_days: float = Field(
        90.0, ge=0, description="for how long failed and dead deliveries are kept"
    )

    @field_validator("database_url", "listen_url", mode="after")
    @classmethod
    def _readable(cls, value: str | None, info: ValidationInfo) -> str | None:
        if not value:
            return None
        if info.field_name == "listen_url" and value == OFF:
            return value
        try:
            conninfo_to_dict(value)
        except psycopg.ProgrammingError as error:
            raise ValueError(
                f"is no connection string ({str(error).strip()}); "
                "one looks like postgresql://user:password@host:5432/name"
            ) from error
        return value

    @field_validator("redis_url", mode="after")
    @classmethod
    def _a_server(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("is no such URL; one looks like redis://user:password@host:6379/0")
        return value

    @field_validator("admin_token", "drain_token", "jobs_token", "metrics_token", mode="after")
    @classmethod
    def _sendable(cls, value: SecretStr | None) -> SecretStr | None:
        token = "x" if value is None else value.get_secret_value()
        if not token.isprintable() or token != token.strip():
            raise ValueError(
                "cannot be sent in a header: it begins or ends with white space, as a file's line "
                "break, or holds a control character"
            )
        return value

    @field_validator("jobs_zone", mode="after")
    @classmethod
    def _zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("is no IANA time zone; one is Europe/Vienna") from error
        return value

    @field_validator("webhook_secrets", mode="after")
    @classmethod
    def _signing(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        parse_secrets(value.get_secret_value())
        return value

    @field_validator("email_sender", mode="after")
    @classmethod
    def _mailbox(cls, value: str | None) -> str | None:
        if value is not None:
            sender_of(value)
        return value

    @field_validator("backoff_s", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            self.policy()
            self.retention()
        except ConfigurationError as error:
            raise ValueError(str(error)) from error
        if self.listen_url is not None and self.database_url is None:
            raise ValueError("listen_url needs DATABASE_URL beside it: it is the same database")
        if self.page_send_s >= self.send_timeout_s:
            raise ValueError(
                f"WORKERS_PAGE_SEND_S ({self.page_send_s:g} s) must be less than "
                f"WORKERS_SEND_TIMEOUT_S ({self.send_timeout_s:g} s), or no send to the page "
                "would ever succeed"
            )
        if self.email_host is not None and self.email_sender is None:
            raise ValueError(
                "WORKERS_EMAIL_HOST needs WORKERS_EMAIL_SENDER beside it: every mail has a sender"
            )
        if (
            self.email_user is not None
            and self.email_tls == "none"
            and not is_loopback(self.email_host or "")
        ):
            raise ValueError(
                "WORKERS_EMAIL_USER with WORKERS_EMAIL_TLS none would send the password for all to "
                "read; use starttls or implicit"
            )
        return self

    def policy(self) -> Policy:
        """The outbox's policy with every span scaled."""
        return Policy(
            batch=self.batch,
            concurrency=self.concurrency,
            max_attempts=self.max_attempts,
            backoff_s=self.backoff_s,
            backoff_jitter=self.backoff_jitter,
            lease_s=self.lease_s,
            send_timeout_s=self.send_timeout_s,
            send_margin_s=self.send_margin_s,
            poll_s=self.poll_s,
            breaker_failures=self.breaker_failures,
            breaker_pause_s=self.breaker_pause_s,
            breaker_most_s=self.breaker_most_s,
            retry_after_most_s=self.retry_after_most_s,
            stop_s=self.stop_s,
            statement_s=self.statement_s,
            exchanges=self.exchanges,
        ).scaled(self.time_scale)

    def listen_conninfo(self, conninfo: str) -> str | None:
        """Where to listen for notifications if the database is at `conninfo`; None: not at all."""
        return None if self.listen_url == OFF else self.listen_url or conninfo

    def retention(self) -> Retention:
        """For how long the outbox keeps what has ended; the scale of time leaves it as it is."""
        return Retention(sent_s=self.keep_sent_days * DAY_S, ended_s=self.keep_ended_days * DAY_S)

    @property
    def on_loopback(self) -> bool:
        """Whether the server can be reached from this machine only."""
        return is_loopback(self.host)

    @property
    def lab_mode(self) -> bool:
        """Whether the page itself may change state without a token."""
        return self.lab == "on" or (self.lab == "auto" and self.on_loopback)


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine and nothing else."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load_settings(**overrides: object) -> Settings:
    """Reads the settings; overrides that are None do not count.

    Raises SettingsError, which names the environment variable and says what is wrong with it.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = []
        for fault in error.errors():
            name = ".".join(str(part) for part in fault["loc"])
            where = f"{_variable(name)}: " if name else ""
            lines.append(where + fault["msg"].removeprefix("Value error, "))
        raise SettingsError("; ".join(lines), exit_code=2) from error


def _variable(name: str) -> str:
    return name if name in {"DATABASE_URL", "REDIS_URL"} else f"WORKERS_{name.upper()}"
