"""What `plugins.bucket` may hold. Credentials are named here, and kept in the environment."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option("kind", "text", "s3, azure or gcs", "s3"),
    Option("bucket", "text", "the bucket, or Azure's container"),
    Option("prefix", "text", "the part of the bucket that is the store", "the whole bucket"),
    Option("endpoint", "text", "the address of the server", "the vendor's own"),
    Option("region", "text", "the region, for s3", "us-east-1"),
    Option("account", "text", "the storage account, for azure"),
    Option("deadline", "number", "seconds for a verb, with everything that it asks again", "30"),
    Option("attempt", "number", "seconds for one request; at most a quarter of the deadline", "8"),
    Option("size_limit", "number", "how large a note may be, in bytes", "16 MB"),
    Option("allow_http", "flag", "take a server on a private network without TLS", "false"),
    Option("access_key_env", "text", "the variable that holds the access key, for s3", "AWS_ACCESS_KEY_ID"),
    Option("secret_key_env", "text", "the variable that holds the secret key, for s3", "AWS_SECRET_ACCESS_KEY"),
    Option("session_token_env", "text", "the variable that holds the session token, for s3", "AWS_SESSION_TOKEN"),
    Option(
        "account_key_env", "text", "the variable that holds the account key, for azure", "AZURE_STORAGE_ACCOUNT_KEY"
    ),
    Option("sas_token_env", "text", "the variable that holds the SAS token, for azure", "AZURE_STORAGE_SAS_TOKEN"),
    Option(
        "service_account_env",
        "text",
        "the variable that holds the JSON of the service account, for gcs",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
    ),
    Option("scratch", "text", "for the conformance kit: a folder that makes the prefix one of its own", "none"),
)
