r"""Secrets that only what stands beside them gives away: a name (`password = …`), a command (`mysql -p…`), a header.

`NAMES` is tried where one of `NAME_WORDS` stands. `CONTEXTS` has one line each, or one that goes on indented: kind |
words | how it goes on, where `(?P<value>…)` is the secret. A `!` before the words says that every value counts which
is not a placeholder, a `%` that it is `user:password` in base 64; else it has to look like a password or like a
random token. Case does not matter.
"""

from __future__ import annotations

NAME_WORDS = (b"pass", b"pwd", b"pw:", b"kennwort", b"secret", b"token", b"_pat", b"credential", b"auth", b"key")

NAMES = (
    r"(?:(?P<password>pass(?:word|wd|wort|phrase|code)?|pwd|pw|kennwort)"
    r"|(?P<token>secret(?:[ _.-]?access)?(?:[ _.-]?key)?|token|_pat|credentials?|auth)|(?P<key>key))"
    r"(?:[_-]?(?:base|prod|dev|staging|test|live|local|value|text|primary|secondary|v?\d{1,2}))?"
    # What stands between the name and its value.
    r"""(?P<closing>\\?["'`*\])]{0,3})"""
    r"(?:(?P<assigned>[ \t]{0,8}"
    r"(?::[ \t]?[\w\[\].|? ]{1,24}=(?!=)|=>|[:?+]?={1,3}|::?(?!:)|->|\xe2\x86\x92)\*{0,2}[ \t]{0,8})"
    r"|(?P<told>(?:[ \t](?:for|of|to|on|at|in)[ \t][\w \t.@/-]{1,40}?)?"
    r"(?:[ \t](?:is|was|are|ist)(?:[ \t]now|[ \t]set[ \t]to)?[ \t]?:?|[ \t]to|:)[ \t]{1,4})"
    r"|(?P<listed>[ \t]{0,8}[|>][ \t]{0,30}|[ \t\r\n]{1,30}[\"']?value[\"']?[ \t]?[:=][ \t]?)"
    r"|(?P<paired>[ \t]?[,(][ \t]?(?=\\?[\"'`]))"
    r"|(?P<spaced>[ \t]{1,4}))"
    r"""(?P<quote>\\?["'`]|\*\*)?"""
    r"""(?P<value>(?(quote)[^\s"'`]{4,400}|[^\s"'`<>,;|&(){}\[\]\\]{4,400}))"""
)

KEYS_THAT_OPEN = (
    r"(?:api|access|auth|app|application|secret|signing|signature|encryption|private|priv|service|master|webhook|account"
    r"|shared|license|hmac|jwt|subscription|admin|root|deploy|ssh|storage|ingest|write|server|sending|integration"
    r"|token|security|sdk|rest|functions?|cipher|aes|x)[ _.-]?$"
)
"""What stands before a `key` that opens something. The key of a map, a table or a cache is a plain name."""

HARMLESS = (
    b"public page cursor cache csrf xsrf idempot etag cancel continuation publish partition foreign sitekey nonce"
).split()
"""Parts of a name which say that this key or token opens nothing."""

MACROS = {
    "ARGS": r"(?:SPACE[^\s|;&]{1,200}){0,12}?SPACE",
    "COOKIES": r"(?:[\w.%-]{1,60}=[^;\s\"']{0,200};[ \t]?){0,8}?[\w.-]{0,30}?",
    "PIPED": r"GAP\|GAP(?:sudo (?:-S|chpasswd)|chpasswd|passwd|docker login|su )",
    "VALUE": r"""["']?(?P<value>[^\s"'-][^\s"']{2,200})""",
    "GAP": r"[ \t]{0,4}",
    "SPACE": r"[ \t]{1,4}",
}
"""Parts of the patterns below: other arguments of a command, other cookies, a command that is fed, a value …"""

CONTEXTS = r"""
password in an address | !:// | [^\s/:@"'`<>?#]{0,80}:(?P<value>[^\s/@"'`<>]{3,200})@
password in an address | !jdbc:oracle: !sqlplus | (?:thin:|oci:|SPACE)[^\s/:@]{1,60}/(?P<value>[^\s/@"']{3,100})@
password of a command | !sshpass | SPACE-pGAP["']?(?P<value>[^\s"']{3,200})
password of a command | !mysql !mysqldump !mysqladmin !mariadb | ARGS-p["']?(?P<value>[^\s"':]{3,200})(?![:\w])
password of a command | !docker !podman !helm !skopeo | [ \t][^\n|;&]{0,80}?loginARGS-pGAPVALUE
password of a command | !mongosh !mongo !mongodump !mongorestore !influx !cqlsh !az | ARGS-pSPACEVALUE
password of a command | !redis-cli | ARGS-aSPACEVALUE
password of a command | !curl !wget !http |
    ARGS(?:-u|--user|-a)[= \t]{0,4}["']?[^\s:"']{1,80}:(?P<value>[^\s"']{3,99})
password of a command | !ldapsearch !ldapmodify !ldapadd | ARGS-wGAPVALUE
password of a command | !zip !7z !7za | ARGS(?-i:-PGAP|-p)VALUE
password of a command | !htpasswd !rabbitmqctl | ARGS(?:-n?b\w? \S{1,80}|add_user|change_password) (?:\S{1,80} )?VALUE
password of a command | !smbclient !rpcclient !smbmap | ARGS-UGAP["']?[^\s%"']{1,60}%(?P<value>[^\s"']{3,200})
password of a command | !-passin !-passout !-pass | SPACE["']?pass:(?P<value>[^\s"']{3,200})
password of a command | !echo !printf | SPACE(?:-[ne][ \t])?["']?(?:[\w.-]{1,9}:)?(?P<value>[^\s"'|]{4,99})["']?PIPED
password in SQL | !identified !with !encrypted |
    SPACE(?:with[ \t]\w{1,40}[ \t])?(?:by|as|password)SPACE(?:password[ \t])?["'](?P<value>[^\s"']{4,200})
login and password | !login | \s{1,8}\S{1,80}\s{1,8}password\s{1,8}(?P<value>\S{4,200})
login and password | credentials creds login |
    ["'*`]{0,3}[ \t]?(?:are|is|with|[:=])?SPACE["'`]?[\w.@-]{2,60}["'`]? ?[/:|] ?["'`]?(?P<value>[^\s"'`,;]{6,99})
authorization header | authorization |
    ["']?GAP[:=,]GAP["']?(?:bearer|token|api-?key|key|digest)[ =]{1,4}["']?(?P<value>[\w+/=.~-]{12,2000})
authorization header | %basic | SPACE(?P<value>[A-Za-z0-9+/]{11,400}={0,2})(?=[\s"']|$)
bearer token | bearer | SPACE(?P<value>[\w+/=.~-]{20,2000})
cookie | cookie |
    ["']?GAP[:=,]?GAP["']?COOKIES(?:sess|sid|auth|tok|jwt|remember|id)[\w.-]{0,30}=(?P<value>[\w%+/.:~-]{16,99})
session cookie | sessionid phpsessid jsessionid connect.sid _session |
    ["']?[ \t]?[=:,][ \t]?["']?(?P<value>[\w%+/.:~-]{16,2000})
docker login | %"auth" %'auth' %"auth\" | GAP[:=][ \t\n]{0,20}\\?["'](?P<value>[A-Za-z0-9+/]{11,2000}={0,2})\\?["']
npm password | _auth _authtoken _password | [ \t]?=[ \t]?["']?(?P<value>[^\s"'${}()]{12,400}+)(?!\()
seed phrase | !seed !mnemonic !phrase |
    (?:[ \t](?:phrase|words))?["'*`]{0,3}[ \t]?[:=][ \t]?["'`]?(?P<value>(?:[a-z]{3,8}[ \t]){11}[a-z]{3,8})
"""
