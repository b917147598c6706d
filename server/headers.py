"""The security headers that every response carries, whatever produced it."""

from __future__ import annotations

from typing import cast

from secure import (
    ContentSecurityPolicy,
    CrossOriginEmbedderPolicy,
    CrossOriginOpenerPolicy,
    CrossOriginResourcePolicy,
    ReferrerPolicy,
    Secure,
    XContentTypeOptions,
)
from secure.middleware import SecureASGIMiddleware
from starlette.types import ASGIApp


def secure_headers() -> Secure:
    """The policy: nothing from elsewhere, WebAssembly allowed, isolated from other origins."""
    policy = (
        ContentSecurityPolicy()
        .default_src("'self'")
        .script_src("'self'", "'wasm-unsafe-eval'")
        .style_src("'self'")
        .img_src("'self'", "blob:", "data:")
        .connect_src("'self'")
        .worker_src("'self'")
        .object_src("'none'")
        .base_uri("'none'")
        .form_action("'self'")
        .frame_ancestors("'none'")
    )
    return Secure(
        csp=policy,
        coop=CrossOriginOpenerPolicy().same_origin(),
        coep=CrossOriginEmbedderPolicy().require_corp(),
        corp=CrossOriginResourcePolicy().same_origin(),
        xcto=XContentTypeOptions().nosniff(),
        referrer=ReferrerPolicy().no_referrer(),
    )


def with_secure_headers(app: ASGIApp) -> ASGIApp:
    """The application with the headers on every response, errors and files included.

    Stands outside the application, so that a 500 that its own machinery writes has them too.
    """
    # Its type says `object` where ASGI says what is passed.
    return cast("ASGIApp", SecureASGIMiddleware(app, secure=secure_headers(), multi_ok=()))
