/** The key of the inspector: a secret of servers with an inspector in tests, and a cookie of authorized browsers. */
export const inspectorSecrets = { EDGEMCP_INSPECTOR_KEY: 'key-of-the-inspector' }

/** The cookie of a browser that opened the inspector link. */
export const inspectorCookie = (url: URL): { Cookie: string } => ({
  Cookie: `edgemcp-inspector-${url.port}=${inspectorSecrets.EDGEMCP_INSPECTOR_KEY}`,
})
