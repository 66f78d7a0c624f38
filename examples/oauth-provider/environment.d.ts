/** The bindings of `wrangler.toml`, as `wrangler types` writes them, and what OAuthProvider adds. */
declare namespace Cloudflare {
  interface Env {
    ORIGIN: string
    APP: string
    SENTRY_DSN: string
    OAUTH_KV: KVNamespace
    CALLS: AnalyticsEngineDataset
    OAUTH_PROVIDER: import('@cloudflare/workers-oauth-provider').OAuthHelpers
  }
}
