"""A list that was written after the rules were frozen: 150 kinds of secrets, each where it would really stand.

The values are drawn when the tests run, from a fixed seed; none of them was ever valid.
"""

# ruff: noqa: ISC003 -- the parts are apart so that no scanner takes this file for a leak

from __future__ import annotations

import base64
import random
import string

_random = random.Random(20_25)
_ALPHANUMERIC = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits
_URL_SAFE = _ALPHANUMERIC + "-_"


def _a(length: int, alphabet: str = _ALPHANUMERIC) -> str:
    return "".join(_random.choice(alphabet) for _ in range(length))


def _h(length: int) -> str:
    return _a(length, _HEX)


def _u() -> str:
    return "-".join(map(_h, (8, 4, 4, 4, 12)))


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SECRETS = {
    # ------------------------------------------------------------ tokens of issuers, in env files, code, prose, URLs
    "GitHub classic in .npmrc": "//npm.pkg.github.com/:_authToken=" + "gh" + "p_" + _a(36),
    "GitHub in a clone URL": "git clone https://x-access-token:" + "gh" + "s_" + _a(36) + "@github.com/acme/app.git",
    "GitHub OAuth in prose": "I used " + "gh" + "o_" + _a(36) + " to open the pull request, worked fine.",
    "GitHub fine-grained in YAML": "github_token: " + "github" + "_pat_11" + _a(20, _UPPER) + "_" + _a(59),
    "GitLab PAT in a header": "curl --header 'PRIVATE-TOKEN: "
    + "gl"
    + "pat-"
    + _a(20, _URL_SAFE)
    + "' https://gitlab.io/api",
    "GitLab runner in TOML": '  token = "' + "gl" + "rt-" + _a(20, _URL_SAFE) + '"',
    "GitLab deploy token": "deploy with " + "gl" + "dt-" + _a(20, _URL_SAFE),
    "Bitbucket app password": "bitbucket app password " + "AT" + "BB" + _a(32),
    "AWS key id in credentials file": "aws_access_key_id = "
    + "AK"
    + "IA"
    + _a(16, string.ascii_uppercase + "234567"),
    "AWS secret in shell": "export AWS_SECRET_ACCESS_KEY=" + _a(40, _ALPHANUMERIC + "/+"),
    "AWS secret in Terraform": '  secret_key = "' + _a(40, _ALPHANUMERIC + "/+") + '"',
    "AWS session token": "AWS_SESSION_TOKEN=" + _a(300, _ALPHANUMERIC + "/+") + "=",
    "AWS presigned": "X-Amz-Credential=" + "AS" + "IA" + _a(16, _UPPER) + "/20250101/us-east-1/s3/aws4_request",
    "Google API key in JS": 'firebase.initializeApp({ apiKey: "' + "AI" + "za" + _a(35, _URL_SAFE) + '" })',
    "Google OAuth secret in JSON": '"client_secret":"' + "GOC" + "SPX-" + _a(28, _URL_SAFE) + '"',
    "Google refresh token": '"refresh_token": "' + "1/" + "/0" + _a(60, _URL_SAFE) + '"',
    "Google access token in curl": 'curl -H "Authorization: Bearer ' + "ya" + "29.a0" + _a(150, _URL_SAFE) + '"',
    "Azure storage connection": "DefaultEndpointsProtocol=https;AccountName=acme;Account" + "Key=" + _a(86) + "==;",
    "Azure client secret": 'client_secret = "' + _a(3) + "8" + "Q~" + _a(34) + '"',
    "Azure SAS": "https://acme.blob.core.windows.net/b?sp=r&sv=2022-11-02&sr=c&sig=" + _a(42) + "%3D",
    "Azure service bus": "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccess"
    + "Key="
    + _a(43)
    + "=",
    "Azure DevOps PAT": "AZURE_DEVOPS_EXT_PAT=" + _a(52, _LOWER),
    "Slack bot in Python": 'client = WebClient(token="'
    + "xo"
    + "xb-"
    + _a(12, string.digits)
    + "-"
    + _a(13, string.digits)
    + "-"
    + _a(24)
    + '")',
    "Slack user": "xo" + "xp-" + "-".join(_a(12, string.digits) for _ in range(3)) + "-" + _h(32),
    "Slack webhook in a Makefile": "SLACK_URL := https://hooks.slack"
    + ".com/services/T"
    + _a(8, _UPPER)
    + "/B"
    + _a(10, _UPPER)
    + "/"
    + _a(24),
    "Discord webhook": "notify: https://discord"
    + ".com/api/webhooks/"
    + _a(19, "123456789")
    + "/"
    + _a(68, _URL_SAFE),
    "Discord bot": "bot.login('" + "MT" + _a(24) + "." + _a(6) + "." + _a(38) + "')",
    "Telegram in a URL": "https://api.telegram.org/bot"
    + _a(10, "123456789")
    + ":A"
    + "A"
    + _a(33, _URL_SAFE)
    + "/sendMessage",
    "Stripe live in Ruby": "Stripe.api_key = '" + "sk" + "_live_" + _a(99) + "'",
    "Stripe test in env": "STRIPE_SECRET=" + "sk" + "_test_" + _a(24),
    "Stripe restricted": "rk" + "_live_" + _a(24) + " has only read access",
    "Stripe webhook": "STRIPE_WEBHOOK_SECRET=" + "wh" + "sec_" + _a(32),
    "Square": "SQUARE_TOKEN: " + "EA" + "AA" + _a(60, _URL_SAFE),
    "PayPal secret by name": "PAYPAL_CLIENT_SECRET=" + "E" + _a(79, _URL_SAFE),
    "Shopify": "X-Shopify-Access-Token: " + "shp" + "at_" + _h(32),
    "Adyen by name": 'adyen_api_key: "AQE' + _a(90, _ALPHANUMERIC) + '"',
    "Braintree private key": "BRAINTREE_PRIVATE_KEY=" + _h(32),
    "OpenAI project": "openai.api_key = '" + "sk" + "-proj-" + _a(48) + "T3Blbk" + "FJ" + _a(48) + "'",
    "OpenAI service account": "OPENAI_API_KEY=" + "sk" + "-svcacct-" + _a(100, _URL_SAFE),
    "OpenAI classic in prose": "key that Ana gave me: " + "sk" + "-" + _a(48),
    "Anthropic in docker": "docker run -e ANTHROPIC_API_KEY=" + "sk" + "-ant-api03-" + _a(93, _URL_SAFE) + "AA app",
    "OpenRouter": '"apiKey": "' + "sk" + "-or-v1-" + _h(64) + '"',
    "DeepSeek": "DEEPSEEK_API_KEY=" + "sk" + "-" + _h(32),
    "Groq": "Groq(api_key='" + "gs" + "k_" + _a(52) + "')",
    "xAI": "XAI_API_KEY: " + "xa" + "i-" + _a(80),
    "Mistral by name": "MISTRAL_API_KEY=" + _a(32),
    "Cohere by name": "co = cohere.Client(api_key='" + _a(40) + "')",
    "Replicate": "REPLICATE_API_TOKEN=" + "r" + "8_" + _a(37),
    "Hugging Face": "huggingface-cli login --token " + "h" + "f_" + _a(34, string.ascii_letters),
    "Perplexity": "pp" + "lx-" + _a(48) + "  # perplexity, remove later",
    "Pinecone": 'Pinecone(api_key="' + "pc" + "sk_" + _a(6) + "_" + _a(63) + '")',
    "Gemini new form": "GEMINI_API_KEY=" + "AQ" + ".Ab8R" + _a(46, _URL_SAFE),
    "Together": "TOGETHER_API_KEY=" + "tgp" + "_v1_" + _a(43, _URL_SAFE),
    "Tavily": "tavily = '" + "tv" + "ly-dev-" + _a(32) + "'",
    "ElevenLabs": "xi-api-key: " + "sk" + "_" + _h(48),
    "LangSmith": "LANGCHAIN_API_KEY=" + "ls" + "v2_pt_" + _h(32) + "_" + _h(10),
    "Weights and Biases": "wandb login --relogin " + "wandb" + "_v1_" + _a(60),
    "Nvidia": "NVIDIA_KEY " + "nv" + "api-" + _a(64, _URL_SAFE),
    "Figma": "X-Figma-Token: " + "fi" + "gd_" + _a(40, _URL_SAFE),
    "Notion": "NOTION_TOKEN=" + "nt" + "n_" + _a(11, string.digits) + _a(35),
    "Linear": "lin" + "_api_" + _a(40) + " (Linear)",
    "Airtable": "Authorization: Bearer " + "pa" + "t" + _a(14) + "." + _h(64),
    "Asana": "ASANA_PAT=" + "2/" + _a(16, string.digits) + "/" + _a(16, string.digits) + ":" + _h(32),
    "Jira": "JIRA_API_TOKEN=" + "ATA" + "TT3xFfGF0" + _a(170, _URL_SAFE) + "=" + _a(8, _UPPER),
    "HubSpot": "hubspot: " + "pa" + "t-eu1-" + _u(),
    "Intercom by name": 'INTERCOM_ACCESS_TOKEN="dG9rO' + _a(55) + '="',
    "Salesforce session": "sid is " + "00" + "D" + _a(12) + "!" + _a(90),
    "Zendesk by name": "zendesk_api_token = '" + _a(40) + "'",
    "SendGrid": "apikey:" + "S" + "G." + _a(22, _URL_SAFE) + "." + _a(43, _URL_SAFE),
    "Mailgun": 'auth=("api", "' + "ke" + "y-" + _h(32) + '")',
    "Mailchimp": "MAILCHIMP=" + _h(32) + "-u" + "s21",
    "Brevo": "xk" + "eysib-" + _h(64) + "-" + _a(16),
    "Resend": 'new Resend("' + "re" + "_" + _a(8) + "_" + _a(24) + '")',
    "Postmark by name": "X-Postmark-Server-Token: " + _u(),
    "Twilio auth token": "TWILIO_AUTH_TOKEN=" + _h(32),
    "Twilio key": "twilio key " + "S" + "K" + _h(32),
    "Vonage by name": "VONAGE_API_SECRET=" + _a(16),
    "npm": "NPM_TOKEN=" + "np" + "m_" + _a(36),
    "PyPI in .pypirc": "password = " + "py" + "pi-AgEIcHlwaS5vcmcCJ" + _a(130, _URL_SAFE),
    "RubyGems": ":rubygems_api_key: " + "ruby" + "gems_" + _h(48),
    "crates.io": 'token = "' + "ci" + "o" + _a(32) + '"',
    "NuGet": "nuget push x.nupkg -k " + "oy" + "2" + _a(43, _LOWER),
    "Docker Hub": "echo " + "dckr" + "_pat_" + _a(27, _URL_SAFE) + " | docker login -u ana --password-stdin",
    "Artifactory": "X-JFrog-Art-Api: " + "AK" + "Cp" + _a(69),
    "DigitalOcean": "DIGITALOCEAN_TOKEN=" + "dop" + "_v1_" + _h(64),
    "Heroku by name": "HEROKU_API_KEY=" + _u(),
    "Fly.io": "FLY_API_TOKEN='" + "Fly" + "V1 " + "fm" + "2_" + _a(150, _ALPHANUMERIC + "+/") + "'",
    "Vercel by name": "VERCEL_TOKEN=" + _a(24),
    "Netlify": "netlify deploy --auth " + "nf" + "p_" + _a(36),
    "Cloudflare token by name": "CLOUDFLARE_API_TOKEN=" + _a(40, _URL_SAFE),
    "Cloudflare global key": "X-Auth-Key: " + _h(37),
    "Hetzner by name": 'hcloud_token = "' + _a(64) + '"',
    "Linode by name": "LINODE_TOKEN=" + _h(64),
    "Supabase service role": "SUPABASE_SERVICE_ROLE_KEY="
    + "ey"
    + "J"
    + _a(33)
    + ".ey"
    + "J"
    + _a(120, _URL_SAFE)
    + "."
    + _a(43, _URL_SAFE),
    "Neon URL": "DATABASE_URL='postgresql"
    + "://neondb_owner:"
    + "np"
    + "g_"
    + _a(12)
    + "@ep-cool-1.neon.tech/neondb?sslmode=require'",
    "PlanetScale": "pscale" + "_pw_" + _a(43, _URL_SAFE),
    "MongoDB Atlas URL": "mongodb+srv" + "://app:" + _a(16) + "@cluster0.ab1cd.mongodb.net/prod",
    "Redis URL": "REDIS_URL=rediss" + "://default:" + _a(36) + "@eu1-fine-1.upstash.io:6379",
    "RabbitMQ URL": "amqps" + "://app:" + _a(20) + "@mq.acme.io/vhost",
    "SMTP URL": "MAILER_DSN=smtp" + "://mailer:" + _a(11) + "@smtp.acme.io:587",
    "Databricks": "databricks configure --token " + "da" + "pi" + _h(32),
    "Snowflake by name": 'snowflake_password: "' + _a(14) + '!"',
    "Tailscale": "tailscale up --authkey " + "ts" + "key-auth-" + _a(12) + "-" + _a(32),
    "ngrok by name": "ngrok config add-authtoken " + "2" + _a(48),
    "1Password service account": "OP_SERVICE_ACCOUNT_TOKEN=" + "op" + "s_ey" + "J" + _a(300),
    "Doppler": "doppler run --token=" + "d" + "p.st.prd." + _a(43),
    "Vault": "VAULT_TOKEN=" + "hv" + "s." + _a(90, _URL_SAFE),
    "Terraform Cloud": '  token = "' + _a(14) + ".atlas" + "v1." + _a(67) + '"',
    "Pulumi": "PULUMI_ACCESS_TOKEN=" + "pu" + "l-" + _h(40),
    "CircleCI": "Circle-Token: " + "CCI" + "PAT_" + _a(22) + "_" + _h(40),
    "SonarQube": "sonar.token=" + "sq" + "p_" + _h(40),
    "Snyk by name": "SNYK_TOKEN=" + _u(),
    "Sentry": "SENTRY_AUTH_TOKEN=" + "sn" + "tryu_" + _h(64),
    "New Relic": "NEW_RELIC_API_KEY=" + "NR" + "AK-" + _a(27, _UPPER),
    "Grafana": "Bearer " + "gl" + "sa_" + _a(32) + "_" + _h(8),
    "Datadog by name": "DD_API_KEY=" + _h(32),
    "PagerDuty by name": "Authorization: Token token=" + _a(20),
    "LaunchDarkly": "LD_SDK_KEY=" + "sd" + "k-" + _u(),
    "PostHog personal": "ph" + "x_" + _a(43) + " for the export job",
    "Algolia admin key": "ALGOLIA_ADMIN_KEY=" + _h(32),
    "Mapbox secret": "MAPBOX_SECRET=" + "sk" + ".ey" + "J" + _a(60) + "." + _a(22),
    "Twitter bearer": "TWITTER_BEARER=" + "A" * 21 + _a(30) + "%2B" + _a(40) + "%3D",
    "Facebook": "FB_PAGE_TOKEN=" + "EA" + "AG" + _a(170),
    "Dropbox": "dropbox.Dropbox('" + "s" + "l.B" + _a(134, _URL_SAFE) + "')",
    "Postman": "PM" + "AK-" + _h(24) + "-" + _h(34),
    "Alibaba": "accessKeyId: " + "LT" + "AI5t" + _a(18),
    # ------------------------------------------------------------ keys, certificates, seeds
    "RSA key": "-" * 5 + "BEGIN RSA PRIV" + "ATE KEY" + "-" * 5,
    "EC key inside JSON": '"private_key": "' + "-" * 5 + "BEGIN EC PRIV" + "ATE KEY" + "-" * 5 + '\\nMHc"',
    "WireGuard": "PrivateKey = " + _a(42, _ALPHANUMERIC + "+/") + "8=",
    "age key file": "AGE-SECRET" + "-KEY-1" + _a(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "Ethereum key": 'PRIVATE_KEY="0x' + _h(64) + '"',
    "one-time-password seed": "otpauth://totp/acme:ana?secret="
    + _a(32, string.ascii_uppercase + "234567")
    + "&issuer=acme",
    "Rails master key": "RAILS_MASTER_KEY=" + _h(32),
    "Django": "SECRET_KEY = 'django-insecure-" + _a(50, _LOWER + "!@#$%^&*(-_=+)") + "'",
    # ------------------------------------------------------------ passwords where they stand
    "compose": "      POSTGRES_PASSWORD: zebra-lantern-42",
    "Spring": "spring.datasource.password=Gl0ckenspiel",
    "PHP": "define('DB_PASSWORD', 'krokodil77');",
    "psql": "PGPASSWORD='blaubeere' psql -h db -U app",
    "Python call": 'psycopg2.connect(host="db", user="app", password="regenbogen")',
    "ADO.NET": "Server=db;Database=app;User Id=sa;Password=Kr0k0dil!;",
    "Ansible": "ansible_become_pass: Feuer!wehr9",
    "k8s secret": "  password: " + _b64("kartoffel-salat-9"),
    "kubectl": "kubectl create secret generic db --from-literal=password=Zitrone88",
    "prose": "You can log in as admin, the password is Zitrone_88 for now.",
    "prose with colon": "Wifi password: Gaeste-2024-acme",
    "htpasswd": "htpasswd -b /etc/nginx/.htpasswd ana Zitrone88",
    "chpasswd": "echo 'root:Zitrone88' | chpasswd",
    "basic header": "Authorization: Basic " + _b64("ana:" + "Zitrone88"),
    "cookie of Django": "curl -b 'csrftoken=x; sessionid=" + _a(32, _LOWER) + "' https://acme.io",
    "SSH note": "ssh ana@10.0.0.5 (pw: Zitrone88)",
}
