"""A second list, written by somebody who had not seen the rules: 60 more kinds, each where it would really stand.

The values are drawn when the tests run, from a fixed seed; none of them was ever valid.
"""

# The parts are apart so that no scanner takes this file for a leak.

from __future__ import annotations

import base64
import random
import string

_random = random.Random(20_26)
_ALPHANUMERIC = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits
_URL_SAFE = _ALPHANUMERIC + "-_"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_WORDS = "wagon harvest copper dune velvet orbit maple silent ginger rocket fossil anchor"


def _a(length: int, alphabet: str = _ALPHANUMERIC) -> str:
    return "".join(_random.choice(alphabet) for _ in range(length))


def _h(length: int) -> str:
    return _a(length, _HEX)


def _u() -> str:
    return "-".join(map(_h, (8, 4, 4, 4, 12)))


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(length: int) -> bytes:
    return _random.randbytes(length)


_PEM = "-----BEGIN " + "PRIVATE KEY-----"

SECRETS = {
    # ------------------------------------------------------------ tokens of issuers
    "GitHub refresh token": "refresh_token: gh" + "r_" + _a(76),
    "GitLab trigger token": "curl -X POST -F token=glp" + "tt-" + _h(40) + " https://gitlab.example.com/api/v4/x",
    "Bitbucket repository token": "x-token-auth:AT" + "CTT3xFfGN0" + _a(170, _URL_SAFE) + "=" + _h(8).upper(),
    "Sourcegraph": "SRC_ACCESS_TOKEN=sg" + "p_" + _h(16) + "_" + _h(40),
    "Buildkite agent": "agent-token: bk" + "ct_" + _a(40),
    "Honeycomb": "x-honeycomb-team: hca" + "ik_" + _a(58, _LOWER),
    "Dynatrace": "We send metrics with dt0" + "c01." + _a(24, _UPPER) + "." + _a(64, _UPPER),
    "Opsgenie header": "Authorization: Genie" + "Key " + _u(),
    "Okta header": "Authorization: SS" + "WS 00" + _a(40, _URL_SAFE),
    "Elastic API key header": '"Authorization": "Api' + "Key " + _b64(f"{_a(20)}:{_a(22)}".encode()) + '"',
    "Influx token header": "Authorization: To" + "ken " + _b64(_bytes(64)),
    "Contentful": "CF" + "PAT-" + _a(43, _URL_SAFE),
    "Typeform": "typeform: tf" + "p_" + _a(44) + "_" + _a(14),
    "Readme": "rd" + "me_xn8s9h" + _h(64),
    "EasyPost": 'easypost.api_key = "EZ' + "AK" + _h(32) + _a(22) + '"',
    "Flutterwave": "FLW" + "SECK-" + _h(32) + "-X",
    "Duffel": "duff" + "el_live_" + _a(43, _URL_SAFE),
    "Shippo": "shipp" + "o_live_" + _h(40),
    "Plaid access token": "acc" + "ess-production-" + _u(),
    "Razorpay secret": "RAZORPAY_KEY_" + "SECRET=" + _a(24),
    "Paddle": "pdl_" + "live_apikey_" + _a(26, _LOWER) + "_" + _a(22) + "_" + _a(3),
    "Prefect": "PREFECT_API_KEY=pn" + "u_" + _a(36),
    "Polar": "polar_" + "oat_" + _a(43),
    "Render": "rn" + "d_" + _a(28),
    "Deno Deploy": "deployctl deploy --token=dd" + "p_" + _a(36),
    "Clojars": "CLO" + "JARS_" + _h(60),
    "Yandex": "Api-Key AQ" + "VN" + _a(36, _URL_SAFE),
    "IBM Cloud": "ibmcloud login --apikey " + _a(44, _URL_SAFE),
    "AWS Bedrock": "AWS_BEARER_TOKEN_BEDROCK=AB" + "SK" + _b64(_bytes(99)),
    "Amazon MWS": "am" + "zn.mws." + _u(),
    "Twitch": "oau" + "th:" + _a(30, _LOWER),
    "Cerebras": "cs" + "k-" + _a(48, _LOWER),
    "Langfuse": "LANGFUSE_SECRET_KEY=sk-" + "lf-" + _u(),
    "Firecrawl": "the crawler runs with f" + "c-" + _h(32),
    "Jina": "jin" + "a_" + _h(32) + _a(28),
    "E2B": "e2" + "b_" + _h(40),
    "Inngest": "signkey-" + "prod-" + _h(64),
    "Convex deploy key": "CONVEX_DEPLOY_KEY='prod:happy-otter-123|" + _b64(_bytes(40)) + "'",
    "Ably key": "new Ably.Realtime('" + _a(6) + "." + _a(6) + ":" + _a(43, _URL_SAFE) + "')",
    "Firebase server key": "Authorization: key=AA" + "AA" + _a(7) + ":APA" + "91b" + _a(134, _URL_SAFE),
    "Teams webhook": "https://acme.webhook." + f"office.com/webhookb2/{_u()}@{_u()}/IncomingWebhook/{_h(32)}/{_u()}",
    "Cloudinary": "CLOUDINARY_URL=cloud" + "inary://" + _a(15, string.digits) + ":" + _a(27, _URL_SAFE) + "@acme",
    # ------------------------------------------------------------ files that hold keys
    "service account": '  "private_key": "' + _PEM + "\\n" + _b64(_bytes(48)) + '\\n",',
    "kubeconfig": "    client-key-data: " + _b64(f"-----BEGIN RSA {'PRIVATE'} KEY-----\n".encode() + _bytes(90)),
    "kubeadm": "kubeadm join 10.0.0.7:6443 --to" + f"ken {_a(6, _LOWER)}.{_a(16, _LOWER)} --v=5",
    "k3s node token": "K1" + "0" + _h(64) + "::server:" + _h(32),
    "PuTTY key": "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n" + _b64(_bytes(36)),
    "Bitcoin key": "import this one: " + "L" + _random.choice("12345") + _a(50, _BASE58),
    "wallet words": "seed phrase: " + _WORDS,
    "netrc": "machine git.example.com login ana password " + _a(14),
    "pgpass": "db.example.com:5432:shop:ana:" + _a(12),
    "shadow": "ana:$6$" + _a(12) + "$" + _a(86, _ALPHANUMERIC + "./") + ":19700:0:99999:7:::",
    # ------------------------------------------------------------ commands and prose
    "sqlcmd": "sqlcmd -S db.example.com -U sa -P " + _a(11) + "!",
    "openssl": "openssl rsa -in key.pem -passin pa" + "ss:" + _a(10),
    "keytool": "keytool -list -keystore app.jks -storep" + "ass " + _a(9),
    "cifs": "mount -t cifs //nas/share /mnt -o username=ana,pass" + "word=" + _a(10),
    "Kafka": 'sasl.jaas.config=org.apache.kafka.Login required username="app" pass' + f'word="{_a(12)}";',
    "German prose": "Das Passwort lautet " + _a(8) + "!7",
    "French prose": "Le mot de passe est " + _a(8) + "!7",
    "login pair": "Log in to staging as ana / " + _a(9) + "!3 (password)",
}
