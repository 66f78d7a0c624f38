/** The pages of the documentation, in the order in which the sidebar lists them. Paths are those of docs/, without `.md`. */
export type Section = { readonly text: string; readonly pages: readonly (readonly [path: string, title: string])[] }

export const sections: readonly Section[] = [
  {
    text: 'Start',
    pages: [
      ['start/first-server', 'First server'],
      ['start/transcript', 'First server, every command'],
    ],
  },
  {
    text: 'Guides',
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
      ['guides/authentication', 'Authentication'],
      ['guides/scopes', 'Scopes'],
      ['guides/authorization-servers', 'Authorization servers'],
      ['guides/rate-limits', 'Rate limits'],
      ['guides/observability', 'Observability'],
      ['guides/audit', 'Audit log'],
      ['guides/testing', 'Testing'],
      ['guides/plugins', 'Plugins and interceptors'],
      ['guides/write-a-plugin', 'Write a plugin'],
      ['guides/extensions', 'Extensions'],
      ['guides/composing', 'Composing servers'],
      ['guides/proxying', 'Proxying'],
      ['guides/tenants', 'Tenants'],
      ['guides/openapi', 'OpenAPI'],
      ['guides/inspector', 'Inspector'],
      ['guides/deploying', 'Deploying'],
      ['guides/costs', 'Costs'],
    ],
  },
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
    ],
  },
  {
    text: 'Reference',
    pages: [
      ['reference/options', 'Options'],
      ['reference/cli', 'Command line'],
      ['reference/limits', 'Limits'],
      ['reference/errors', 'Error messages'],
      ['reference/api', 'API'],
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
