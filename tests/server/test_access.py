"""Who may change state."""

import inspect

import pytest
from pydantic import SecretStr

from server import access
from server.app import create_app
from server.errors import SettingsError
from server.settings import Settings, load_settings
from tests.server.conftest import listening

BODY = {"payload": {"text": "x"}}


async def _post(client, **headers: str) -> tuple[int, dict[str, object]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await client.post("/api/deliveries", json=BODY, headers=named)
    return response.status_code, response.json()


def _origin(client) -> str:
    return str(client.base_url).rstrip("/")


async def test_the_right_token_passes(client):
    """From anywhere, whatever the browser says of the origin."""
    assert (await _post(client, authorization="Bearer s3cret", origin="https://a.example"))[
        0
    ] == 202


@pytest.mark.parametrize("token", ["s3cre", "s3crett", "S3cret", "s3cret\xe9"])
async def test_a_wrong_token_is_forbidden_even_to_the_page(client, token):
    """It is never taken for no token."""
    response = await client.post(
        "/api/deliveries",
        json=BODY,
        headers=[
            (b"authorization", f"Bearer {token}".encode("latin-1")),
            (b"origin", _origin(client).encode()),
        ],
    )
    assert response.status_code == 403


@pytest.mark.parametrize("token", ["g\xe4nsef\xfc\xdfchen", "\N{SNOWMAN}", "two words", "a=b&c"])
async def test_any_token_that_can_be_set_can_be_sent(settings, database, token):
    """As its bytes in UTF-8, which is what a shell makes of it."""
    own = settings.model_copy(update={"admin_token": SecretStr(token)})
    async with listening(create_app(own, database)) as client:
        given = [(b"authorization", b"Bearer " + token.encode())]
        assert (await client.get("/api/channels", headers=given)).status_code == 200


@pytest.mark.parametrize("name", ["admin_token", "drain_token", "metrics_token"])
@pytest.mark.parametrize("token", ["s3cret\n", " s3cret", "s3\tcret", "s3\0cret", ""], ids=ascii)
def test_a_token_that_cannot_be_sent_is_refused_at_start(name, token):
    """It would lock everybody out, and nobody would see why."""
    with pytest.raises(SettingsError, match=f"WORKERS_{name.upper()}") as refused:
        load_settings(**{name: token})
    assert "cret" not in str(refused.value)


async def test_the_page_itself_passes_in_lab_mode(client):
    """Same origin by either header, or by both."""
    assert (await _post(client, origin=_origin(client)))[0] == 202
    assert (await _post(client, sec_fetch_site="same-origin"))[0] == 202
    assert (await _post(client, origin=_origin(client), sec_fetch_site="same-origin"))[0] == 202


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"origin": "SELF", "sec_fetch_site": "cross-site"},
        {"origin": "https://evil.example", "sec_fetch_site": "same-origin"},
        {"origin": "http://evil.example", "host": "evil.example", "sec_fetch_site": "same-origin"},
        {"host": "evil.example", "sec_fetch_site": "same-origin"},
        {"host": "127.0.0.1.evil.example", "sec_fetch_site": "same-origin"},
        {"host": "[", "sec_fetch_site": "same-origin"},
    ],
    ids=str,
)
async def test_others_need_the_token(client, headers):
    """No word on the origin, a foreign one, or a foreign name that leads here (rebinding)."""
    sent = {k: _origin(client) if v == "SELF" else v for k, v in headers.items()}
    status, problem = await _post(client, **sent)
    assert status == 401
    assert "token" in str(problem["detail"])


async def test_localhost_is_loopback_too(client):
    """The name, with the port, as a browser sends it."""
    port = client.base_url.port
    host = f"localhost:{port}"
    assert (await _post(client, host=host, origin=f"http://{host}"))[0] == 202


@pytest.mark.parametrize("options", [{"lab": "off"}, {"host": "::"}], ids=str)
async def test_without_lab_mode_the_page_needs_the_token(site, module_database, options):
    """Lab mode is off by choice, or because others can reach the server."""
    settings = Settings(site=site, DATABASE_URL=module_database, admin_token="s3cret", **options)
    async with listening(create_app(settings, module_database)) as client:
        assert (await _post(client, origin=_origin(client)))[0] == 401
        assert (await _post(client, authorization="Bearer s3cret"))[0] == 202


async def test_no_token_set_means_no_token_passes(site, module_database):
    """An empty or absent token in the settings opens nothing."""
    settings = Settings(site=site, DATABASE_URL=module_database, lab="off")
    async with listening(create_app(settings, module_database)) as client:
        for token in ("None", "null", "x"):
            assert (await _post(client, authorization=f"Bearer {token}"))[0] == 403
        assert (await _post(client))[0] == 401


def test_tokens_are_compared_in_constant_time():
    """How long a refusal takes says nothing about the token."""
    source = inspect.getsource(access)
    assert source.count("hmac.compare_digest") == 1
    assert "credentials ==" not in source
    assert "token ==" not in source
