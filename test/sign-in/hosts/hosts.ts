/** Host programs: what they register, where they send their users back, and what they request. */
import type { Host, Json } from './host.ts'

const codeAndRefresh = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }

const document = (url: string, metadata: Json) => ({ url, metadata: { client_id: url, ...metadata } })

/** @see https://github.com/microsoft/vscode/blob/main/src/vs/base/common/oauth.ts */
const visualStudioCode = {
  client_name: 'Visual Studio Code',
  client_uri: 'https://code.visualstudio.com',
  ...codeAndRefresh,
  redirect_uris: [
    'https://insiders.vscode.dev/redirect',
    'https://vscode.dev/redirect',
    'http://127.0.0.1/',
    'http://127.0.0.1:33418/',
  ],
  scope: 'notes:read notes:write',
  token_endpoint_auth_method: 'none',
  application_type: 'native',
}

/** @see https://cursor.com/docs/mcp */
const cursor = {
  client_name: 'Cursor',
  ...codeAndRefresh,
  redirect_uris: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'http://localhost:8787/callback',
  ],
  token_endpoint_auth_method: 'none',
  application_type: 'web',
}

/** @see https://code.claude.com/docs/en/mcp */
const claudeCode = {
  client_name: 'Claude Code (notes)',
  ...codeAndRefresh,
  redirect_uris: ['http://localhost:54545/callback'],
  token_endpoint_auth_method: 'none',
}

/** @see https://claude.com/docs/connectors/building/authentication */
const claude = {
  client_name: 'Claude',
  ...codeAndRefresh,
  redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
  token_endpoint_auth_method: 'client_secret_post',
}

/** @see https://developers.openai.com/apps-sdk/build/auth */
const chatGpt = {
  client_name: 'ChatGPT',
  ...codeAndRefresh,
  redirect_uris: ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
  token_endpoint_auth_method: 'none',
}

/** @see https://www.npmjs.com/package/mcp-remote */
const mcpRemote = {
  redirect_uris: ['http://localhost:21430/oauth/callback'],
  token_endpoint_auth_method: 'none',
  ...codeAndRefresh,
  client_name: 'MCP CLI Proxy',
  client_uri: 'https://github.com/modelcontextprotocol/mcp-cli',
  software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d',
  software_version: '0.1.37',
}

/** @see https://modelcontextprotocol.io/docs/tools/inspector */
const inspector = {
  redirect_uris: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
  token_endpoint_auth_method: 'none',
  ...codeAndRefresh,
  client_name: 'MCP Inspector',
  client_uri: 'https://github.com/modelcontextprotocol/inspector',
  scope: 'notes:read notes:write',
}

const exact = { sendsResource: true, isStrict: true, scope: 'challenge' } as const
const usual = { sendsResource: true, scope: 'challenge' } as const

export const hosts: readonly Host[] = [
  {
    name: 'VS Code that registers itself',
    registration: visualStudioCode,
    redirectUri: 'http://127.0.0.1:33418/',
    // The port is taken.
    laterRedirectUri: 'http://127.0.0.1:49731/',
    ...exact,
  },
  {
    name: 'VS Code in the browser',
    registration: visualStudioCode,
    redirectUri: 'https://vscode.dev/redirect',
    ...exact,
  },
  {
    name: 'VS Code with its metadata document',
    document: document('https://vscode.dev/oauth/client-metadata.json', visualStudioCode),
    redirectUri: 'http://127.0.0.1:33418/',
    laterRedirectUri: 'http://127.0.0.1:49731/',
    ...exact,
  },
  {
    name: 'Cursor, which opens itself by its scheme',
    registration: cursor,
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback',
    ...usual,
  },
  {
    name: 'Cursor that registers its scheme only',
    registration: { ...cursor, redirect_uris: cursor.redirect_uris.slice(0, 1) },
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback',
    ...usual,
  },
  {
    name: 'Cursor with its page',
    registration: cursor,
    redirectUri: 'https://www.cursor.com/agents/mcp/oauth/callback',
    ...usual,
  },
  {
    name: 'the command line of Cursor',
    registration: cursor,
    redirectUri: 'http://localhost:8787/callback',
    ...usual,
  },
  {
    name: 'Claude Code that registers itself',
    registration: claudeCode,
    redirectUri: 'http://localhost:54545/callback',
    laterRedirectUri: 'http://localhost:61034/callback',
    ...usual,
  },
  {
    name: 'Claude Code with its metadata document',
    document: document('https://claude.ai/oauth/claude-code-client-metadata', {
      ...claudeCode,
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    }),
    redirectUri: 'http://localhost:55611/callback',
    laterRedirectUri: 'http://127.0.0.1:52163/callback',
    ...usual,
  },
  {
    name: 'claude.ai that registers itself',
    registration: claude,
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    ...exact,
  },
  {
    name: 'claude.ai with its metadata document',
    document: document('https://claude.ai/oauth/mcp-oauth-client-metadata', {
      ...claude,
      token_endpoint_auth_method: 'none',
    }),
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    ...exact,
  },
  {
    name: 'ChatGPT that registers itself',
    registration: chatGpt,
    redirectUri: 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct',
    sendsResource: true,
    scope: 'metadata',
  },
  {
    name: 'ChatGPT with its metadata document, which offers a key as well',
    document: document('https://chatgpt.com/oauth/client.json', {
      ...chatGpt,
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
    }),
    redirectUri: 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct',
    sendsResource: true,
    scope: 'metadata',
  },
  {
    name: 'MCP Inspector',
    registration: inspector,
    redirectUri: 'http://localhost:6274/oauth/callback',
    laterRedirectUri: 'http://localhost:6274/oauth/callback/debug',
    sendsResource: true,
    scope: 'metadata',
  },
  {
    name: 'mcp-remote',
    registration: { ...mcpRemote, scope: 'notes:read notes:write' },
    redirectUri: 'http://localhost:21430/oauth/callback',
    ...usual,
  },
  {
    name: 'mcp-remote of 2025, which requests scopes of OpenID Connect and no resource',
    registration: {
      ...mcpRemote,
      redirect_uris: ['http://127.0.0.1:3334/oauth/callback'],
      scope: 'openid email profile',
    },
    redirectUri: 'http://127.0.0.1:3334/oauth/callback',
    sendsResource: false,
    scope: { own: 'openid email profile' },
  },
  {
    name: 'a host that leaves the authentication to the server',
    registration: { client_name: 'A host', redirect_uris: ['https://host.example/callback'] },
    redirectUri: 'https://host.example/callback',
    sendsResource: true,
    scope: 'none',
  },
]
