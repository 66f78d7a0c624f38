/** Bindings of the templates of `edgemcp init`, which are compiled together here. In a project, `wrangler types` writes them. */
declare namespace Cloudflare {
  interface Env {
    DB: D1Database
    RESULTS: R2Bucket
    ISSUER: string
    KEYS: string
    API_URL: string
    UPSTREAM_URL: string
    API_KEY: string
    GITHUB_URL: string
    GITHUB_ID: string
    GITHUB_SECRET: string
    ORGANIZATIONS: string
  }
}
