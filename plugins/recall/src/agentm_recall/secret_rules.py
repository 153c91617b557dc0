"""What secrets look like: a small set of rules of our own.

Why not a library: detect-secrets brings an HTTP client and a second YAML library into every installation, scans files
rather than text, and its entropy checks call every hash a secret; gitleaks and its kin are not Python. A memory needs
less and needs it exact: formats whose prefix or structure leaves no doubt, and assignments to names like `password`.
Each rule has a planted example in the tests, and the tests hold the rules silent on hashes, UUIDs and example keys.

A rule is tried only where one of its `words` occurs in the lower-cased text, so that most rules cost nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret. A group called `value`, where there is one, is the part that must not be a placeholder."""

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    needs_variety: bool = False
    """Whether the shape alone proves nothing: the value must also look random."""


def _rule(name: str, words: str, pattern: str, *, needs_variety: bool = False) -> Rule:
    return Rule(name, tuple(words.split()), re.compile(pattern), needs_variety)


_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9_])"

FORMATS = (
    _rule("AWS access key id", "akia asia", rf"{_START}(?:AKIA|ASIA)[A-Z2-7]{{16}}{_END}"),
    _rule(
        "AWS secret access key",
        "aws",
        r"(?i)aws.{0,30}?(?:secret|access).{0,20}?[=:]\s*[\"']?(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _rule("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_START}gh[pousr]_[A-Za-z0-9]{{36,255}}{_END}"),
    _rule("GitHub fine-grained token", "github_pat_", rf"{_START}github_pat_[A-Za-z0-9_]{{60,255}}{_END}"),
    _rule("GitLab token", "glpat- glrt- gldt- glptt-", rf"{_START}gl(?:pat|rt|dt|ptt)-[A-Za-z0-9_-]{{20,64}}{_END}"),
    _rule("Slack token", "xox", rf"{_START}xox[abeoprs]-(?:\d+-)?[A-Za-z0-9-]{{20,250}}{_END}"),
    _rule("Slack app token", "xapp-", rf"{_START}xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{{32,}}{_END}"),
    _rule("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/T\w+/[AB]\w+/[\w/]{20,}"),
    _rule("Stripe key", "sk_live_ rk_live_", rf"{_START}[sr]k_live_[A-Za-z0-9]{{20,250}}{_END}"),
    _rule("Stripe webhook secret", "whsec_", rf"{_START}whsec_[A-Za-z0-9+/]{{24,}}={{0,2}}"),
    _rule("OpenAI key", "sk-", rf"{_START}sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{{40,250}}{_END}"),
    _rule("OpenAI key", "t3blbkfj", rf"{_START}sk-[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}{_END}"),
    _rule("Anthropic key", "sk-ant-", rf"{_START}sk-ant-[a-z0-9]{{2,12}}-[A-Za-z0-9_-]{{60,250}}{_END}"),
    _rule("Google API key", "aiza", rf"{_START}AIza[A-Za-z0-9_-]{{35}}{_END}"),
    _rule("Google OAuth client secret", "gocspx-", rf"{_START}GOCSPX-[A-Za-z0-9_-]{{28}}{_END}"),
    _rule("Google OAuth token", "ya29.", rf"{_START}ya29\.[A-Za-z0-9_-]{{40,}}"),
    _rule("Firebase messaging key", "apa91b", rf"{_START}AAAA[A-Za-z0-9_-]{{7}}:APA91b[A-Za-z0-9_-]{{60,}}"),
    _rule(
        "Azure storage key",
        "accountkey sharedaccesskey",
        r"(?i)(?:account|sharedaccess)key=(?P<value>[A-Za-z0-9+/]{43,88}={1,2})",
    ),
    _rule(
        "Azure client secret", "8q~ 7q~ 9q~", rf"{_START}[A-Za-z0-9_~.-]{{3}}[789]Q~[A-Za-z0-9_~.-]{{31,34}}{_END}"
    ),
    _rule("Azure shared access signature", "sig=", r"[?&]sig=(?P<value>[A-Za-z0-9%]{43,}(?:%3[Dd]|=))"),
    _rule("SendGrid key", "sg.", rf"{_START}SG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}{_END}"),
    _rule("Twilio key", "sk", rf"{_START}SK[0-9a-f]{{32}}{_END}"),
    _rule("Mailgun key", "key-", rf"(?<![\w-])key-[0-9a-f]{{32}}{_END}"),
    _rule("Mailchimp key", "-us", rf"{_START}[0-9a-f]{{32}}-us\d{{1,2}}{_END}"),
    _rule("npm token", "npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
    _rule(
        "npm registry password",
        "_authtoken _password",
        r"(?m)(?:^|:)_(?:authToken|password)=(?P<value>[^\s${}]{20,})",
    ),
    _rule("PyPI token", "pypi-ageichlwas", rf"{_START}pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{{50,}}"),
    _rule("RubyGems token", "rubygems_", rf"{_START}rubygems_[0-9a-f]{{48}}{_END}"),
    _rule("Docker Hub token", "dckr_pat_", rf"{_START}dckr_pat_[A-Za-z0-9_-]{{27,}}"),
    _rule("Hugging Face token", "hf_", rf"{_START}hf_[A-Za-z]{{34,40}}{_END}"),
    _rule("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", rf"{_START}do[por]_v1_[0-9a-f]{{64}}{_END}"),
    _rule("Heroku key", "hrku-", rf"{_START}HRKU-[A-Za-z0-9_-]{{36,}}"),
    _rule("Shopify token", "shp", rf"{_START}shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}{_END}"),
    _rule(
        "Square token",
        "sq0 eaaa",
        rf"{_START}(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{{22,43}}|EAAA[A-Za-z0-9_-]{{60}}){_END}",
    ),
    _rule("Telegram bot token", ":aa", rf"{_START}\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_END}"),
    _rule(
        "Discord token", ".", rf"{_START}[MNO][A-Za-z\d_-]{{23,25}}\.[A-Za-z\d_-]{{6}}\.[A-Za-z\d_-]{{27,38}}{_END}"
    ),
    _rule("Discord webhook", "discord", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,}"),
    _rule("Facebook token", "eaac", rf"{_START}EAAC[A-Za-z0-9]{{80,}}"),
    _rule("Linear key", "lin_api_", rf"{_START}lin_api_[A-Za-z0-9]{{40}}{_END}"),
    _rule("Notion token", "ntn_ secret_", rf"{_START}(?:ntn_[A-Za-z0-9]{{40,50}}|secret_[A-Za-z0-9]{{43}}){_END}"),
    _rule("Databricks token", "dapi", rf"{_START}dapi[0-9a-f]{{32}}(?:-\d)?{_END}"),
    _rule("Dropbox token", "sl.", rf"{_START}sl\.[A-Za-z0-9_-]{{130,}}"),
    _rule(
        "Grafana token",
        "glsa_ glc_",
        rf"{_START}(?:glsa_[A-Za-z0-9]{{32}}_[0-9a-f]{{8}}|glc_[A-Za-z0-9+/]{{60,}}={{0,2}})",
    ),
    _rule("HashiCorp Vault token", "hvs. hvb. hvr.", rf"{_START}hv[sbr]\.[A-Za-z0-9_-]{{24,}}"),
    _rule("Terraform Cloud token", ".atlasv1.", rf"{_START}[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}"),
    _rule("New Relic key", "nrak-", rf"{_START}NRAK-[A-Z0-9]{{27}}{_END}"),
    _rule("Sentry token", "sntrys_ sntryu_", rf"{_START}sntry[su]_[A-Za-z0-9+/=_-]{{60,}}"),
    _rule("Postman key", "pmak-", rf"{_START}PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}{_END}"),
    _rule("Supabase token", "sbp_", rf"{_START}sbp_[0-9a-f]{{40}}{_END}"),
    _rule("Netlify token", "nfp_", rf"{_START}nfp_[A-Za-z0-9]{{36,}}{_END}"),
    _rule(
        "Doppler token", "dp.", rf"{_START}dp\.(?:pt|st|ct|sa)\.(?:[a-z0-9_-]{{2,35}}\.)?[A-Za-z0-9]{{40,44}}{_END}"
    ),
    _rule("Pulumi token", "pul-", rf"{_START}pul-[0-9a-f]{{40}}{_END}"),
    _rule("Atlassian token", "atatt3", rf"{_START}ATATT3[A-Za-z0-9_=-]{{100,}}"),
    _rule("Fly.io token", "flyv1 fo1_", rf"{_START}(?:FlyV1 fm\d_[A-Za-z0-9+/=,_-]{{60,}}|fo1_[A-Za-z0-9_-]{{40,}})"),
    _rule("Cloudflare origin key", "v1.0-", rf"{_START}v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{100,}}"),
    _rule("age secret key", "age-secret-key-", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    _rule("private key", "private key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    _rule("PuTTY private key", "putty-user-key-file", r"PuTTY-User-Key-File-\d: "),
    _rule(
        "JSON Web Token",
        "eyj",
        rf"{_START}eyJ[A-Za-z0-9_-]{{14,}}\.eyJ[A-Za-z0-9_-]{{14,}}\.[A-Za-z0-9_-]{{20,}}",
    ),
    _rule(
        "password in an address",
        "://",
        r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'`<>]{0,80}:(?P<value>[^\s/@\"'`<>]{4,200})@",
    ),
    _rule("netrc password", "machine", r"(?m)^[ \t]*machine\s+\S+\s+(?:login\s+\S+\s+)?password\s+(?P<value>\S{6,})"),
)
"""Formats that their issuer made recognisable."""

_STRONG_NAMES = (
    r"(?:api|access|auth|app|secret|signing|encryption|private|service|master|webhook)[ _.-]?(?:key|secret)"
    r"|client[ _.-]?secret"
)
_NAMES = (
    rf"{_STRONG_NAMES}|(?:access|auth|bearer|session|refresh|deploy|bot)[ _.-]?token|passw(?:or)?d|passphrase"
    r"|connection[ _.-]?string|secret|token"
)
_ASSIGNED = r"[\"'`]?\s*(?:=>|:=|=|:)\s*"

ASSIGNMENTS = (
    _rule(
        "authorization header",
        "authorization",
        r"(?i)authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+(?P<value>[A-Za-z0-9+/=._~-]{16,})",
        needs_variety=True,
    ),
    _rule(
        "password",
        "password passwd passphrase pwd",
        rf"(?i)(?:passw(?:or)?d|passphrase|\bpwd){_ASSIGNED}[\"'](?P<value>[^\"'\s]{{6,200}})[\"']",
    ),
    _rule(
        "password",
        "password passwd pwd",
        r"(?m)^[ \t]*(?:export[ \t]+)?[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|PWD)=(?P<value>[^\s\"'$<>{}]{6,200})[ \t]*$",
    ),
    _rule(
        "password",
        "password passwd passphrase",
        r"(?im)^[ \t]*[\w.-]{0,40}(?:passw(?:or)?d|passphrase):[ \t]*(?P<value>[^\s\"'{}\[\]|>&*]{8,200})[ \t]*$",
        needs_variety=True,
    ),
    _rule(
        "key in hexadecimal",
        "key secret",
        rf"(?i)(?:{_STRONG_NAMES}){_ASSIGNED}[\"'`]?(?P<value>(?=\w*[0-9])(?=\w*[a-f])[0-9a-f]{{32,128}})(?!\w)",
    ),
    _rule(
        "key or token",
        "key token secret connection password passwd passphrase",
        rf"(?i)(?:{_NAMES}){_ASSIGNED}[\"'`]?(?P<value>[A-Za-z0-9+/=_.~-]{{16,250}})(?![A-Za-z0-9+/=_.~(\[-])",
        needs_variety=True,
    ),
)
"""Values that only the name beside them gives away."""

RULES = (*FORMATS, *ASSIGNMENTS)
