/** The pages of the documentation, in the order in which the sidebar lists them. Paths are those of docs/, without `.md`. */
export type Section = {
  readonly text: string
  readonly pages: readonly (readonly [path: string, title: string])[]
  /** The sidebar shows the section only beside pages whose paths begin with this. */
  readonly within?: string
}

export const sections: readonly Section[] = [
  {
    text: 'Start',
    pages: [
      ['start/first-server', 'First server'],
      ['start/connect-a-client', 'Connect a client'],
      ['start/deploy', 'Deploy'],
      ['start/transcript', 'First server: every command'],
    ],
  },
  {
    text: 'Build',
    pages: [
      ['guides/tools', 'Tools'],
      ['guides/resources', 'Resources'],
      ['guides/prompts', 'Prompts'],
      ['guides/schemas', 'Schemas'],
      ['guides/elicitation', 'Elicitation and sampling'],
      ['guides/replay', 'Replay and side effects'],
      ['guides/errors', 'Errors'],
      ['guides/state', 'State'],
      ['guides/subscriptions', 'Subscriptions'],
      ['guides/tasks', 'Tasks'],
      ['guides/request-context', 'Request context'],
      ['guides/bindings', 'Bindings: D1, KV, R2, queues'],
      ['guides/testing', 'Testing'],
      ['guides/inspector', 'Inspector and page'],
    ],
  },
  {
    text: 'Secure',
    pages: [
      ['guides/authentication', 'Authentication'],
      ['guides/api-keys', 'API keys'],
      ['guides/sign-in', 'Sign-in'],
      ['guides/sign-in-providers', 'Identity providers'],
      ['guides/scopes', 'Scopes'],
      ['guides/authorization-servers', 'Authorization servers'],
      ['guides/token-verification', 'Token verification'],
      ['guides/cors-and-hosts', 'CORS, origins and hosts'],
      ['guides/rate-limits', 'Rate limits'],
      ['guides/audit', 'Audit log'],
    ],
  },
  {
    text: 'Run',
    pages: [
      ['guides/deploying', 'Deploying'],
      ['guides/keys', 'Keys'],
      ['guides/observability', 'Observability'],
      ['guides/costs', 'Costs'],
    ],
  },
  {
    text: 'Compose and extend',
    pages: [
      ['guides/composing', 'Composing servers'],
      ['guides/proxying', 'Proxying'],
      ['guides/openapi', 'OpenAPI'],
      ['guides/tenants', 'Tenants'],
      ['guides/plugins', 'Plugins and interceptors'],
      ['guides/write-a-plugin', 'Write a plugin'],
      ['guides/extensions', 'Extensions'],
      ['guides/large-results', 'Large results'],
      ['guides/skills', 'Skills'],
      ['guides/apps', 'Apps'],
    ],
  },
  { text: 'Clients', pages: [['clients/index', 'What each host needs']] },
  {
    text: 'Migrating',
    pages: [
      ['migrating/index', 'Overview'],
      ['migrating/create-mcp-handler', 'createMcpHandler'],
      ['migrating/mcp-agent', 'McpAgent'],
      ['migrating/sdk-1', 'TypeScript SDK 1'],
      ['migrating/sdk-2', 'TypeScript SDK 2'],
      ['migrating/mcp-lite', 'mcp-lite'],
      ['migrating/fastmcp', 'FastMCP'],
      ['migrating/reference-server', 'The reference server'],
    ],
  },
  {
    text: 'Reference',
    pages: [
      ['reference/options', 'Options'],
      ['reference/cli', 'Command line'],
      ['reference/limits', 'Limits'],
      ['reference/errors', 'Error messages'],
      ['reference/mistakes', 'Common mistakes'],
    ],
  },
  {
    text: 'API',
    within: 'reference/api/',
    pages: [
      ['reference/api/index', 'Entry points'],
      ['reference/api/edgemcp', 'edgemcp'],
      ['reference/api/api-keys', 'edgemcp/api-keys'],
      ['reference/api/apps', 'edgemcp/apps'],
      ['reference/api/audit', 'edgemcp/audit'],
      ['reference/api/auth', 'edgemcp/auth'],
      ['reference/api/compose', 'edgemcp/compose'],
      ['reference/api/extensions', 'edgemcp/extensions'],
      ['reference/api/inspector', 'edgemcp/inspector'],
      ['reference/api/json-schema', 'edgemcp/json-schema'],
      ['reference/api/rate-limit', 'edgemcp/rate-limit'],
      ['reference/api/observe', 'edgemcp/observe'],
      ['reference/api/openapi', 'edgemcp/openapi'],
      ['reference/api/page', 'edgemcp/page'],
      ['reference/api/sampling', 'edgemcp/sampling'],
      ['reference/api/results', 'edgemcp/results'],
      ['reference/api/sign-in', 'edgemcp/sign-in'],
      ['reference/api/skills', 'edgemcp/skills'],
      ['reference/api/state', 'edgemcp/state'],
      ['reference/api/tasks', 'edgemcp/tasks'],
      ['reference/api/subscriptions', 'edgemcp/subscriptions'],
      ['reference/api/testing', 'edgemcp/testing'],
      ['reference/api/testing-node', 'edgemcp/testing/node'],
      ['reference/api/testing-timed', 'edgemcp/testing/timed'],
      ['reference/api/testing-workers', 'edgemcp/testing/workers'],
    ],
  },
  {
    text: 'How it works',
    pages: [
      ['how-it-works/overview', 'Overview'],
      ['how-it-works/architecture', 'Architecture'],
      ['how-it-works/replay', 'Resume and recovery'],
      ['how-it-works/protocol', 'Protocol versions'],
      ['how-it-works/security', 'Security'],
      ['how-it-works/performance', 'Performance'],
      ['how-it-works/fan-out', 'Change notifications at scale'],
    ],
  },
]
