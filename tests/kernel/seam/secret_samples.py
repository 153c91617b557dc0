"""Planted secrets, assembled when the tests run so that none is in the tree; and code that holds none."""

from __future__ import annotations

import random
import string

_ALPHANUMERIC = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_HEX = "0123456789abcdef"


def planted(seed: int = 1) -> dict[str, str]:
    """One line with a secret for every kind, by the kind's name. None of them was ever valid."""
    generator = random.Random(seed)

    def draw(length: int, alphabet: str = _ALPHANUMERIC) -> str:
        return "".join(generator.choice(alphabet) for _ in range(length))

    upper = string.ascii_uppercase
    base32 = upper + "234567"
    jwt = ".".join(("ey" + "J" + draw(30), "ey" + "J" + draw(60), draw(43)))
    dashes = "-" * 5
    return {
        "AWS access key id": "export ID=" + "AK" + "IA" + draw(16, base32),
        "AWS session key id": "id: " + "AS" + "IA" + draw(16, base32),
        "AWS secret access key": "aws_secret_access_key = " + draw(40, _ALPHANUMERIC + "/+"),
        "GitHub token": "remote uses " + "gh" + "p_" + draw(36),
        "GitHub server token": "gh" + "s_" + draw(36),
        "GitHub fine-grained token": "github" + "_pat_" + draw(22) + "_" + draw(59),
        "GitLab token": "gl" + "pat-" + draw(20),
        "Slack bot token": "xo" + "xb-" + draw(12, string.digits) + "-" + draw(12, string.digits) + "-" + draw(24),
        "Slack app token": "xa" + "pp-1-" + draw(11, upper) + "-" + draw(13, string.digits) + "-" + draw(64, _HEX),
        "Slack webhook": "https://hooks.slack"
        ".com/services/T" + draw(8, upper) + "/B" + draw(8, upper) + "/" + draw(24),
        "Stripe key": "sk" + "_live_" + draw(24),
        "Stripe restricted key": "rk" + "_live_" + draw(30),
        "Stripe webhook secret": "wh" + "sec_" + draw(32),
        "OpenAI project key": "OPENAI=sk" + "-proj-" + draw(80),
        "OpenAI key": "sk" + "-" + draw(20) + "T3Blbk" + "FJ" + draw(20),
        "Anthropic key": "sk" + "-ant-api03-" + draw(93),
        "Google API key": "AI" + "za" + draw(35),
        "Google OAuth client secret": "GOC" + "SPX-" + draw(28),
        "Google OAuth token": "ya" + "29." + draw(120),
        "Firebase messaging key": "AAAA" + draw(7) + ":APA" + "91b" + draw(134),
        "Azure storage key": "AccountName=a;Account" + "Key=" + draw(86) + "==",
        "Azure client secret": draw(3) + "8" + "Q~" + draw(34),
        "Azure shared access signature": "https://x.blob.core.windows.net/c?sv=2022&s" + "ig=" + draw(43) + "%3D",
        "SendGrid key": "S" + "G." + draw(22) + "." + draw(43),
        "Twilio key": "S" + "K" + draw(32, _HEX),
        "Mailgun key": "ke" + "y-" + draw(32, _HEX),
        "Mailchimp key": draw(32, _HEX) + "-u" + "s12",
        "npm token": "np" + "m_" + draw(36),
        "npm registry password": "//packages.example/:_auth" + "Token=" + draw(36),
        "PyPI token": "py" + "pi-AgEIcHlwaS5vcmc" + draw(80),
        "RubyGems token": "ruby" + "gems_" + draw(48, _HEX),
        "Docker Hub token": "dckr" + "_pat_" + draw(27),
        "Hugging Face token": "h" + "f_" + draw(34, string.ascii_letters),
        "DigitalOcean token": "dop" + "_v1_" + draw(64, _HEX),
        "Heroku key": "HR" + "KU-" + draw(60),
        "Shopify token": "shp" + "at_" + draw(32, _HEX),
        "Square token": "sq0" + "atp-" + draw(22),
        "Telegram bot token": draw(9, "123456789") + ":A" + "A" + draw(33),
        "Discord token": "MT" + draw(22) + "." + draw(6) + "." + draw(27),
        "Discord webhook": "https://discord" + ".com/api/webhooks/" + draw(18, "123456789") + "/" + draw(68),
        "Facebook token": "EA" + "AC" + draw(120),
        "Linear key": "lin" + "_api_" + draw(40),
        "Notion token": "nt" + "n_" + draw(46),
        "Databricks token": "da" + "pi" + draw(32, _HEX),
        "Dropbox token": "s" + "l." + draw(136),
        "Grafana token": "gl" + "sa_" + draw(32) + "_" + draw(8, _HEX),
        "HashiCorp Vault token": "hv" + "s." + draw(90),
        "Terraform Cloud token": draw(14) + ".atlas" + "v1." + draw(67),
        "New Relic key": "NR" + "AK-" + draw(27, upper + string.digits),
        "Sentry token": "sn" + "trys_" + draw(80),
        "Postman key": "PM" + "AK-" + draw(24, _HEX) + "-" + draw(34, _HEX),
        "Supabase token": "sb" + "p_" + draw(40, _HEX),
        "Netlify token": "nf" + "p_" + draw(36),
        "Doppler token": "d" + "p.pt." + draw(43),
        "Pulumi token": "pu" + "l-" + draw(40, _HEX),
        "Atlassian token": "ATA" + "TT3" + draw(180),
        "Fly.io token": "Fly" + "V1 fm2_" + draw(120),
        "Cloudflare origin key": "v1" + ".0-" + draw(24, _HEX) + "-" + draw(146, _HEX),
        "age secret key": "AGE-SECRET" + "-KEY-1" + draw(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        "RSA private key": dashes + "BEGIN RSA PRIV" + "ATE KEY" + dashes,
        "OpenSSH private key": dashes + "BEGIN OPENSSH PRIV" + "ATE KEY" + dashes,
        "PGP private key": dashes + "BEGIN PGP PRIV" + "ATE KEY BLOCK" + dashes,
        "PuTTY private key": "PuTTY-User" + "-Key-File-3: ssh-ed25519",
        "JSON Web Token": "cookie is " + jwt,
        "password in an address": "postgres" + "://app:" + draw(14) + "@db.internal:5432/app",
        "netrc password": "machine api.internal login bot pass" + "word " + draw(16),
        "authorization header": "curl -H 'Author" + "ization: Bearer " + draw(40) + "'",
        "quoted password": "db_pass" + 'word = "' + draw(12) + '"',
        "password in the environment": "POSTGRES_PASS" + "WORD=" + draw(12),
        "password in a settings file": "  pass" + "word: " + "a7" + draw(12, _LOWER) + "4k9z2",
        "key in hexadecimal": "datadog_api" + '_key: "' + "a1" + draw(30, _HEX) + '"',
        "key in a settings file": "client" + "_secret: " + "q8Z3" + draw(24) + "4Kd9",
        "token in code": "const auth" + 'Token = "' + "x9T2" + draw(28) + "Q4j7" + '";',
    }


ORDINARY = r"""
The release is commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and its tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904.
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  dist/agentm.whl
"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
request_id = "550e8400-e29b-41d4-a716-446655440000"
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
cache_key = "d41d8cd98f00b204e9800998ecf8427e"
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
OPENAI_API_KEY=sk-your-key-here
export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
password = "changeme"
PASSWORD=${DB_PASSWORD}
password: <your password>
password = os.environ["DB_PASSWORD"]
password must be 12 characters with a digit
postgres://postgres:postgres@localhost:5432/test
postgres://user:password@localhost/app
redis://:${REDIS_PASSWORD}@cache:6379/0
token = request.headers.get("X-Auth-Token")
const accessToken = await getAccessTokenForUser(userId2);
access_token: str = field(default_factory=generate_session_token_v2)
api_key = settings.DATADOG_API_KEY_V2_FOR_STAGING
secret = config.client_secret_for_oauth2_login_flow
next_page_token = response["nextPageToken"]
token_count = 1234567890123456
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
client_secret: "********************************"
const key = "abcdefghijklmnopqrstuvwxyz0123456789";
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo
-----END PUBLIC KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ana@laptop
background: url(data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAABJRU5ErkJggg==)
git clone git@github.com:acme/widgets.git
https://example.com:8443/path?sig=abc&page=2
docker pull ghcr.io/acme/widgets@sha256:9b74c9897bac770ffc029102a200c5de6f1b1c7d2f7e0a1b2c3d4e5f60718293
The stripe test key is in their documentation.
def key_for(user_id: int) -> str: return f"user:{user_id}:profile:v2"
QSK0123456789 and SKU-12345-XL are product codes.
Use the secret manager; the token lives in 1Password under "CI deploy token".
UUIDv7 018f5c3e-7b2a-7cc1-98c4-dc0c0c07398f is the tenant id; the api key is rotated weekly.
x-api-key: {{ api_key }}
PWD=/home/ana
OLDPWD=/home/ana/src2
mycli --password <token>
api_key = 'xxxxxxxxxxxxxxxx'
docker run -p3306:3306 mysql -p 3306:3306
the password is stored in 1Password
the token is 32 bytes of base64, and the password is sha256-hashed
curl -u user:password http://x
`--password TEXT` asks for it
max_tokens=4096, tokenizer='cl100k_base'
cache-key-d41d8cd98f00b204e9800998ecf8427e
password: z.string().min(8)
{ email: user1, password: password2 }
<label for="password">Kennwort</label>
compass: N45E12b
private_key_path: /etc/ssl/private/server_2024_rsa4096.pem
"""
"""Lines of ordinary notes and code. None may be taken for a secret."""


def _lines_in_context() -> list[str]:
    """What the first rule set let pass, with values of our own."""
    generator = random.Random(7)

    def draw(length: int, alphabet: str = _ALPHANUMERIC) -> str:
        return "".join(generator.choice(alphabet) for _ in range(length))

    word = "pass" + "word"
    return [
        "sk" + "_test_" + draw(24),
        "gs" + "k_" + draw(52),
        "xa" + "i-" + draw(80),
        "sk" + "-or-v1-" + draw(64, _HEX),
        "r" + "8_" + draw(37),
        "pp" + "lx-" + draw(48),
        "pc" + "sk_" + draw(5) + "_" + draw(60),
        "fi" + "gd_" + draw(40),
        f"mycli --{word} Tr0ub4dor3",
        f"mycli --{word}='swordfish'",
        "mysql -u root -pS3cretPw db",
        "mysqldump --single-transaction -u app -pmoonlight9 shop > x.sql",
        "sshpass -p moonlight ssh ana@box",
        f"the {word} is Winter2024!",
        f"The {word} for the staging db is Blue7Kettle",
        f"jdbc:postgresql://db:5432/app?user=app&{word}=kd83hsKw",
        f"jdbc:sqlserver://h;user=sa;{word}=Kw8!sk2;",
        "jdbc:oracle:thin:app/K9sdkw2@db:1521/x",
        "Cookie: theme=dark; sessionid=" + draw(32, _LOWER),
        "Set-Cookie: sid=s%3A" + draw(30) + "; Path=/; HttpOnly",
        '{"auths": {"registry.io": {"auth": "YW5hOmdlaGVpbTk5eA=="}}}',
        "docker login -u ana -p K8sdw92k",
        "curl -u ana:K8sdw92k https://x",
        "redis-cli -h r -a K8sdw92k ping",
        "export PGPASSWORD=moonlight",
        f"<{word}>K8sdw92k</{word}>",
        f"| {word} | K8sdw92k |",
        "**Password:** `K8sdw92k`",
        'conn.setPassword("moonlight");',
        f'params.put("{word}", "moonlight");',
        "- name: DB_PASSWORD\n  value: K8sdw92k",
        "ENV DB_PASSWORD K8sdw92k",
        "CREATE USER app IDENTIFIED BY 'moonlight';",
        f"ALTER ROLE app WITH {word.upper()} 'moonlight'",
        "Authorization: Basic YW5hOmdlaGVpbTk5eA==",
        f'{word}: str = "moonlight"',
        f'"{{\\"{word}\\": \\"K8sdw92k\\"}}"',
        "requirepass K8sdw92k",
        "X-Api-Key: a1" + draw(30, _HEX),
        "PINECONE_API_KEY=9f8b1c2e-7a3d-4e5f-8091-a2b3c4d5e6f7",
    ]


IN_CONTEXT = _lines_in_context()
