"""Formats that their issuers made recognisable, one line each: kind | how it begins | how it goes on.

A rule is tried where one of its beginnings stands in the text, and nowhere else. Every repetition is bounded, so one
attempt costs a bounded time and the whole scan is linear in the text. A `~` before the beginnings says that the rest
must also look random: the beginning alone is too ordinary. A `^` says that the beginning may stand inside a word.

Why a table of our own: gitleaks and trufflehog are Go programs (a process for each write), detect-secrets scans files
rather than text, brings an HTTP client and a YAML library, knows 27 kinds and calls every hash a secret. Facts about
prefixes and lengths were compared with theirs.
"""

FORMATS = r"""
AWS key id | AKIA ASIA ABIA ACCA | [A-Z0-9]{16}(?!\w)
AWS Bedrock key | ABSK bedrock-api-key- | [A-Za-z0-9+/]{60}
AWS marketplace token | amzn.mws. | [0-9a-f-]{36}
Alibaba key id | LTAI | [A-Za-z0-9]{20}(?!\w)
Tencent key id | AKID | [A-Za-z0-9]{32}(?!\w)
Yandex key | AQVN YCAJ YCPA y0_Ag t1.9eu | [\w.=-]{24}
GitHub token | ghp_ gho_ ghu_ ghs_ ghr_ | \w{36}
GitHub token | github_pat_ | \w{40}
GitLab token | glpat- glrt- gldt- glptt- glft- glimt- glagent- gloas- glcbt- glsoat- glffct- GR1348941 | [\w-]{20}
Atlassian token | ATATT3 ATCTT3 ATBB | [\w=-]{24}
Slack token | xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- | [\w%-]{16}
Slack app token | xapp- | \d-\w{6,20}-\d{6,20}-\w{16}
Slack webhook | hooks.slack.com/ | (?:services|workflows|triggers)/[\w/+]{24}
Discord webhook | discord.com/api/webhooks/ discordapp.com/api/webhooks/ | \d{15,20}/[\w-]{40}
Discord token | MD MT Mj Mz ND NT Nj Nz OD OT | [\w-]{20,26}\.[\w-]{6}\.[\w-]{27}
Teams webhook | ^.webhook.office.com/ | webhookb2/[0-9a-f@-]{40}
Telegram token | ^:AA | (?:(?<=\d{8}:AA)|(?<=\d{9}:AA)|(?<=\d{10}:AA))[\w-]{33}(?!\w)
Facebook token | EAAC EAAM EAAG EAAB | [A-Za-z0-9]{60}
Twitter token | AAAAAAAAAAAAAAAAAAAAA | [A-Za-z0-9]{10,60}%[A-Za-z0-9%]{20}
LinkedIn secret | WPL_AP1. | [\w.=+/]{16}
Stripe key | sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ | \w{10}
webhook secret | whsec_ | [A-Za-z0-9+/=]{24}
Square token | sq0atp- sq0csp- | [\w-]{22}
Square token | ~ EAAA | [\w-]{60}
PayPal token | access_token$ | (?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}
Plaid token | access-sandbox- access-production- access-development- | [0-9a-f-]{36}
Shopify token | shpat_ shpca_ shppa_ shpss_ shptka_ | [0-9a-fA-F]{32}
Flutterwave key | FLWSECK_TEST- FLWSECK- FLWSECK_LIVE- | [A-Za-z0-9]{12}
Razorpay key | rzp_live_ rzp_test_ | [A-Za-z0-9]{14}
EasyPost key | EZAK EZTK | [A-Za-z0-9]{54}
OpenAI key | sk-proj- sk-svcacct- sk-admin- sk-None- | [\w-]{32}
Anthropic key | sk-ant- | [\w-]{24}
OpenRouter key | sk-or- | [\w-]{24}
API key | ~ sk- rk- csk- sk_ | [\w-]{20,200}
Groq key | gsk_ | [A-Za-z0-9]{32}
xAI key | xai- | [A-Za-z0-9]{40}
Replicate token | r8_ | [A-Za-z0-9]{30}
Perplexity key | pplx- | [A-Za-z0-9]{32}
Pinecone key | pcsk_ | \w{32}
Hugging Face token | hf_ api_org_ | [A-Za-z0-9]{30}
Nvidia key | nvapi- | [\w-]{40}
Fireworks key | fw_ | [A-Za-z0-9]{22,48}(?!\w)
LangSmith key | lsv2_pt_ lsv2_sk_ ls__ | \w{32}
model provider key | ~ tvly- jina_ fc- tgp_v1_ rpa_ esecret_ pa- voyage- e2b_ bb_live_ wandb_v1_ BSA | [\w-]{20,200}
Google API key | AIza | [\w-]{35}
Google key | AQ.Ab | [\w-]{30}
Google OAuth secret | GOCSPX- | [\w-]{20}
Google OAuth token | ya29. 1//0 | [\w-]{30}
Google storage key | GOOG1E | [A-Z0-9]{40}
Firebase key | ^:APA91b | [\w-]{60}
Azure client secret | ^Q~ | (?<=[\w~.-]{3}\dQ~)[\w~.-]{31}
Azure key | ^JQQJ99 | \w{20}
Azure signature | ^?sig= ^&sig= ^;sig= | [A-Za-z0-9%+/=]{32}
SendGrid key | SG. | [\w-]{16,32}\.[\w-]{32}
Twilio key | SK | [0-9a-f]{32}(?!\w)
Mailgun key | key- | [0-9a-f]{32}(?!\w)
Mailchimp key | ^-us | (?<=[0-9a-f]{32}-us)\d{1,2}(?!\w)
Brevo key | xkeysib- xsmtpsib- | [0-9a-f]{40}
mail service key | ~ re_ md- mlsn. | [\w-]{20,200}
npm token | npm_ | [A-Za-z0-9]{36}
PyPI token | pypi-A | [\w-]{50}
RubyGems token | rubygems_ | [0-9a-f]{40}
NuGet key | oy2 | [a-z0-9]{43}(?!\w)
crates.io token | cio | [A-Za-z0-9]{32}(?![\w+/=])
Clojars token | CLOJARS_ | [0-9a-f]{40}
Artifactory key | AKCp cmVmd | [A-Za-z0-9]{59}
Docker token | dckr_pat_ dckr_oat_ | [\w-]{24}
DigitalOcean token | dop_v1_ doo_v1_ dor_v1_ | [0-9a-f]{64}
Heroku key | HRKU- | [\w-]{36}
Fly.io token | fo1_ fm1a_ fm1r_ fm2_ | [\w+/=,-]{40}
Vercel token | vcp_ vci_ vca_ vcr_ vck_ | [A-Za-z0-9]{24}
Netlify token | nfp_ nfc_ nfo_ nfu_ nfb_ | [A-Za-z0-9]{32}
Render key | rnd_ | [A-Za-z0-9]{24}
Cloudflare key | v1.0- | [0-9a-f]{24}-[0-9a-f]{60}
Cloudflare token | cfut_ cfat_ cfk_ | \w{32}
Supabase key | sbp_ sb_secret_ | [\w-]{24}
Neon key | napi_ | [a-z0-9]{40}
PlanetScale token | pscale_tkn_ pscale_pw_ pscale_oauth_ | [\w=.-]{32}
MongoDB secret | mdb_sa_sk_ | [\w-]{32}
Databricks token | dapi dkea dose | [0-9a-f]{32}(?!\w)
Tailscale key | tskey- | [\w-]{20}
1Password token | ops_eyJ | [A-Za-z0-9+/]{60}
1Password key | A3- | [A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,4}[A-Z0-9]{5}
Doppler token | dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. | [\w.-]{40}
Vault token | hvs. hvb. hvr. | [\w-]{24}
Terraform token | ^.atlasv1. | [\w=-]{50}
Pulumi token | pul- | [0-9a-f]{40}
Octopus key | API- | [A-Z0-9]{26}(?!\w)
CI token | CCIPAT_ CCIPRJ_ bkua_ bkaj_ bkct_ sqp_ squ_ sqa_ ddpat_ rdme_ pnu_ pnb_ | \w{32}
Harness token | pat. sat. | [\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}
Sentry token | sntrys_ sntryu_ | [\w+/=-]{40}
New Relic key | NRAK- NRJS- NRII- NRAA- NRRA- | [\w-]{19}
Grafana token | glsa_ glc_ eyJrIjoi | [\w+/]{32}
Honeycomb key | hcaik_ hcxik_ hcamk_ hcbik_ | [a-z0-9]{32}
LaunchDarkly key | sdk- api- mob- | [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
PostHog key | phx_ phs_ | [A-Za-z0-9]{32}
Sourcegraph token | sgp_ sgd_ slk_ | (?:\w{1,16}_)?[0-9a-f]{40}
Dynatrace token | dt0c01. dt0s01. dt0s16. | [A-Z0-9]{8,24}\.[A-Z0-9]{64}
Mapbox secret token | sk.eyJ tk.eyJ | [\w-]{20,300}\.[\w-]{20}
Airtable token | pat | [A-Za-z0-9]{14}\.[0-9a-f]{64}
Figma token | figd_ figdr_ figo_ figor_ | [\w-]{30}
Notion token | ntn_ | [A-Za-z0-9]{40}
Notion token | secret_ | [A-Za-z0-9]{43}(?!\w)
Linear key | lin_api_ lin_oauth_ | [A-Za-z0-9]{32}
HubSpot token | pat-na1- pat-na2- pat-eu1- pat-ap1- | [0-9a-f-]{36}
Asana token | 1/ 2/ | \d{12,20}(?:/\d{12,20})?:[0-9a-f]{32}
Salesforce token | 00D | [A-Za-z0-9]{12,15}![\w.]{60}
Dropbox token | sl. | [\w-]{100}
Contentful token | CFPAT- | [\w-]{40}
Typeform token | tfp_ | [\w.-]{40}
Postman key | PMAK- PMAT- | [0-9A-Za-z-]{24}
WakaTime key | waka_ | [0-9a-f-]{32}
Adobe secret | p8e- p8- | [\w-]{32}
Frame.io token | fio-u- | [\w=-]{60}
Infracost key | ico- | [A-Za-z0-9]{32}(?!\w)
Inngest key | signkey- | (?:prod|test|branch)-[0-9a-f]{32}
OpenShift token | sha256~ | [\w-]{43}(?!\w)
MaxMind key | ^_mmk | (?<=\w{29}_mmk)(?!\w)
API key | ~ ^_live_ ^_test_ ^_prod_ ^_pat_ ^_api_ ^_sk_ ^_secret_ ^_key_ ^-live- ^-prod- ^_v1_ ^_dev_ | [\w-]{20,200}
extended private key | xprv yprv zprv tprv | [1-9A-HJ-NP-Za-km-z]{100}
age secret key | AGE-SECRET-KEY-1 | [A-Z0-9]{50}
private key | ^-----BEGIN ^----BEGIN ^----\x20BEGIN | \x20(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY
PuTTY private key | PuTTY-User-Key-File- | \d: \w
JSON Web Token | eyJ | [\w-]{10,4000}\.eyJ[\w-]{10,8000}\.[\w-]{10}
one-time-password seed | otpauth:// | [^\s"']{0,200}?secret=[A-Z2-7]{16}
"""
"""Kinds that are not in the table are found by the name beside them: see `contexts`."""
